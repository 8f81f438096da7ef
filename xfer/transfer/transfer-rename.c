/* SPDX-License-Identifier: ISC */
/*
 * The last step at a server: the part is renamed to the target, or removed.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/transfer/transfer-internal.h"

enum { RENAMES_MAX = 8 };

void
xfer_path_answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	if (reply->err != ERR_CANCELLED)
		xfer_file_settle(f);
}

/* The request is not repeated, because a part of the same name may have been
 * made meanwhile. */
void
xfer_part_remove(struct xfer_file *f, sftp_done_fn done)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name, .once = true };

	if (f->up)
		xfer_request_path(f->x, &q, done, f);
	else
		(void)local_remove(f->at, xfer_part_local(f));
}

static void
part_stays(const struct xfer_file *f)
{
	xfer_note(f->x, f->part.name, "cannot be removed");
}

static void
part_gone(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->status != SFTP_OK &&
	    reply->status != SFTP_NO_SUCH_FILE)
		part_stays(f);
	xfer_path_answered(f, reply);
}

void
xfer_part_remove_surely(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name };

	if (!f->up) {
		if (local_remove(f->at, xfer_part_local(f)) != 0 &&
		    errno != ENOENT)
			part_stays(f);
		return;
	}
	f->pending += 2; /* one of them until the request is sent */
	xfer_request_path(f->x, &q, part_gone, f);
	f->pending--;
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
	if (xfer_part_is_empty(f))
		xfer_part_remove_surely(f);
}

/* A directory in which names may be added only. */
static void
linked(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->status == SFTP_OK)
		xfer_part_remove_surely(f);
	else if (reply->err == 0)
		rename_fails(f, sftp_status_text(SFTP_PERMISSION_DENIED));
	else
		rename_fails(f, err_text(reply->err));
	xfer_path_answered(f, reply);
}

/* A further name of the part is made, which replaces nothing. */
static bool
link_instead(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_HARDLINK, .path = f->part.name,
		.second = f->remote };

	if (!xfer_has(f->x, SFTP_EXT_HARDLINK))
		return false;
	f->pending++;
	xfer_request_path(f->x, &q, linked, f);
	return true;
}

/* The part is not there: was it renamed by a request whose answer was lost?
 * Then the target has the right size. */
static void
renamed_before(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && (reply->status != SFTP_OK ||
	    reply->attrs.size != f->progress.moved))
		rename_fails(f, "the part file has vanished");
	xfer_path_answered(f, reply);
}

static void
target_removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	/* It may still be removed when the part has its name. */
	if (reply->err == ERR_TIMEOUT) {
		rename_fails(f, "the server does not answer");
		xfer_path_answered(f, reply);
	} else if (!f->x->over) {
		xfer_file_rename(f);
	}
}

/* The RENAME of SFTP 3 replaces nothing: the target is removed first, but only
 * if the part is there. */
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
	xfer_path_answered(f, reply);
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
	} else if (reply->status == SFTP_PERMISSION_DENIED &&
	    f->target.attrs.flags == 0 && link_instead(f)) {
		return;
	} else if (reply->status != SFTP_OK) {
		rename_fails(f, sftp_status_text(reply->status));
	} else if (f->x->opts.hard_links && f->resume) {
		/* A rename does nothing if both are names of one file. */
		xfer_part_remove_surely(f);
	}
	xfer_path_answered(f, reply);
}
