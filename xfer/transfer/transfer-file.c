/* SPDX-License-Identifier: ISC */
/*
 * The life of a file. The server is asked what is at the target (before the
 * part is opened if the copy is resumed, else along with that), the part is
 * opened, data moves (transfer-data.c), attributes are set and the handle
 * closed, and the part is renamed. Each step begins in settle() when the
 * requests of the one before are answered. An answer may come while a request
 * is being made, by which that fails, so nothing is settled where it comes:
 * the file is touched, and the loop settles those that were.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "xfer/delta/delta.h"
#include "xfer/streams/handle-limit.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	CHUNKS_WANTED = 64,
	CHUNKS_RETRIED = 65536, /* with retries: more and smaller chunks,
				 * because a chunk that is not whole when all
				 * streams are lost is moved again */
};

/* --- the end --- */

/* Clears the state of all phases, which a restart does anew, and frees what it
 * owns. */
static void
forget_phases(struct xfer_file *f)
{
	xfer_progress_forget(f);
	xfer_holes_forget(f);
	xfer_marks_free(f);
	xfer_part_forget(f);
	xfer_opening_forget(f);
	xfer_target_forget(f);
	xfer_tail_forget(f);
	xfer_renaming_forget(f);
}

static void
close_this_end(struct xfer_file *f)
{
	if (f->up)
		f->x->origin.ops->close(f);
	else
		fd_close(&f->fd);
}

void
xfer_file_free(struct xfer_file *f)
{
	struct xfer_handle *e;

	if (f->dir != NULL)
		xfer_dir_unref(f->dir);
	xfer_delta_stop(f);
	xfer_orders_file_ended(f);
	while ((e = TAILQ_FIRST(&f->handles)) != NULL) {
		TAILQ_REMOVE(&f->handles, e, entry);
		free(e);
	}
	xfer_file_untouch(f);
	forget_phases(f);
	close_this_end(f);
	progress_forget(f->x->opts.progress, &f->item);
	xfer_small_free(f);
	xfer_link_free(f);
	xfer_late_copy_free(f);
	local_dir_unref(f->at);
	free(f->local);
	free(f->remote);
	free(f);
}

void
xfer_file_done(struct xfer_file *f)
{
	struct xfer *x = f->x;

	ENSURE(f->pending == 0 && f->blocks == 0);
	xfer_hard_done(f);
	xfer_file_enter(f, XFER_DONE);
	x->retry.kept += !f->failed;
	xfer_file_keeps(f);
	x->sum.files_done += !f->failed;
	x->sum.bytes_done += f->failed ? 0 : f->source.attrs.size;
	xfer_compare_stop(f);
	xfer_delta_stop(f);
	xfer_handles_drop(f);
	progress_finish(x->opts.progress, &f->item, !f->failed,
	    x->opts.clock_ms());
	TAILQ_REMOVE(&x->files.active, f, entry);
	x->files.active_count--;
	TAILQ_INSERT_TAIL(&x->files.done, f, entry);
}

/* --- the start --- */

static void
begin_data(struct xfer_file *f)
{
	uint64_t there =
	    f->part.name != NULL ? f->part.old.size : f->target.attrs.size;
	struct xfer_handle *e;

	xfer_file_enter(f, XFER_MOVING);
	if (!xfer_space_fits(f))
		xfer_file_fail(f);
	if (!f->progress.begun)
		xfer_holes_occupied(f,
		    xfer_keeps_data(f) ? there : f->target.old_size);
	/* An upload does not know whether the old content is longer, so the
	 * target has to be cut at the end. */
	if (!f->progress.begun && f->up && xfer_overwrites(f))
		xfer_progress_needs_size(f);
	if (!f->progress.begun && f->target.reuse == XFER_REUSE_TRUSTED) {
		xfer_progress_trusted(f, there);
		progress_keep(&f->item, there);
	} else if (!f->progress.begun && xfer_delta_begin(f)) {
		xfer_progress_from(f, f->source.size);
	} else if (!f->progress.begun && xfer_keeps_data(f) &&
	    xfer_has(f->x, SFTP_EXT_CHECK_FILE)) {
		xfer_progress_from(f, MIN(there, f->source.size));
		if (there > f->source.size)
			xfer_progress_needs_size(f);
		xfer_compare_start(f, XFER_COMPARE_PART, f->progress.next);
	} else if (!f->progress.begun && xfer_part_is_read(f)) {
		xfer_progress_from(f, there);
		xfer_compare_start(f, XFER_COMPARE_PART, there);
	} else if (!f->progress.begun && xfer_keeps_data(f) && there > 0) {
		xfer_marks_read(f);
	} else if (!f->progress.begun) {
		xfer_marks_start(f);
	}
	if (!f->progress.begun)
		xfer_sparse_start(f);
	xfer_progress_begun(f, true);
	TAILQ_FOREACH(e, &f->handles, entry)
		xfer_handle_wake(e);
	xfer_file_touch(f);
}

