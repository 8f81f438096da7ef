/* SPDX-License-Identifier: ISC */
/*
 * The last step at a server: the part is renamed to the target, or removed.
 *
 * What is renamed must be the file that was written. Our server renames what a
 * handle is of. Of another server's file FSTAT has told the attributes before
 * CLOSE; LSTAT of the part, RENAME and LSTAT of the target are sent together.
 * If they are not of one file, the copy has failed.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/transfer/transfer-internal.h"

enum { RENAMES_MAX = 8 };

bool
xfer_renames_handle(const struct xfer_file *f)
{
	const struct xfer_handle *e = xfer_main_handle((struct xfer_file *)f);

	return f->up && f->part.name != NULL && !f->failed &&
	    f->target.reuse != XFER_REUSE_WHOLE && e != NULL &&
	    e->state == XFER_HANDLE_OPEN &&
	    sftp_has(e->stream->s, SFTP_EXT_RENAME_PART);
}

/* Renames the file that the handle is of to target, or removes it if target is
 * NULL. The request closes the handle. */
static void
end_handle(struct xfer_file *f, const char *target, sftp_done_fn done,
    void *arg)
{
	struct xfer_handle *e = xfer_main_handle(f);

	e->state = XFER_HANDLE_CLOSED;
	e->stream->handles--;
	sftp_rename_part(e->stream->s, &e->handle, f->part.name, target, done,
	    arg);
}

static void
part_stays(const struct xfer_file *f)
{
	xfer_note(f->x, f->part.name, "cannot be removed");
}

/* Removes the part of a download, but no other file that has taken its name. */
static void
remove_local(struct xfer_file *f, bool tells)
{
	struct local_dir *at = xfer_part_at(f);

	if (f->fd >= 0 && !local_part_is(f->fd, at, xfer_part_local(f)))
		return;
	if (local_remove(at, xfer_part_local(f)) != 0 && errno != ENOENT &&
	    tells)
		part_stays(f);
}

/* Removes the part. The request is not repeated when its answer is lost,
 * because a part of the same name may have been made meanwhile. */
void
xfer_part_remove(struct xfer_file *f, sftp_done_fn done)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name, .once = true };

	if (f->up && xfer_renames_handle(f))
		end_handle(f, "", done, f);
	else if (f->up)
		xfer_request_path(f->x, &q, done, f);
	else
		remove_local(f, false);
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
		remove_local(f, true);
		return;
	}
	f->pending += 2; /* 1 more until it is sent: f must not settle */
	xfer_request_path(f->x, &q, part_gone, f);
	f->pending--;
}

/* --- the rename --- */

static void
rename_fails(struct xfer_file *f, const char *text)
{
	xfer_report(f->x, f->remote, text);
	xfer_file_fail(f);
	xfer_way_back(f);
	if (xfer_part_is_empty(f))
		xfer_part_remove_surely(f);
}

static void
answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	f->renaming.lost_now |= reply->err != 0;
	f->pending--;
	xfer_path_answered(f, reply);
}

static void
before_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		f->renaming.before = reply->attrs;
	f->renaming.hidden = reply->err == 0 && reply->type == SFTP_STATUS &&
	    reply->status == SFTP_PERMISSION_DENIED;
	answered(f, reply);
}

static void
rename_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->renaming.status = reply->status;
	xfer_keep_words(&f->renaming.words, reply);
	answered(f, reply);
}

static void
after_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		f->renaming.after = reply->attrs;
	answered(f, reply);
}

/* Sends the requests of a rename by name. They are not repeated when a stream
 * is lost: first it must be found out what the lost ones have done. */
static void
rename_by_name(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->part.name, .once = true };

	f->renaming.before.flags = f->renaming.after.flags = 0;
	f->renaming.lost_now = false;
	f->renaming.tries++;
	f->renaming.step = XFER_RENAME_NAME;
	f->pending += 3;
	xfer_request_path(f->x, &q, before_seen, f);
	q.type = xfer_has(f->x, SFTP_EXT_POSIX_RENAME) ? SFTP_EXTENDED :
							 SFTP_RENAME;
	q.ext = SFTP_EXT_POSIX_RENAME;
	q.second = f->remote;
	xfer_request_path(f->x, &q, rename_done, f);
	q = (struct xfer_path_request){ .type = SFTP_LSTAT,
		.path = f->remote, .once = true };
	xfer_request_path(f->x, &q, after_seen, f);
}

