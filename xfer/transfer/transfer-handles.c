/* SPDX-License-Identifier: ISC */
/* The handles of a file at the server: one for each stream that moves its
 * data. */
#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "xfer/streams/handle-limit.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	SPREAD_FILES = 64, /* files looked at, a turn, to give an idle stream a
			    * handle */
	FILES_MOST = 4096, /* up to so many handles of files the limit that was
			    * learnt from a refusal grows */
};

void
xfer_handle_free(struct xfer_handle *e)
{
	ENSURE(e->pending == 0);
	if (e->state != XFER_HANDLE_CLOSED)
		e->stream->handles--;
	if (e->moving)
		TAILQ_REMOVE(&e->stream->moving, e, turn);
	TAILQ_REMOVE(&e->file->handles, e, entry);
	free(e);
}

/* Sends CLOSE. The handle is not counted any more at once, because the server
 * closes it before it reads what is sent later. */
void
xfer_handle_close(struct xfer_handle *e, sftp_done_fn done)
{
	e->state = XFER_HANDLE_CLOSED;
	e->stream->handles--;
	if (done != NULL) {
		e->pending++;
		e->file->pending++;
	}
	sftp_close(e->stream->s, &e->handle, done, e);
}

void
xfer_handle_fstat(struct xfer_handle *e, sftp_done_fn done)
{
	e->pending++;
	e->file->pending++;
	sftp_handle_request(e->stream->s, SFTP_FSTAT, &e->handle, done, e);
}

bool
xfer_handle_answered(struct xfer_handle *e, const struct sftp_reply *reply)
{
	e->pending--;
	e->file->pending--;
	return reply->err == 0;
}

struct xfer_handle *
xfer_main_handle(struct xfer_file *f)
{
	struct xfer_handle *e;

	TAILQ_FOREACH(e, &f->handles, entry)
		if (e->state != XFER_HANDLE_CLOSED)
			break;
	return e;
}

void
xfer_handles_drop(struct xfer_file *f)
{
	struct xfer_handle *e;

	while ((e = TAILQ_FIRST(&f->handles)) != NULL) {
		if (e->state == XFER_HANDLE_OPEN)
			xfer_handle_close(e, NULL);
		xfer_handle_free(e);
	}
}

static bool
is_source(const struct xfer_file *f, const struct sftp_reply *reply)
{
	const uint32_t known = SFTP_A_SIZE | SFTP_A_TIMES;

	return reply->type == SFTP_ATTRS &&
	    (reply->attrs.flags & known) == known &&
	    reply->attrs.size == f->source.attrs.size &&
	    reply->attrs.mtime == f->source.attrs.mtime;
}

/* May the file begin anew because its source was replaced while no stream was
 * open? Yes while nothing of the old source was read: digests tell what is the
 * same. */
static bool
can_begin_anew(const struct xfer_handle *e, const struct sftp_reply *reply)
{
	const struct xfer_file *f = e->file;
	const uint32_t known = SFTP_A_SIZE | SFTP_A_TIMES | SFTP_A_MODE;

	return f->x->retry.begun && !f->failed && f->pending == 0 &&
	    f->blocks == 0 && TAILQ_FIRST(&f->handles) == e &&
	    TAILQ_NEXT(e, entry) == NULL && reply->type == SFTP_ATTRS &&
	    (reply->attrs.flags & known) == known &&
	    S_ISREG(reply->attrs.mode) &&
	    xfer_has(f->x, SFTP_EXT_CHECK_FILE);
}

/* Answer to FSTAT of a further handle. If the handle is not of the source any
 * more, another file has taken its name: the other handles move the file
 * without this one. If there are none, the file fails. */