static void
in_place(struct xfer_file *f)
{
	/* A new part is removed. An old part stays: it is not proven to be
	 * ours. */
	if (!TAILQ_EMPTY(&f->handles) && !xfer_keeps_data(f))
		xfer_part_remove(f, NULL);
	xfer_delta_stop(f);
	xfer_handles_drop(f);
	xfer_part_dropped(f);
	xfer_target_use(f, XFER_REUSE_NOTHING);
	xfer_target_keeps_mode(f);
	xfer_opening_inspected(f, false);
	xfer_file_open(f);
}

/* The file fails; the report names the status of its OPEN. */
static void
start_fails(struct xfer_file *f)
{
	xfer_report_tried(f->x, f->up ? XFER_TRIED_OPEN_TARGET :
	    XFER_TRIED_OPEN_SOURCE, f->remote,
	    f->opening.words != NULL ? f->opening.words :
	    sftp_status_text(f->opening.status));
	f->failed = true;
	xfer_file_done(f);
}

/* The file could not be opened on this host. If it only waits for a descriptor
 * it is tried again, else the failure was reported. */
static void
not_opened(struct xfer_file *f)
{
	if (f->opening.waits_for_fds && f->state == XFER_QUEUED) {
		xfer_opening_waits(f, false);
		xfer_file_requeue(f);
		return;
	}
	if (f->opening.waits_for_fds) {
		xfer_file_restart(f, f->resume);
		return;
	}
	f->failed = true;
	xfer_file_done(f);
}

static void
part_removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	/* on an error the part may still be there */
	xfer_part_cleared(f, reply->err == 0);
	if (!f->x->over)
		xfer_file_open(f);
}

/* Tries the next name for the part, or fails if there is none. */
static void
next_part(struct xfer_file *f, const struct sftp_attrs *seen)
{
	if (xfer_part_next(f, seen)) {
		xfer_file_open(f);
		return;
	}
	f->failed = true;
	xfer_file_done(f);
}

/* Answer to LSTAT of the part's name, after OPEN could not make the part: does
 * something have that name? */
static void
part_stated(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct xfer_stream *first = xfer_stream_first(f->x);

	f->pending--;
	if (reply->err == ERR_CANCELLED)
		return;
	if (f->failed) { /* stopped meanwhile */
		xfer_file_done(f);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE &&
	    f->opening.crowded) {
		if (first != NULL)
			xfer_handles_crowded(first, first->files_limit.sent,
			    first->dirs_limit.sent);
		xfer_file_requeue(f);
	} else if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE &&
	    !xfer_opening_gone(f)) {
		xfer_file_open(f); /* the name has become free */
	} else if (reply->err != 0 || reply->status != SFTP_OK) {
		start_fails(f);
	} else if (xfer_made_is(f, &reply->attrs) && !f->part.cleared) {
		f->pending++;
		xfer_part_remove(f, part_removed);
	} else {
		next_part(f, &reply->attrs);
	}
}

static void
open_refused(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->part.name };
	/* FAILURE may mean that something has the name of a new part. */
	bool may_exist = f->up && f->part.name != NULL &&
	    f->target.reuse == XFER_REUSE_NOTHING;

	if (xfer_keeps_data(f) && xfer_late_refused(f, f->opening.status)) {
		xfer_file_restart(f, true);
	} else if (f->opening.crowded && !may_exist) {
		xfer_file_requeue(f);
	} else if (f->target.reuse != XFER_REUSE_NOTHING) {
		/* The old part or target cannot be opened: the file is copied
		 * without it. */
		xfer_file_restart(f, false);
	} else if (may_exist && f->opening.status == SFTP_FAILURE) {
		f->pending++;
		xfer_request_path(f->x, &q, part_stated, f);
	} else if (f->up && xfer_in_temp(f)) {
		xfer_part_beside(f, false);
		xfer_file_restart(f, false);
	} else if (f->part.name != NULL && f->up) {
		in_place(f);
	} else {
		start_fails(f);
	}
}

