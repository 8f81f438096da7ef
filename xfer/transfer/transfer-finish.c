/* SPDX-License-Identifier: ISC */
/*
 * What is done to a file when its data has moved: all handles but the first
 * are closed, it gets its size, is verified, gets its attributes, is stored
 * (fsync), and its first handle is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "xfer/delta/delta.h"
#include "xfer/transfer/transfer-internal.h"

static int
set_local_times(const struct xfer_file *f)
{
	struct timespec ts[2];

	xfer_times(&f->source.attrs, &f->source.exact, ts);
	return f->source.attrs.flags & SFTP_A_TIMES ? futimens(f->fd, ts) : 0;
}

/* The length that the target is to have. The source may have ended before its
 * size, or tell no size. */
static uint64_t
end_of(const struct xfer_file *f)
{
	return MIN(f->source.size != 0 ? f->source.size : UINT64_MAX,
	    f->progress.eof_at);
}

/* Sets the extended attributes of a target on this host. A failure is reported,
 * but the file counts as copied. */
static void
set_local_xattrs(const struct xfer_file *f)
{
	const struct xattr_file to = { .fd = f->fd };
	const struct xattrs x = xfer_xattrs(f);

	if (x.kinds != 0 && xattrs_write(&to, &x) != 0)
		xfer_report_tried(f->x, XFER_TRIED_XATTRS, f->local,
		    local_error_text(errno));
}

static int
set_local_attrs(struct xfer_file *f)
{
	const struct sftp_attrs *a = &f->source.attrs;
	uint32_t sets = xfer_sets(f);

	if (f->progress.needs_size && !f->tail.size_set &&
	    ftruncate(f->fd, (off_t)end_of(f)) != 0)
		return -1;
	if ((sets & SFTP_A_OWNER) && fchown(f->fd, a->uid, a->gid) != 0)
		return -1;
	set_local_xattrs(f);
	if ((sets & SFTP_A_MODE) && (a->flags & SFTP_A_MODE) &&
	    fchmod(f->fd, a->mode & xfer_mode_bits(f)) != 0)
		return -1;
	if (!(sets & SFTP_A_MODE) && f->target.set_mode &&
	    fchmod(f->fd, f->target.mode) != 0)
		return -1;
	return sets & SFTP_A_TIMES ? set_local_times(f) : 0;
}

static void
finish_fails(struct xfer_file *f, int error)
{
	if (!f->failed)
		xfer_report_errno(f->x, f->local, error);
	f->failed = true;
}

/* Closes the local file. Some file systems report only then that the disk is
 * full, or that data which they had accepted is lost. */
static void
close_local(struct xfer_file *f)
{
	bool sync = f->failed ? f->progress.write_failed : f->x->opts.fsync;

	/* EINVAL is no failure for a device or a pipe, which cannot be
	 * synced. */
	if (sync && f->target.reuse != XFER_REUSE_WHOLE &&
	    file_sync(f->fd) != 0 &&
	    (errno != EINVAL || f->part.name != NULL)) {
		finish_fails(f, errno);
		xfer_progress_unstored(f, true);
	}
	if (close(f->fd) != 0) {
		finish_fails(f, errno);
		xfer_progress_unstored(f,
		    f->target.reuse != XFER_REUSE_WHOLE);
	}
	f->fd = -1;
}

/* A descriptor that keeps the part locked after f->fd is closed. If no further
 * descriptor can be had it is f->fd itself, which is synced first, so that
 * close() has no failure left to report. -1 on failure. */
static int
keep_lock(struct xfer_file *f)
{
	int lock = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	if (lock < 0 && (errno == EMFILE || errno == ENFILE) &&
	    (f->failed || file_sync(f->fd) == 0)) {
		lock = f->fd;
		f->fd = -1;
	}
	if (lock < 0)
		finish_fails(f, errno);
	return lock;
}

/* Finishes a download whose data is all here. The part stays locked until it is
 * renamed. */
static void
finish_local(struct xfer_file *f)
{
	bool part = f->part.name != NULL && f->target.reuse != XFER_REUSE_WHOLE;
	int lock = -1;

	if (f->fd < 0)
		return;
	if (!f->failed && f->progress.eof_at < f->progress.received_until) {
		xfer_report(f->x, f->remote,
		    "changed while it was being read");
		f->failed = true;
	}
	if (!f->failed && set_local_attrs(f) != 0)
		finish_fails(f, errno);
	if (f->target.reuse != XFER_REUSE_WHOLE)
		lock = keep_lock(f);
	if (f->fd >= 0)
		close_local(f);
	if (f->progress.unstored || (f->failed && xfer_part_is_empty(f)))
		xfer_part_withdraw(f, lock);
	else if (!f->failed && part && !xfer_part_rename(f, lock)) {
		f->failed = true;
		if (xfer_part_is_empty(f))
			xfer_part_withdraw(f, lock);
	}
	fd_close(&lock);
}