/* Notes the answer to the request of a step that has one. */
static void
step_answered(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	f->renaming.err = reply->err;
	f->renaming.status = reply->status;
	xfer_path_answered(f, reply);
}

/* Sends the request of a step that has one. */
static void
begin_step(struct xfer_file *f, const struct xfer_path_request *q,
    unsigned step)
{
	f->renaming.step = step;
	f->pending++;
	xfer_request_path(f->x, q, step_answered, f);
}

/* Goes on after the hard link in place of a rename, in a directory where names
 * may be added but not removed. */
static void
linked(struct xfer_file *f)
{
	const struct xfer_renaming *r = &f->renaming;

	if (r->err == 0 && r->status == SFTP_OK)
		xfer_part_remove_surely(f);
	else if (r->err != 0)
		rename_fails(f, err_text(r->err));
	else if (!xfer_go_in_place(f, SFTP_PERMISSION_DENIED))
		rename_fails(f, sftp_status_text(SFTP_PERMISSION_DENIED));
}

/* Makes the target's name a hard link to the part, which replaces nothing. True
 * if the request was sent. */
static bool
link_instead(struct xfer_file *f, uint32_t status)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_HARDLINK, .path = f->part.name,
		.second = f->remote };

	if (status != SFTP_PERMISSION_DENIED || f->target.attrs.flags != 0 ||
	    !xfer_has(f->x, SFTP_EXT_HARDLINK))
		return false;
	begin_step(f, &q, XFER_RENAME_LINK);
	return true;
}

/* Is what was found the file that was written, as far as attributes tell? A
 * server may set a later time when it closes a file: so without -p, which sets
 * the time, a later time says nothing. */
static bool
is_written(const struct xfer_file *f, const struct sftp_attrs *found)
{
	const struct sftp_attrs *w = &f->tail.written;
	uint32_t both = w->flags & found->flags;

	if (found->flags == 0)
		return false;
	return (!(both & SFTP_A_SIZE) || w->size == found->size) &&
	    (!(both & SFTP_A_OWNER) ||
		(w->uid == found->uid && w->gid == found->gid)) &&
	    (!(both & SFTP_A_MODE) || w->mode == found->mode) &&
	    (!(both & SFTP_A_TIMES) || w->mtime == found->mtime ||
		(!(xfer_sets(f) & SFTP_A_TIMES) &&
		    w->mtime < found->mtime));
}

bool
xfer_same_attrs(const struct sftp_attrs *a, const struct sftp_attrs *b)
{
	return a->flags != 0 && a->flags == b->flags && a->size == b->size &&
	    a->uid == b->uid && a->gid == b->gid && a->mode == b->mode &&
	    a->mtime == b->mtime;
}

void
xfer_renaming_forget(struct xfer_file *f)
{
	free(f->renaming.words);
	f->renaming = (struct xfer_renaming){ .tries = 0 };
}

void
xfer_renaming_again(struct xfer_file *f)
{
	f->renaming.again = true;
}

static void
target_removed(struct xfer_file *f)
{
	const struct xfer_renaming *r = &f->renaming;

	/* After a timeout the server may carry out the REMOVE at any time: then
	 * it would hit the part, if that had the target's name by now. */
	if (r->err == ERR_TIMEOUT)
		rename_fails(f, "the server does not answer");
	else if (r->err != 0 || !xfer_go_in_place(f, r->status))
		rename_by_name(f); /* it was not refused */
}

/* The RENAME of SFTP 3 replaces nothing: so the target is removed first, but
 * only if the part is there. True if RENAME will be tried again. */