static void
made_inspected(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;

	if (!xfer_handle_answered(e, reply))
		return;
	if (reply->type == SFTP_ATTRS)
		xfer_part_opened(e->file, &reply->attrs);
	if (!xfer_keeps_data(e->file))
		xfer_owner_learn(e->file->x, &e->file->part.made);
	xfer_file_touch(e->file);
}

static void
nlink_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct sftp_stat_ns st;
	struct rd r = reply->body;

	f->pending--;
	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_stat_ns(&r, &st) == 0)
		xfer_target_names(f, st.nlink);
	xfer_target_skip_replaced(f);
	xfer_path_answered(f, reply);
}

/* Asks with FSTAT what OPEN has opened. A new file may have another owner or
 * mode than the target that it replaces; an existing one may not be the file
 * that was expected. True if FSTAT was sent. */
static bool
inspect_made(struct xfer_file *f, struct xfer_handle *e)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STAT_NS, .path = f->remote };
	bool exists = f->target.attrs.flags != 0 && f->duty == NULL;
	/* An old part was inspected by its path, and may be another file now.
	 */
	bool doubts = xfer_keeps_data(f) && (f->part.old.size == 0 ||
	    sftp_server(e->stream->s) != SFTP_SERVER_OWN);

	if (f->opening.inspected || (!exists && !doubts &&
	    (f->source.size <= f->progress.chunk ||
		(f->source.attrs.mode & XFER_MODE_PART) == XFER_MODE_PART)))
		return false;
	xfer_opening_inspected(f, true);
	xfer_handle_fstat(e, made_inspected);
	if (exists && target_asks_writable(f->target.attrs.mode))
		xfer_target_ask(f, e->stream);
	if (exists && sftp_has(e->stream->s, SFTP_EXT_STAT_NS)) {
		f->pending++;
		xfer_request_path(f->x, &q, nlink_done, f);
	}
	return true;
}

static void
open_whole(struct xfer_file *f)
{
	if (!f->up) {
		f->fd = local_open_target(f->at, f->name, O_RDONLY, 0,
		    LOCAL_LINKS_NONE);
		if (f->fd < 0) {
			xfer_file_restart(f, false);
			return;
		}
	}
	xfer_file_enter(f, XFER_COMPARING);
	xfer_compare_start(f, XFER_COMPARE_TARGET,
	    f->target.same ? 0 : f->source.size);
}

/* The part was made before it was known that it replaces a file which others
 * may not read. It is still empty, but they may have it open already, so it
 * is removed and made again with a stricter mode. */
static void
remake_part(struct xfer_file *f)
{
	xfer_part_remade(f);
	xfer_opening_inspected(f, false);
	f->pending++;
	xfer_part_remove(f, part_removed);
	xfer_handles_drop(f);
}

/* The target must not be written. A new part is removed; a part of an earlier
 * run stays for a run that may write the target. */
static void
refuse_target(struct xfer_file *f)
{
	if (!xfer_keeps_data(f))
		xfer_part_remove(f, NULL);
	xfer_handles_drop(f);
	xfer_opening_denied(f);
	start_fails(f);
}

/* Goes on when the attributes of the opened part and of the target are
 * known. */
static void
part_opened(struct xfer_file *f)
{
	if (xfer_keeps_data(f) && f->part.made.flags != 0 &&
	    (!S_ISREG(f->part.made.mode) ||
		xfer_owner_differs(f, &f->part.made))) {
		/* another file has taken the part's name */
		xfer_file_restart(f, false);
		return;
	}
	/* An empty old part is used because of its attributes alone: so they
	 * must be those of the file that OPEN has opened. */
	if (xfer_keeps_data(f) && f->part.old.size == 0 &&
	    !xfer_same_attrs(&f->part.made, &f->part.old)) {
		xfer_part_pass(f);
		return;
	}
	/* Our server checks an old part when it opens it: the attributes that
	 * were known before still hold. */
	if (xfer_keeps_data(f) && f->part.made.flags == 0)
		xfer_part_opened(f, &f->part.old);
	switch (xfer_plan(f)) {
	case TARGET_REFUSE:
		refuse_target(f);
		return;
	case TARGET_RENAME:
		if (xfer_part_is_lax(f) && !f->part.remade) {
			remake_part(f);
			return;
		}
		if ((f->part.made.flags | f->target.attrs.flags) & SFTP_A_MODE)
			xfer_part_mode(f);
		begin_data(f);
		return;
	default:
		in_place(f);
	}
}