static void
source_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	if (!xfer_handle_answered(e, reply))
		return;
	if (is_source(f, reply)) {
		e->state = XFER_HANDLE_OPEN;
		xfer_handle_wake(e);
	} else if (can_begin_anew(e, reply)) {
		e->state = XFER_HANDLE_OPEN;
		xfer_source_read(f, &reply->attrs);
		xfer_file_restart(f, true);
		return;
	} else if (f->state == XFER_MOVING && TAILQ_FIRST(&f->handles) != e) {
		xfer_opening_no_more(f);
		xfer_handle_close(e, NULL);
		xfer_handle_free(e);
	} else {
		xfer_report(f->x, f->remote,
		    "changed while it was being read");
		e->state = XFER_HANDLE_OPEN;
		xfer_file_fail(f);
	}
	xfer_file_touch(f);
}

/* Asks with FSTAT what a handle of a source has opened. The path may be that of
 * another file by now, or the file may have grown. True if FSTAT was sent. */
static bool
inspect_source(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	/* Size and time have to be those of the source only if its content is
	 * not compared. */
	bool trusts = xfer_keeps_data(f) &&
	    !xfer_has(f->x, SFTP_EXT_CHECK_FILE) && !xfer_part_is_read(f);

	if (f->up || !(f->progress.begun || trusts) ||
	    f->target.reuse == XFER_REUSE_WHOLE || f->source.size == 0 ||
	    (f->source.attrs.flags & SFTP_A_TIMES) == 0)
		return false;
	xfer_handle_fstat(e, source_seen);
	return true;
}

/* FAILURE may mean that the server has no handle left. That of a new part may
 * also mean that something has its name: open_refused() looks. */
static bool
is_crowded(const struct xfer_handle *e, const struct sftp_reply *reply)
{
	if (reply->status != SFTP_FAILURE || e->alone)
		return false;
	if (!e->makes)
		xfer_handles_crowded(e->stream, e->number, e->dirs_number);
	return TAILQ_FIRST(&e->file->handles) == e;
}

static void
open_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;
	uint64_t took = f->x->opts.clock_ms() - e->sent_ms + 1;

	e->pending--;
	f->pending--;
	xfer_part_asked(f, reply);
	if (reply->err != 0)
		return;
	if (reply->status == SFTP_OK) {
		if (e->stream->rtt_ms == 0 || took < e->stream->rtt_ms)
			e->stream->rtt_ms = took;
		sftp_keep_handle(&e->handle, reply);
		xfer_handle_limit_given(&e->stream->files_limit, FILES_MOST);
		if (TAILQ_FIRST(&f->handles) == e)
			xfer_opening_granted(f);
		if (inspect_source(e))
			return;
		e->state = XFER_HANDLE_OPEN;
		xfer_handle_wake(e);
	} else {
		xfer_opening_refused(f, reply, is_crowded(e, reply));
		xfer_handle_free(e);
	}
	xfer_file_touch(f);
}

/* Does OPEN tell the server the number of this copy, by which it holds the
 * part? Either all handles of a part that are open tell it or none, because a
 * part that is held without a number counts as another copy's. The first OPEN
 * may go out before VERSION, when it is not known whether the server takes a
 * number. */
static bool
tells_copy(const struct xfer_handle *e, uint32_t flags, const char *path)
{
	struct xfer_file *f = e->file;

	if ((flags & SFTP_O_WRITE) == 0 || path != f->part.name)
		return false;
	if (TAILQ_FIRST(&f->handles) == e)
		xfer_made_numbered(f,
		    sftp_has(e->stream->s, SFTP_EXT_RENAME_PART));
	return f->made.numbered;
}