void
xfer_tail_forget(struct xfer_file *f)
{
	f->tail = (struct xfer_tail){ .step = XFER_TAIL_SIZE };
}

void
xfer_tail_written(struct xfer_file *f, const struct sftp_attrs *attrs)
{
	f->tail.written = *attrs;
}

void
xfer_file_arrived(struct xfer_file *f)
{
	if (!f->up)
		finish_local(f);
	xfer_file_done(f);
}

static void
tail_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	e->pending--;
	f->pending--;
	if (reply->err != 0) {
		f->tail.lost |= f->state == XFER_CLOSING;
		return;
	}
	if (reply->status != SFTP_OK && !f->failed) {
		xfer_report_reply(f->x, f->remote, reply);
		xfer_file_fail(f);
	}
	xfer_file_touch(f);
}

/* Takes the answer to setting extended attributes. A failure is reported, but
 * the file counts as copied. */
static void
xattrs_done(void *arg, const struct sftp_reply *reply)
{
	struct sftp_reply fine = *reply;
	struct xfer_file *f = ((struct xfer_handle *)arg)->file;

	if (reply->err == 0 && reply->status != SFTP_OK && !f->failed)
		xfer_report_reply_tried(f->x, XFER_TRIED_XATTRS, f->remote,
		    reply);
	fine.status = SFTP_OK;
	tail_done(arg, &fine);
}

static void
send_xattrs(struct xfer_handle *e)
{
	const struct xattrs x = xfer_xattrs(e->file);

	e->pending++;
	e->file->pending++;
	sftp_fset_xattrs(e->stream->s, &e->handle, &x, xattrs_done, e);
}

/* After FSYNC or CLOSE: a failure means that data which the server had
 * accepted may be lost. */
static void
stored_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = ((struct xfer_handle *)arg)->file;

	if (reply->err == 0 && reply->status != SFTP_OK &&
	    f->target.reuse != XFER_REUSE_WHOLE)
		xfer_progress_unstored(f, true);
	tail_done(arg, reply);
}

/* Answer to FSYNC. A device or a pipe cannot be synced, which is no failure:
 * the system says EINVAL, and servers answer BAD_MESSAGE. */
static void
synced(void *arg, const struct sftp_reply *reply)
{
	const struct xfer_handle *e = arg;
	struct sftp_reply fine = *reply;

	if (reply->err == 0 && reply->status == SFTP_BAD_MESSAGE &&
	    e->file->part.name == NULL)
		fine.status = SFTP_OK;
	stored_done(arg, &fine);
}

static void
send_fsync(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	bool sync = f->failed ? f->progress.write_failed : f->x->opts.fsync;

	if (!sync || f->target.reuse == XFER_REUSE_WHOLE ||
	    !sftp_has(e->stream->s, SFTP_EXT_FSYNC))
		return;
	e->pending++;
	f->pending++;
	sftp_ext_handle(e->stream->s, SFTP_EXT_FSYNC, &e->handle, synced, e);
}

/* Answer to the request that sets the size. For a target that is written in
 * place a refusal is only noted, because a device or a pipe has no size, and a
 * file may have that length already. What counts is its length:
 * check_length(). */
static void
size_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;

	if (!xfer_overwrites(e->file) || reply->err != 0) {
		tail_done(arg, reply);
		return;
	}
	(void)xfer_handle_answered(e, reply);
	e->file->tail.size_status = reply->status;
	xfer_file_touch(e->file);
}

/* Fails if the target is longer than its source. It may still be shorter, while
 * data of other streams is under way. */
static void
check_length(struct xfer_file *f, const struct sftp_reply *reply)
{
	const struct sftp_attrs *a = &reply->attrs;
	const char *why = NULL;

	if (reply->type != SFTP_ATTRS || !(a->flags & SFTP_A_SIZE))
		why = f->tail.size_status != 0 ?
		    sftp_status_text(f->tail.size_status) : NULL;
	else if (a->size > end_of(f) &&
	    !((a->flags & SFTP_A_MODE) && !S_ISREG(a->mode)))
		why = "cannot be cut to its length";
	if (why != NULL && !f->failed) {
		xfer_report(f->x, f->remote, why);
		xfer_file_fail(f);
	}
}