static bool
clear_target(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->remote, .once = true };

	if (f->renaming.status != SFTP_FAILURE ||
	    xfer_has(f->x, SFTP_EXT_POSIX_RENAME) ||
	    !is_written(f, &f->renaming.before) ||
	    f->renaming.tries > RENAMES_MAX)
		return false;
	begin_step(f, &q, XFER_RENAME_REMOVE);
	return true;
}

/* The server cannot show that the part was what was renamed. The file is
 * written again, in place, or fails. */
static void
not_shown(struct xfer_file *f)
{
	if (!xfer_go_in_place(f, SFTP_PERMISSION_DENIED))
		rename_fails(f, XFER_PART_EXCHANGED);
}

/* Goes on when the three requests of a rename by name are answered. */
static void
renamed(struct xfer_file *f)
{
	const struct xfer_renaming *r = &f->renaming;

	if (r->lost_now && r->tries <= RENAMES_MAX) {
		f->renaming.lost = true;
		rename_by_name(f);
	} else if (r->lost_now)
		rename_fails(f, sftp_status_text(SFTP_CONNECTION_LOST));
	else if (r->status == SFTP_OK && r->hidden)
		not_shown(f);
	else if (r->status == SFTP_OK && (!is_written(f, &r->before) ||
	    !xfer_same_attrs(&r->before, &r->after)))
		rename_fails(f, XFER_PART_EXCHANGED);
	else if (r->status == SFTP_NO_SUCH_FILE &&
	    !(r->lost && is_written(f, &r->after)))
		rename_fails(f, XFER_PART_GONE);
	else if (r->status != SFTP_OK && r->status != SFTP_NO_SUCH_FILE &&
	    !xfer_leave_temp(f) && !clear_target(f) &&
	    !link_instead(f, r->status) &&
	    !xfer_go_in_place(f, r->status))
		rename_fails(f, r->words != NULL ? r->words :
			sftp_status_text(r->status));
}

static void
handle_answered(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	(void)xfer_handle_answered(e, reply);
	f->renaming.err = reply->err;
	f->renaming.status = reply->status;
	xfer_keep_words(&f->renaming.words, reply);
	xfer_path_answered(f, reply);
}

static void
handle_renamed(struct xfer_file *f)
{
	const struct xfer_renaming *r = &f->renaming;

	if (r->err != 0) {
		f->renaming.lost = true;
		rename_by_name(f);
	} else if (r->status == SFTP_NO_SUCH_FILE) {
		rename_fails(f, XFER_PART_EXCHANGED);
	} else if (!f->x->stopped && xfer_late_refused(f, r->status)) {
		xfer_file_note_kept(f);
		xfer_renaming_again(f);
	} else if (r->status != SFTP_OK && !xfer_leave_temp(f) &&
	    !link_instead(f, r->status) &&
	    !xfer_go_in_place(f, r->status)) {
		rename_fails(f, r->words != NULL ? r->words :
			sftp_status_text(r->status));
	}
}

/* --- all ways --- */

bool
xfer_rename_continue(struct xfer_file *f)
{
	static void (*const steps[])(struct xfer_file *f) = {
		[XFER_RENAME_NAME] = renamed,
		[XFER_RENAME_HANDLE] = handle_renamed,
		[XFER_RENAME_REMOVE] = target_removed,
		[XFER_RENAME_LINK] = linked,
	};
	unsigned step = f->renaming.step;

	if (step == XFER_RENAME_NOTHING)
		return false;
	f->renaming.step = XFER_RENAME_NOTHING;
	steps[step](f);
	return f->pending > 0 || f->renaming.step != XFER_RENAME_NOTHING;
}

void
xfer_file_rename(struct xfer_file *f)
{
	struct xfer_handle *e = xfer_main_handle(f);
	bool by_handle = xfer_renames_handle(f);

	xfer_file_enter(f, XFER_RENAMING);
	f->x->origin.ops->close(f);
	if (!by_handle) {
		xfer_handles_drop(f);
		rename_by_name(f);
		return;
	}
	f->renaming.step = XFER_RENAME_HANDLE;
	e->pending++;
	f->pending++;
	end_handle(f, f->remote, handle_answered, e);
}