/* The run was stopped while OPEN was under way. An empty part is removed,
 * because nothing could be resumed from it. */
static void
stopped_open(struct xfer_file *f, bool opened)
{
	if (opened && f->up && xfer_part_is_empty(f)) {
		xfer_made_disowned(f);
		xfer_part_withdraw(f, -1);
		if (f->pending > 0)
			return;
	}
	xfer_file_done(f);
}

/* Goes on when the first OPEN and the requests that were sent with it are
 * answered. */
static void
first_opened(struct xfer_file *f)
{
	struct xfer_handle *e = TAILQ_FIRST(&f->handles);

	if (f->opening.probe != NULL && xfer_owner_probe_opened(f))
		return;
	if (f->failed) {
		stopped_open(f, e != NULL);
	} else if (e == NULL && f->opening.status == 0) {
		xfer_file_go_on(f); /* the stream of its handle was lost */
	} else if (e == NULL) {
		open_refused(f);
	} else if (f->target.reuse == XFER_REUSE_WHOLE) {
		open_whole(f);
	} else if (f->up && f->part.name != NULL && !f->progress.begun) {
		if (xfer_plan(f) != TARGET_RENAME)
			in_place(f);
		else if (!inspect_made(f, e))
			part_opened(f);
	} else if (f->up && xfer_overwrites(f) && !f->progress.begun &&
	    xfer_target_inspect(f, e)) {
		return;
	} else if (!f->up && f->fd < 0 && !xfer_part_open(f)) {
		not_opened(f);
	} else if (!xfer_keep_first(f, e)) {
		begin_data(f);
	}
}

void
xfer_file_requeue(struct xfer_file *f)
{
	struct xfer *x = f->x;

	TAILQ_REMOVE(&x->files.active, f, entry);
	x->files.active_count--;
	xfer_file_enter(f, XFER_QUEUED);
	TAILQ_INSERT_HEAD(&x->files.queue, f, entry);
	x->files.queued++;
}

void
xfer_file_open(struct xfer_file *f)
{
	struct xfer_stream *stream = xfer_stream_pick(f->x);
	uint32_t flags;

	if (stream == NULL) {
		xfer_file_requeue(f);
		return;
	}
	if (f->up && f->target.is_link && xfer_overwrites(f)) {
		xfer_opening_denied(f); /* no part */
		start_fails(f);
		return;
	}
	xfer_delta_open(f, stream);
	flags = xfer_open_flags(f);
	if (f->up && f->target.reuse == XFER_REUSE_NOTHING)
		flags |= SFTP_O_CREAT |
		    (f->part.name != NULL ? SFTP_O_EXCL : 0u);
	xfer_file_enter(f, XFER_OPENING);
	xfer_opening_begins(f);
	xfer_handle_open(f, stream, xfer_open_name(f), flags);
	if (flags & SFTP_O_EXCL)
		xfer_made_look(f, stream);
}

static void
prepare(struct xfer_file *f)
{
	uint64_t chunk;

	xfer_source_sized(f);
	chunk = f->source.size / XFER_CHUNK_MIN /
	    (f->x->opts.retries > 0 ? CHUNKS_RETRIED : CHUNKS_WANTED) *
	    XFER_CHUNK_MIN;
	chunk = MAX(chunk, (uint64_t)XFER_CHUNK_MIN);
	xfer_progress_chunk(f, MIN(chunk, (uint64_t)XFER_CHUNK_MAX));
	if (f->item.state != PROGRESS_MOVES)
		progress_start(f->x->opts.progress, &f->item,
		    f->up ? f->local : f->remote, f->source.size,
		    f->x->opts.clock_ms());
	xfer_part_named(f, xfer_has_parts(f) ?
		xfer_part_path(f, f->part_number) :
		NULL);
}