static void
named_length_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0)
		check_length(f, reply);
	xfer_path_answered(f, reply);
}

/* Answer to FSTAT. A server that refuses it may still answer STAT of the
 * name. */
static void
length_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;
	const struct xfer_path_request q = { .type = SFTP_STAT,
		.path = f->remote, .follow = true };

	if (!xfer_handle_answered(e, reply)) {
		f->tail.lost = true;
		return;
	}
	if (reply->type == SFTP_STATUS && f->tail.size_status != 0 &&
	    !f->failed) {
		f->pending++;
		xfer_request_path(f->x, &q, named_length_known, f);
		return;
	}
	check_length(f, reply);
	xfer_file_touch(f);
}

static void
set_attrs(struct xfer_handle *e, const struct sftp_attrs *a)
{
	e->pending++;
	e->file->pending++;
	sftp_fsetstat(e->stream->s, &e->handle, a,
	    a->flags & SFTP_A_SIZE ? size_done : tail_done, e);
}

static void
send_size(struct xfer_handle *e, uint64_t size)
{
	const struct sftp_attrs a = { .flags = SFTP_A_SIZE, .size = size };

	set_attrs(e, &a);
}

static bool
wants_times_ns(struct xfer_handle *e)
{
	return (xfer_sets(e->file) & SFTP_A_TIMES) &&
	    xfer_wants_times_ns(e->file->x, &e->file->source.exact) &&
	    sftp_has(e->stream->s, SFTP_EXT_TIMES_NS);
}

/* To set the owner may clear bits of the mode, so it is done before. */
static void
send_owner(struct xfer_handle *e)
{
	struct sftp_attrs a = e->file->source.attrs;

	a.flags = SFTP_A_OWNER;
	set_attrs(e, &a);
}

static void
send_attrs(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	struct sftp_attrs a = f->source.attrs;
	uint32_t sets = xfer_sets(f);

	if (sets & SFTP_A_TIMES)
		xfer_times_clamped(f->x, f->local, &f->source.exact);
	a.flags &= sets & (wants_times_ns(e) ? SFTP_A_MODE :
					       SFTP_A_MODE | SFTP_A_TIMES);
	a.mode &= xfer_mode_bits(f);
	if (!(sets & SFTP_A_MODE) && f->target.set_mode) {
		a.flags |= SFTP_A_MODE;
		a.mode = f->target.mode;
	}
	if (a.flags != 0)
		set_attrs(e, &a);
}

static void
send_times(struct xfer_handle *e)
{
	e->pending++;
	e->file->pending++;
	sftp_times_ns(e->stream->s, &e->handle, e->file->source.exact.times,
	    tail_done, e);
}

static void
written_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	if (!xfer_handle_answered(e, reply)) {
		f->tail.lost |= f->state == XFER_CLOSING;
		return;
	}
	if (reply->type == SFTP_ATTRS)
		f->tail.written = reply->attrs;
	if (f->tail.early) {
		/* Other streams' data may have come behind it: the size is
		 * known all the same. A later time says nothing; but with -p
		 * the time is to be a certain one. */
		if (xfer_sets(f) & SFTP_A_TIMES)
			f->tail.written.flags &= ~(uint32_t)SFTP_A_TIMES;
		f->tail.written.size = end_of(f);
		if (f->tail.written.size == UINT64_MAX)
			f->tail.written.flags &= ~(uint32_t)SFTP_A_SIZE;
	}
	xfer_file_touch(f);
}

/* Is the part looked at before it is renamed? */
static bool
looks(const struct xfer_file *f)
{
	return f->up && f->part.name != NULL &&
	    f->target.reuse != XFER_REUSE_WHOLE;
}

/* Is data under way by other handles than the one that closes last? */
static bool
others_write(struct xfer_file *f)
{
	const struct xfer_handle *last = xfer_main_handle(f), *e;

	TAILQ_FOREACH(e, &f->handles, entry)
		if (e != last && e->blocks > 0)
			return true;
	return false;
}

