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

struct asking {
	struct sftp *s;
	size_t left; /* files that are asked for */
};

struct asked {
	struct asking *all;
	struct sync_compared *file;
	struct sftp_handle handle;
};

static void
end(struct asked *a, const char *why)
{
	*a->file->why = why;
	a->all->left--;
}

static void
on_digest(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;
	struct rd body = reply->body;
	const uint8_t *theirs;

	if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY ||
	    sftp_get_digests(&body, 1, &theirs) != 0)
		end(a, "its server has told no digest of it");
	else if (memcmp(theirs, a->file->sum, SYNC_DIGEST) != 0)
		end(a, "differs at the two hosts");
	else
		end(a, NULL);
}

static void
on_opened(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		end(a, "cannot be opened to be compared");
		return;
	}
	sftp_keep_handle(&a->handle, reply);
	sftp_check_file(a->all->s, &a->handle, 0, 0, 0, on_digest, a);
	sftp_close(a->all->s, &a->handle, NULL, NULL);
}

/* What is no regular file is not opened: the OPEN of a pipe would wait at some
 * servers, and a link could lead anywhere. */
static void
on_looked(void *arg, const struct sftp_reply *reply)
{
	static const struct sftp_attrs none = { .flags = 0 };
	struct asked *a = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    (reply->attrs.flags & SFTP_A_MODE) && S_ISREG(reply->attrs.mode))
		sftp_open(a->all->s, a->file->path, SFTP_O_READ, &none,
		    on_opened, a);
	else
		end(a, "is no regular file any more");
}

void
sync_compare(struct sync_run *run, const struct sync_end *end_at,
    struct sync_compared *v, size_t n)
{
	struct asking all = { .s = end_at->s };
	struct asked *a = xcalloc(n, sizeof *a);

	for (size_t i = 0; i < n; i++) {
		while (all.left >= TOGETHER)
			sync_hosts_turn(run, TURN_MS);
		if (run->stop) {
			*v[i].why = "was not compared";
			continue;
		}
		all.left++;
		a[i] = (struct asked){ .all = &all, .file = &v[i] };
		sftp_path_request(all.s, SFTP_LSTAT, v[i].path, on_looked,
		    &a[i]);
	}
	while (all.left > 0)
		sync_hosts_turn(run, TURN_MS);
	free(a);
}