static void
source_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_source_timed(f, reply);
	xfer_path_answered(f, reply);
}

static bool
wants_exact(const struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;

	if (f->duty != NULL && f->source.exact.known)
		return false;
	return ((xfer_sets(f) & SFTP_A_TIMES) || o->hard_links || o->sparse) &&
	    xfer_has(f->x, SFTP_EXT_STAT_NS);
}

/* Asks for exact times and file numbers of the source. Of an upload they come
 * from the open source, or from a second host that is opening it. True if the
 * file has to wait for the answer; else the answer, if asked for, comes while
 * the file is opened. */
static bool
state_source(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STAT_NS, .path = f->remote, .follow = true };
	bool waits = f->x->opts.hard_links || f->resume;

	if (f->up)
		return f->state == XFER_STATING_SOURCE;
	if (!wants_exact(f))
		return false;
	if (waits)
		xfer_file_enter(f, XFER_STATING_SOURCE);
	f->pending++;
	xfer_request_path(f->x, &q, source_known, f);
	return waits;
}

/* The target is its own source: it is left alone, and not even opened for
 * writing. */
static void
keep_target(struct xfer_file *f)
{
	xfer_note(f->x, f->remote, "is the same file as its source");
	progress_keep(&f->item, f->source.size);
	xfer_file_done(f);
}

void
xfer_file_begin(struct xfer_file *f)
{
	xfer_file_enter(f, XFER_STATING_TARGET);
	if (xfer_plan(f) == TARGET_KEEP) {
		keep_target(f);
		return;
	}
	if (f->only_attrs) {
		xfer_target_known(f);
		xfer_target_complete(f);
		xfer_file_open(f);
		return;
	}
	if (f->x->opts.hard_links && !f->link.copied && xfer_hard_start(f))
		return;
	if (!f->up && f->resume) {
		xfer_part_avoid_plan(f);
		xfer_part_stat(f);
	}
	if (xfer_small_start(f))
		return;
	if (f->up || !f->resume)
		xfer_part_avoid_plan(f);
	if (!f->up) {
		if (!f->resume)
			xfer_part_stat(f);
		xfer_file_choose_reuse(f);
		return;
	}
	xfer_target_stat(f);
	if (f->resume || (f->part.name == NULL &&
	    (f->x->opts.links || f->duty != NULL))) {
		xfer_file_touch(f);
		return;
	}
	xfer_target_known(f);
	xfer_file_open(f);
}

/* Starts f, which is on the list of active files already. */
void
xfer_file_start(struct xfer_file *f)
{
	if (f->target.known) {
		xfer_file_open(f);
		return;
	}
	if (!f->up)
		xfer_part_make_way(f->x, f->at, f->name);
	if (f->duty != NULL && f->duty->link != NULL && !f->link.copied) {
		prepare(f);
		if (xfer_duty_link_start(f))
			return;
	}
	if (f->up && f->dir != NULL && f->dir->there != NULL &&
	    !f->made.late) {
		prepare(f);
		if (xfer_reuse_listed(f))
			return;
	}
	if (f->up && !f->source.symlink && !f->x->origin.ops->open(f)) {
		not_opened(f);
		return;
	}
	prepare(f);
	if (f->made.late && f->part.name != NULL) {
		xfer_late_copy_start(f);
		return;
	}
	if (!f->up && f->resume && f->source.exact.known) {
		xfer_part_stat(f);
		if (xfer_reuse_listed(f))
			return;
		xfer_source_doubted(f);
	}
	if (f->source.size > INT64_MAX) { /* the size that the server told */
		xfer_report_errno(f->x, f->remote, EFBIG);
		f->failed = true;
		xfer_file_done(f);
		return;
	}
	if (f->source.symlink)
		xfer_symlink_start(f);
	else if (!state_source(f))
		xfer_file_begin(f);
}

/* --- beginning anew --- */

void
xfer_file_restart(struct xfer_file *f, bool resume)
{
	xfer_compare_stop(f);
	xfer_delta_stop(f);
	xfer_handles_drop(f);
	xfer_owner_probe_drop(f);
	forget_phases(f);
	close_this_end(f);
	f->resume = resume;
	f->only_attrs &= resume; /* without resume: the old content could not be
				  * read, so all is copied */
	progress_restart(&f->item);
	if (!f->up || !resume)
		xfer_compare_forget(f);
	f->whole.known &= resume;
	if (f->state != XFER_QUEUED)
		xfer_file_requeue(f);
}