static void
send_step(struct xfer_handle *e, enum xfer_tail_step step)
{
	struct xfer_file *f = e->file;

	if (step == XFER_TAIL_SIZE && f->progress.needs_size &&
	    !f->tail.size_set && !f->failed)
		send_size(e, end_of(f));
	else if (step == XFER_TAIL_LENGTH && f->progress.needs_size &&
	    xfer_overwrites(f) && !f->failed)
		xfer_handle_fstat(e, length_known);
	else if (step == XFER_TAIL_OWNER && !f->failed &&
	    (xfer_sets(f) & SFTP_A_OWNER))
		send_owner(e);
	else if (step == XFER_TAIL_XATTRS && !f->failed &&
	    xfer_xattrs(f).kinds != 0)
		send_xattrs(e);
	else if (step == XFER_TAIL_ATTRS && !f->failed)
		send_attrs(e);
	else if (step == XFER_TAIL_TIMES && !f->failed && wants_times_ns(e))
		send_times(e);
	else if (step == XFER_TAIL_SYNC)
		send_fsync(e);
	else if (step == XFER_TAIL_LOOK && !f->failed && looks(f)) {
		f->tail.early = others_write(f);
		xfer_handle_fstat(e, written_known);
	} else if (step == XFER_TAIL_CLOSE && !xfer_renames_handle(f))
		xfer_handle_close(e, stored_done);
}

/* Sends the last steps of an upload. A server that executes requests in order
 * gets all of them at once; another server gets each one when the step before
 * it was answered. */
void
xfer_tail_continue(struct xfer_file *f)
{
	struct xfer_handle *e = xfer_main_handle(f);
	bool all = e != NULL && sftp_keeps_order(e->stream->s);

	if (!f->up || e == NULL || e->state != XFER_HANDLE_OPEN)
		f->tail.step = XFER_TAIL_SENT;
	f->pending++; /* so that it is not settled before all is sent */
	while (f->tail.step < XFER_TAIL_SENT && (all || f->pending == 1))
		send_step(e, f->tail.step++);
	f->pending--;
}

/* Called right after the last data was sent, if there is no reason to wait for
 * its answers. */
static void
send_tail(struct xfer_file *f)
{
	/* The target has some new data, and may have the length of the source:
	 * a later run must not take it for complete. */
	if (f->failed && xfer_overwrites(f) && f->progress.moved > 0)
		xfer_progress_unstored(f, true);
	xfer_file_enter(f, XFER_CLOSING);
	if (f->tail.step != XFER_TAIL_SENT)
		f->tail.step = XFER_TAIL_SIZE;
	if (!f->up)
		finish_local(f);
	xfer_tail_continue(f);
}

/* Closes all handles but the one that closes last. With behind, CLOSE is sent
 * right behind a handle's data, else when that data was answered. False if some
 * handles are still open. */
static bool
close_helpers(struct xfer_file *f, bool behind)
{
	struct xfer_handle *last = xfer_main_handle(f), *e, *next;
	bool all = true;

	for (e = TAILQ_FIRST(&f->handles); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e == last)
			continue;
		/* Marks may be on another stream than the size: they must be
		 * written before it is set. */
		if (e->state == XFER_HANDLE_OPEN &&
		    e->pending == (behind ? e->blocks : 0))
			xfer_handle_close(e, f->up ? stored_done : NULL);
		if (e->pending == 0)
			xfer_handle_free(e);
		/* A handle that is still being opened has to be closed, too:
		 * our server renames no part that another handle has open. */
		else if (e->state != XFER_HANDLE_CLOSED || !behind)
			all = false;
	}
	return all;
}

/* Sets the size of the target, before it is verified. */
static void
set_size(struct xfer_file *f, uint64_t size)
{
	f->tail.size_set = true;
	if (f->up) {
		send_size(xfer_main_handle(f), size);
		return;
	}
	if (ftruncate(f->fd, (off_t)size) != 0) {
		xfer_report_errno(f->x, f->local, errno);
		xfer_file_fail(f);
	}
	xfer_file_touch(f);
}

/* The source ended at size, before the size that was told. That is normal for
 * files of /sys, whose size stays the same. Any other source was changed; a
 * download may still be complete, because its size was told before it was
 * opened. */
void
xfer_source_ended(struct xfer_file *f, uint64_t size)
{
	xfer_progress_end_checked(f);
	if (size != f->source.size && (f->up || size != f->progress.eof_at)) {
		xfer_report(f->x, f->up ? f->local : f->remote,
		    "changed while it was being read");
		xfer_file_fail(f);
	}
	xfer_file_touch(f);
}

