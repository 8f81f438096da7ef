/* SPDX-License-Identifier: ISC */
/*
 * The last steps at a server: the part gets the target's name, or goes.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/transfer/transfer-internal.h"

enum { RENAMES_MAX = 8 };

/* No questions are asked any more when all is over. */
void
xfer_answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	if (reply->err != ERR_CANCELLED)
		xfer_file_settle(f);
}

/* A part that nobody needs. Another of that name may be made later: it is
 * not asked twice. */
void
xfer_part_remove(struct xfer_file *f, sftp_done_fn done)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name, .once = true };

	if (f->up)
		xfer_request_path(f->x, &q, done, f);
	else
		(void)unlink(f->part.name);
}

/* --- the rename --- */

static void rename_done(void *arg, const struct sftp_reply *reply);

void
xfer_file_rename(struct xfer_file *f)
{
	struct xfer_path_request q = { .path = f->part.name,
		.second = f->remote,
		.ext = SFTP_EXT_POSIX_RENAME,
		.type = xfer_has(f->x, SFTP_EXT_POSIX_RENAME) ? SFTP_EXTENDED :
								SFTP_RENAME };

	xfer_file_enter(f, XFER_RENAMING);
	fd_close(&f->fd);
	f->pending++;
	xfer_request_path(f->x, &q, rename_done, f);
}

static void
rename_fails(struct xfer_file *f, const char *text)
{
	xfer_report(f->x, f->remote, text);
	xfer_file_fail(f);
}

/* Was it renamed by a request whose answer was lost? */
static void
renamed_before(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && (reply->status != SFTP_OK ||
	    reply->attrs.size != f->progress.moved))
		rename_fails(f, "the part file has vanished");
	xfer_answered(f, reply);
}

static void
target_removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (!f->x->over)
		xfer_file_rename(f);
	(void)reply;
}

/* The old way does not replace: the target is removed, but only while the
 * part is there. */
static void
part_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->remote, .once = true };

	f->pending--;
	if (reply->err == 0 && reply->status == SFTP_OK) {
		f->pending++;
		xfer_request_path(f->x, &q, target_removed, f);
		return;
	}
	if (reply->err == 0)
		rename_fails(f, sftp_status_text(SFTP_FAILURE));
	xfer_answered(f, reply);
}

static void
rename_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct xfer_path_request q = { .type = SFTP_LSTAT, .path = f->remote };
	bool old_way = !xfer_has(f->x, SFTP_EXT_POSIX_RENAME);

	f->pending--;
	if (reply->err != 0) {
		xfer_report_reply(f->x, f->remote, reply);
		xfer_file_fail(f);
	} else if (reply->status == SFTP_NO_SUCH_FILE) {
		f->pending++;
		xfer_request_path(f->x, &q, renamed_before, f);
		return;
	} else if (reply->status == SFTP_FAILURE && old_way &&
	    f->tail.renames++ < RENAMES_MAX) {
		f->pending++;
		q.path = f->part.name;
		xfer_request_path(f->x, &q, part_seen, f);
		return;
	} else if (reply->status != SFTP_OK) {
		rename_fails(f, sftp_status_text(reply->status));
	} else if (f->x->opts.hard_links && f->resume) {
		/* Where both were names of one file, nothing was renamed. */
		xfer_part_remove(f, NULL);
	}
	xfer_answered(f, reply);
}