void
xfer_handle_open(struct xfer_file *f, struct xfer_stream *stream,
    const char *path, uint32_t flags)
{
	struct sftp_attrs a = { .flags = flags & SFTP_O_CREAT ? SFTP_A_MODE :
								0u };
	struct xfer_handle *e = calloc(1, sizeof *e);

	if (e == NULL) {
		xfer_report_errno(f->x, f->remote, ENOMEM);
		xfer_file_fail(f);
		xfer_file_touch(f);
		return;
	}
	e->file = f;
	e->stream = stream;
	e->sent_ms = f->x->opts.clock_ms();
	stream->handles++;
	e->makes = (flags & SFTP_O_EXCL) != 0;
	e->alone = stream->handles + stream->dirs_open == 1;
	e->number = ++stream->files_limit.sent;
	e->dirs_number = stream->dirs_limit.sent;
	TAILQ_INSERT_TAIL(&f->handles, e, entry);
	a.mode = xfer_part_first_mode(f);
	if (f->part.name != NULL && f->source.size > f->progress.chunk)
		a.mode |= XFER_MODE_PART;
	if (tells_copy(e, flags, path)) {
		a.flags |= SFTP_A_EXTENDED;
		a.copy = f->x->copy;
		a.further = TAILQ_FIRST(&f->handles) != e;
	}
	e->pending++;
	f->pending++;
	sftp_open(stream->s, path, flags, &a, open_done, e);
}

const char *
xfer_open_name(const struct xfer_file *f)
{
	return f->up && f->part.name != NULL &&
		f->target.reuse != XFER_REUSE_WHOLE ?
	    f->part.name :
	    f->remote;
}

uint32_t
xfer_open_flags(const struct xfer_file *f)
{
	if (!f->up || f->target.reuse == XFER_REUSE_WHOLE)
		return SFTP_O_READ;
	return SFTP_O_WRITE | (f->resume || f->x->opts.verify ||
	    xfer_delta_of(f) != NULL || xfer_keeps_copy(f) ? SFTP_O_READ : 0u);
}

/* --- streams that have nothing to do --- */

static struct xfer_handle *
handle_on(const struct xfer_file *f, const struct xfer_stream *l)
{
	struct xfer_handle *e;

	TAILQ_FOREACH(e, &f->handles, entry)
		if (e->stream == l)
			break;
	return e;
}

/* True if f has more than a range's worth of bytes that no handle has taken.
 * While a delta searches, all of the file counts as taken; ranges hold what was
 * not found. */
static bool
has_much_left(const struct xfer_file *f)
{
	const struct xfer_progress *p = &f->progress;
	uint64_t left = f->source.size - MIN(p->next, f->source.size);
	const struct xfer_range *r = xfer_delta_of(f) != NULL ? p->todo : NULL;

	for (; r != NULL && left <= p->chunk; r = r->next)
		left += r->len;
	return left > p->chunk;
}

/* Is enough left of f that a further handle, on l, saves time? */
static bool
wants_help(const struct xfer_file *f, const struct xfer_stream *l)
{
	return f->state == XFER_MOVING && !f->failed && has_much_left(f) &&
	    !xfer_stream_lags(l, SFTP_DATA_MAX);
}

/* Lets l help to move f: opens a handle on l, or wakes the one that is there,
 * which may have given its range back when l was slow. */
bool
xfer_stream_help(struct xfer_file *f, struct xfer_stream *l)
{
	struct xfer_handle *e = handle_on(f, l);

	if (e != NULL)
		xfer_handle_wake(e);
	else if (!f->opening.no_more && xfer_stream_takes_files(l))
		xfer_handle_open(f, l, xfer_open_name(f), xfer_open_flags(f));
	else
		return false;
	return true;
}

void
xfer_streams_spread(struct xfer *x)
{
	struct xfer_stream *l;
	struct xfer_file *f;
	unsigned seen;

	if (x->stream_count < 2)
		return;
	TAILQ_FOREACH(l, &x->streams, entry) {
		if (!TAILQ_EMPTY(&l->moving) || sftp_error(l->s) != 0)
			continue;
		seen = 0;
		TAILQ_FOREACH(f, &x->files.active, entry) {
			if (wants_help(f, l) && xfer_stream_help(f, l))
				break;
			if (++seen >= SPREAD_FILES)
				break;
		}
	}
}