void
xfer_file_stop(struct xfer_file *f)
{
	/* A file that is being closed or renamed needs only one more round
	 * trip: it may end. */
	if (f->state == XFER_CLOSING || f->state == XFER_RENAMING ||
	    f->state == XFER_MOVING_SMALL)
		return;
	if (!f->failed)
		progress_drop(f->x->opts.progress, &f->item);
	f->failed = true;
	xfer_file_touch(f);
}

/* The way to the target's name is clear, or cannot be cleared. */
static void
rename_or_fail(struct xfer_file *f)
{
	if (f->failed)
		xfer_file_done(f);
	else
		xfer_file_rename(f);
}

/* Does the next step of f. Only the state of f decides, because several events
 * may have come since the last call. */
static void
settle(struct xfer_file *f)
{
	if (f->late.state != XFER_LATE_NO) {
		xfer_late_settle(f);
		return;
	}
	switch (f->state) {
	case XFER_STATING_SOURCE:
		if (f->pending > 0)
			break;
		if (f->failed)
			xfer_file_done(f);
		else
			xfer_file_begin(f);
		break;
	case XFER_COPYING_PART:
		xfer_late_copy_settle(f);
		break;
	case XFER_STATING_TARGET:
		if (f->pending == 0)
			xfer_file_choose_reuse(f);
		break;
	case XFER_LINKING:
		if (f->pending == 0)
			xfer_link_continue(f);
		break;
	case XFER_OPENING:
		if (f->pending == 0)
			first_opened(f);
		break;
	case XFER_MOVING:
		if (f->part.refused && !f->failed) {
			if (f->pending == 0 && f->blocks == 0)
				xfer_part_refused(f);
			break;
		}
		if (xfer_main_handle(f) == NULL)
			xfer_file_go_on(f);
		else if (xfer_data_sent(f))
			xfer_file_sent(f);
		break;
	case XFER_COMPARING:
		/* The part, which had wrong data of a basis, is removed by
		 * now. */
		if (f->duty == NULL || !f->duty->whole || f->pending > 0 ||
		    f->blocks > 0)
			break;
		if (f->failed)
			xfer_file_done(f);
		else
			xfer_file_restart(f, false);
		break;
	case XFER_CLOSING:
		if (f->pending == 0)
			xfer_tail_continue(f);
		if (f->pending > 0 || f->blocks > 0)
			break;
		/* Some data was lost with a stream, which may be another one
		 * than this handle's. */
		if (f->tail.lost || f->progress.todo != NULL) {
			xfer_file_go_on(f);
			break;
		}
		if (!xfer_renames_handle(f))
			xfer_handles_drop(f);
		if (f->up && (f->progress.unstored ||
		    (f->failed && xfer_part_is_empty(f)))) {
			xfer_progress_unstored(f, false);
			xfer_made_disowned(f);
			xfer_part_withdraw(f, -1);
			if (f->pending > 0)
				break;
		}
		if (f->up && f->part.name != NULL && !f->failed &&
		    f->target.reuse != XFER_REUSE_WHOLE) {
			if (xfer_way_is_clear(f))
				rename_or_fail(f);
		} else if (f->renaming.again && !f->failed) {
			xfer_file_restart(f, false); /* with another part */
		} else {
			xfer_file_done(f);
		}
		break;
	case XFER_RENAMING:
		if (f->pending > 0 || xfer_rename_continue(f))
			break;
		f->failed |= f->renaming.again && f->x->stopped;
		if (f->renaming.again && !f->failed)
			xfer_file_restart(f, f->resume);
		else
			xfer_file_done(f);
		break;
	default:
		break;
	}
}

bool
xfer_files_settle(struct xfer *x)
{
	bool any = !TAILQ_EMPTY(&x->files.touched);
	struct xfer_file *f;

	ENSURE(!x->files.settling); /* a callback must not call this function */
	x->files.settling = true;
	while ((f = TAILQ_FIRST(&x->files.touched)) != NULL) {
		xfer_file_untouch(f);
		settle(f);
	}
	x->files.settling = false;
	return any;
}
