/* SPDX-License-Identifier: ISC */
/*
 * Compares files at one end with digests: its server reads them, and no data
 * comes over the connection.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/sync/sync-run.h"
#include "xfer/sftp/sftp-engine.h"

enum { TOGETHER = 200, TURN_MS = 1000 };

/* Of a file that is still to be compared. */
static const char unknown[] = "is unknown";

struct asked {
	struct asking *all;
	struct sync_compared *file;
	struct sftp_handle handle;
};

struct asking {
	struct sftp *s;
	size_t left;   /* files that are asked for */
	bool given_up; /* nobody waits for the rest: no file is known any more,
			* and the last answer frees this */
	struct asked *v;
};

static void
free_asking(struct asking *all)
{
	free(all->v);
	free(all);
}

static void
end(struct asked *a, const char *why)
{
	struct asking *all = a->all;

	all->left--;
	if (!all->given_up)
		*a->file->why = why;
	else if (all->left == 0)
		free_asking(all);
}

static void
compare(struct asked *a, const uint8_t *theirs)
{
	const struct sync_compared *f = a->file;

	memcpy(f->theirs->sum, theirs, sizeof f->theirs->sum);
	f->theirs->is = true;
	end(a, memcmp(theirs, f->sum->sum, sizeof f->sum->sum) != 0 ?
		"differs at the two hosts" : NULL);
}

static void
on_digest(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;
	struct rd body = reply->body;
	const uint8_t *theirs;

	if (a->all->given_up)
		end(a, NULL);
	else if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY ||
	    sftp_get_digests(&body, 1, &theirs) != 0)
		end(a, "its server has told no digest of it");
	else
		compare(a, theirs);
}

static void
on_opened(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;
	struct sftp *s = a->all->s;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		end(a, "cannot be opened to be compared");
		return;
	}
	sftp_keep_handle(&a->handle, reply);
	if (!a->all->given_up)
		sftp_check_file(s, &a->handle, 0, 0, 0, on_digest, a);
	sftp_close(s, &a->handle, NULL, NULL);
	if (a->all->given_up)
		end(a, NULL);
}

/* What is no regular file is not opened: the OPEN of a pipe would wait at some
 * servers, and a link could lead anywhere. */
static void
on_looked(void *arg, const struct sftp_reply *reply)
{
	static const struct sftp_attrs none = { .flags = 0 };
	struct asked *a = arg;

	if (a->all->given_up)
		end(a, NULL);
	else if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    (reply->attrs.flags & SFTP_A_MODE) && S_ISREG(reply->attrs.mode))
		sftp_open(a->all->s, a->file->path, SFTP_O_READ, &none,
		    on_opened, a);
	else
		end(a, "is no regular file any more");
}

/* The digest of a large file takes its server a while, and one that does not
 * answer could keep a run for ever that was told to end. */
static void
give_up(struct asking *all, const struct sync_compared *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (*v[i].why == unknown)
			*v[i].why = "was not compared";
	all->given_up = true;
}

void
sync_compare(struct sync_run *run, const struct sync_end *end_at,
    struct sync_compared *v, size_t n)
{
	struct asking *all = xcalloc(1, sizeof *all);

	all->s = end_at->s;
	all->v = xcalloc(n, sizeof *all->v);
	for (size_t i = 0; i < n; i++)
		*v[i].why = unknown;
	for (size_t i = 0; i < n && !run->stop; i++) {
		while (all->left >= TOGETHER && !run->stop)
			sync_hosts_turn(run, TURN_MS);
		if (run->stop)
			break;
		all->left++;
		all->v[i] = (struct asked){ .all = all, .file = &v[i] };
		sftp_path_request(all->s, SFTP_LSTAT, v[i].path, on_looked,
		    &all->v[i]);
	}
	while (all->left > 0 && !run->stop)
		sync_hosts_turn(run, TURN_MS);
	give_up(all, v, n);
	if (all->left == 0)
		free_asking(all);
}