static void
end_stated(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	const struct sftp_attrs *a = &reply->attrs;
	bool known = reply->type == SFTP_ATTRS && (a->flags & SFTP_A_SIZE);

	if (xfer_handle_answered(e, reply))
		xfer_source_ended(e->file,
		    known ? a->size : e->file->source.size);
}

static void
check_end(struct xfer_file *f)
{
	if (f->up)
		f->x->origin.ops->end(f);
	else
		xfer_handle_fstat(xfer_main_handle(f), end_stated);
}

/* Must data that is under way have arrived before the size is set? Not if
 * setting the size only cuts off marks or old content, which lie behind the
 * data. */
static bool
size_waits(const struct xfer_file *f)
{
	return f->progress.needs_size &&
	    ((f->marks.left == NULL && !xfer_overwrites(f)) ||
		f->holes.sparse || f->progress.eof_at != UINT64_MAX);
}

/* True if the part can be verified without waiting for the answers to what was
 * sent: that is so if all went over one stream that keeps order, because the
 * digests are then computed after the writes. */
static bool
verifies_behind(const struct xfer_file *f)
{
	const struct xfer_handle *e = TAILQ_FIRST(&f->handles);

	return f->up && !f->x->opts.verify && e != NULL &&
	    TAILQ_NEXT(e, entry) == NULL && sftp_keeps_order(e->stream->s);
}

void
xfer_file_sent(struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;
	const struct xfer_handle *last = xfer_main_handle(f);
	bool verify = o->verify;
	bool wait = !f->up || f->failed || (verify && !verifies_behind(f)) ||
	    size_waits(f) || !sftp_keeps_order(last->stream->s);
	uint64_t size;

	if (last->state != XFER_HANDLE_OPEN && last->pending > 0)
		return;
	/* Times and fsync must follow the data of all streams. */
	if (!close_helpers(f, !wait && xfer_sets(f) == 0 && !o->fsync))
		return;
	if (wait && (f->blocks > 0 || f->pending > 0))
		return;
	if (!f->failed && f->progress.eof_at < f->source.size &&
	    !f->progress.end_checked) {
		check_end(f);
		return;
	}
	size = end_of(f);
	if (verify && f->progress.needs_size && !f->failed &&
	    !f->tail.size_set) {
		set_size(f, size);
		return;
	}
	if (verify && !f->failed && !f->tail.verified &&
	    size != UINT64_MAX) {
		f->item.doing = "verifying";
		xfer_file_enter(f, XFER_COMPARING);
		xfer_compare_start(f, XFER_COMPARE_VERIFY, size);
		/* Attributes can be set before the digests are there; only the
		 * rename waits. */
		if (!wait && f->state == XFER_COMPARING &&
		    xfer_renames_handle(f))
			xfer_tail_continue(f);
		return;
	}
	send_tail(f);
	xfer_file_touch(f);
}

/* Begins the file anew without its basis. The data that the basis gave is not
 * the source's, because one of them has changed meanwhile: the part is removed,
 * and the file sent whole. */
static void
send_whole(struct xfer_file *f)
{
	f->duty->whole = true;
	f->item.doing = NULL;
	xfer_handles_drop(f);
	xfer_made_disowned(f);
	xfer_part_remove_surely(f);
	xfer_file_touch(f);
}

void
xfer_file_compared(struct xfer_file *f, int why)
{
	if (why == XFER_COMPARE_TARGET && f->compare.differs) {
		progress_unkeep(&f->item, f->compare.shown);
		xfer_handles_drop(f);
		if (!f->up)
			fd_close(&f->fd);
		xfer_target_use(f, f->part.name == NULL ? XFER_REUSE_CHECKED :
							  XFER_REUSE_NOTHING);
		xfer_file_open(f);
		return;
	}
	if (f->compare.differs && xfer_delta_has_copied(f) && !f->failed) {
		send_whole(f);
		return;
	}
	if (why == XFER_COMPARE_TARGET) {
		xfer_progress_complete(f);
		progress_keep(&f->item, f->source.size - f->compare.shown);
	} else if (f->compare.differs) {
		xfer_report(f->x, f->remote, f->compare.status != 0 ?
			"cannot be verified" :
			"NOT THE SAME at both ends");
		xfer_file_fail(f);
		/* A later run must not resume from it. */
		if (f->part.name != NULL)
			xfer_part_remove_surely(f);
	}
	f->tail.verified = true;
	f->item.doing = NULL;
	if (!f->failed && f->x->opts.verify)
		progress_verified(f->x->opts.progress);
	send_tail(f);
	xfer_file_touch(f);
}
