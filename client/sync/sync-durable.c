/* SPDX-License-Identifier: ISC */
/* --fsync: has directories written to the disk that are made before the
 * transfer begins, and checks that the target's server can do so. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/sync/sync-run.h"

/* A directory at a server that is opened, as a file is, for its fsync. */
struct opened {
	struct sftp *s;
	bool done;
};

static void
on_synced(void *arg, const struct sftp_reply *reply)
{
	struct opened *o = arg;

	(void)reply; /* no source is removed on the strength of this fsync */
	o->done = true;
}

static void
on_opened(void *arg, const struct sftp_reply *reply)
{
	struct opened *o = arg;
	struct sftp_handle h;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		o->done = true;
		return;
	}
	sftp_keep_handle(&h, reply);
	sftp_ext_handle(o->s, SFTP_EXT_FSYNC, &h, on_synced, o);
	sftp_close(o->s, &h, NULL, NULL);
}

static void
sync_dir(struct sync_run *run, struct sftp *s, const char *path)
{
	const struct sftp_attrs none = { .flags = 0 };
	struct opened o = { .s = s };
	int r;

	sftp_open(s, path, SFTP_O_READ, &none, on_opened, &o);
	if ((r = sftp_run_until(s, &o.done)) < 0)
		sync_lost(run, r);
}

void
sync_durable_name(struct sync_run *run, struct sftp *s, const char *path)
{
	char *dir = xstrdup(path), *slash;

	if (!run->args.xfer.fsync || !sftp_has(s, SFTP_EXT_FSYNC)) {
		free(dir);
		return;
	}
	do {
		while ((slash = strrchr(dir, '/')) != NULL &&
		    slash != dir && slash[1] == '\0')
			*slash = '\0';
		if (slash != NULL)
			slash[slash == dir ? 1 : 0] = '\0';
		sync_dir(run, s, slash != NULL ? dir : ".");
	} while (run->args.make_path && slash != NULL && slash != dir);
	free(dir);
}

void
sync_durable_check(struct sync_run *run)
{
	struct sftp *s = sync_end_of(run, false)->s;

	if (sftp_has(s, SFTP_EXT_FSYNC))
		return;
	if (run->args.opts.remove_source)
		sync_die(run, SYNC_EXIT_REFUSED, "--remove-source-files",
		    "the server cannot tell when a copy is on its disk: it has "
		    "no fsync@openssh.com");
	if (run->args.xfer.fsync)
		sync_tell_note(run, NULL, "--fsync does nothing: the server "
		    "has no fsync@openssh.com");
}
