/* SPDX-License-Identifier: ISC */
/*
 * Blocks of data: how much is under way, and what is done with the answers. A
 * handle takes one range of its file after the other (file-progress.c). When no
 * range is left to take, it takes half of what another handle still has of its
 * range.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "xfer/delta/delta.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	BLOCK_MIN = 1024,
	BLOCKS_MAX = 4096,
};

/* --- blocks and ranges --- */

struct xfer_block *
xfer_block_new(struct xfer_handle *e, uint64_t offset, uint32_t len)
{
	struct xfer *x = e->file->x;
	struct xfer_block *b = x->data.free_blocks;

	if (b != NULL)
		x->data.free_blocks = b->next_free;
	else if ((b = malloc(sizeof *b)) == NULL)
		return NULL;
	*b = (struct xfer_block){ .handle = e, .offset = offset, .len = len };
	e->pending++;
	return b;
}

void
xfer_block_free(struct xfer *x, struct xfer_block *b)
{
	b->handle->pending--;
	b->next_free = x->data.free_blocks;
	x->data.free_blocks = b;
}

void
xfer_blocks_free(struct xfer *x)
{
	struct xfer_block *b;

	while ((b = x->data.free_blocks) != NULL) {
		x->data.free_blocks = b->next_free;
		free(b);
	}
}

struct xfer_block *
xfer_data_begin(struct xfer_handle *e, uint64_t offset, uint32_t len)
{
	struct xfer *x = e->file->x;
	struct xfer_block *b = xfer_block_new(e, offset, len);

	if (b == NULL)
		return NULL;
	x->data.in_flight += len;
	x->data.blocks++;
	x->limit.tokens -= (double)len;
	e->stream->in_flight += len;
	e->stream->blocks++;
	e->blocks++;
	e->file->blocks++;
	return b;
}

void
xfer_data_end(struct xfer_block *b)
{
	struct xfer_handle *e = b->handle;
	struct xfer *x = e->file->x;

	x->data.in_flight -= b->len;
	x->data.blocks--;
	e->stream->in_flight -= b->len;
	e->stream->blocks--;
	e->blocks--;
	e->file->blocks--;
	xfer_block_free(x, b);
}

struct xfer_block *
xfer_data_split(struct xfer_block *b, uint32_t len)
{
	struct xfer_block *first = xfer_data_begin(b->handle, b->offset, len);
	struct xfer *x = b->handle->file->x;

	if (first == NULL)
		return NULL;
	x->data.in_flight -= len;
	x->limit.tokens += (double)len;
	b->handle->stream->in_flight -= len;
	b->offset += len;
	b->len -= len;
	return first;
}

/* True if bytes that have arrived need not be moved again when their stream is
 * lost. False for a file without a size: its content may differ at the next
 * reading. At a server without digests only whole chunks of a part count. */
static bool
is_kept(const struct xfer_file *f)
{
	return f->source.size != 0 &&
	    (!f->up || xfer_has(f->x, SFTP_EXT_CHECK_FILE));
}

static void
moved(struct xfer_block *b, uint32_t len)
{
	struct xfer_stream *l = b->handle->stream;

	l->proved = true;
	l->acked += len;
	l->x->measured.acked += len;
	xfer_progress_moved(b->handle->file, len);
	progress_add(l->x->opts.progress, &b->handle->file->item, len);
	if (is_kept(b->handle->file))
		l->x->retry.kept += len;
	xfer_marks_moved(b, len);
}

void
xfer_data_skipped(struct xfer_handle *e, uint64_t offset, uint64_t len)
{
	struct xfer_file *f = e->file;
	struct xfer_block b = { .handle = e, .offset = offset };

	xfer_progress_skipped(f, len);
	progress_keep(&f->item, len);
	/* A mark stands for a chunk; its length fits 32 bits. */
	for (uint64_t n; len > 0 && f->marks.left != NULL;
	     len -= n, b.offset += n) {
		n = MIN(len, f->progress.chunk - b.offset % f->progress.chunk);
		xfer_marks_moved(&b, (uint32_t)n);
	}
}

/* Takes the later half of the range of the handle that has the most left. */
static bool
take_over(struct xfer_handle *e)
{
	struct xfer_handle *other, *most = NULL;
	uint64_t left = 2 * (uint64_t)SFTP_DATA_MAX, half;

	TAILQ_FOREACH(other, &e->file->handles, entry)
		if (other != e && other->until - other->next > left) {
			most = other;
			left = other->until - other->next;
		}
	if (most == NULL || e->file->source.size == 0)
		return false;
	half = left / 2 / SFTP_DATA_DEFAULT * SFTP_DATA_DEFAULT;
	e->until = most->until;
	e->next = most->until -= half;
	return true;
}

/* True if e has something left of its range, or has taken another range. */
static bool
take_range(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;

	if (e->next < e->until)
		return true;
	e->data_until = 0; /* another range may begin before this end */
	if (xfer_range_take(f, &e->next, &e->until))
		return true;
	return !f->progress.all_taken && !f->holes.map_pending && take_over(e);
}

/*
 * A file whose size is not known (such as those of /proc) is read one
 * block after the other, until it ends.
 */
static bool
has_more(struct xfer_handle *e)
{
	const struct xfer_file *f = e->file;

	unsigned reads = f->up ? f->far.reads : f->blocks;

	return f->state == XFER_MOVING && !f->failed && !f->part.unproven &&
	    f->late.state == XFER_LATE_NO && e->state == XFER_HANDLE_OPEN &&
	    (f->source.size != 0 || reads == 0) && take_range(e);
}

void
xfer_handle_wake(struct xfer_handle *e)
{
	if (e->moving || !has_more(e))
		return;
	e->moving = true;
	TAILQ_INSERT_TAIL(&e->stream->moving, e, turn);
}

bool
xfer_data_sent(const struct xfer_file *f)
{
	const struct xfer_handle *e;

	if (f->holes.map_pending)
		return false;
	if (f->failed)
		return f->blocks == 0 && f->compare.pending == 0;
	if (f->far.reads > 0)
		return false;
	TAILQ_FOREACH(e, &f->handles, entry)
		if (e->next < e->until)
			return false;
	return f->progress.todo == NULL && xfer_delta_is_sent(f) &&
	    f->compare.why == XFER_COMPARE_NONE &&
	    (f->progress.all_taken ||
		(f->source.size != 0 && f->progress.next >= f->source.size));
}

void
xfer_source_ends(struct xfer_file *f, uint64_t offset)
{
	struct xfer_handle *e;

	xfer_progress_ends(f, offset);
	TAILQ_FOREACH(e, &f->handles, entry)
		if (e->until > offset)
			e->until = MAX(e->next, offset);
}

/* --- rate limit --- */

uint32_t
xfer_block_size(const struct xfer_stream *l, bool up)
{
	const struct xfer *x = l->x;
	uint32_t len = up ? sftp_write_max(l->s) : sftp_read_max(l->s);
	uint64_t rate = x->opts.rate_bytes;

	len = MIN(len, (uint32_t)xfer_stream_block(l));
	if (x->opts.block_bytes != 0)
		len = MIN(len, x->opts.block_bytes);
	/* Small blocks, so that data moves evenly even when the rate is low. */
	if (rate != 0 && rate / 8 < len)
		len = (uint32_t)MAX(rate / 8, (uint64_t)BLOCK_MIN);
	return len;
}

static void
refill_tokens(struct xfer *x)
{
	uint64_t now = x->opts.clock_ms();
	double most = (double)x->opts.rate_bytes / 4 + BLOCK_MIN;

	if (x->limit.refilled_ms != 0)
		x->limit.tokens += (double)(now - x->limit.refilled_ms) *
		    (double)x->opts.rate_bytes / 1000;
	x->limit.tokens = MIN(x->limit.tokens, most);
	x->limit.refilled_ms = now;
}

int
xfer_rate_wait_ms(struct xfer *x)
{
	if (x->opts.rate_bytes == 0 || x->limit.tokens > 0)
		return 0;
	return 1 +
	    (int)(-x->limit.tokens * 1000 / (double)x->opts.rate_bytes);
}

bool
xfer_may_issue(const struct xfer_stream *l, bool up)
{
	const struct xfer *x = l->x;
	unsigned most = x->opts.requests_max != 0 ? x->opts.requests_max :
						    BLOCKS_MAX;

	return x->data.in_flight < x->opts.budget_bytes &&
	    x->data.blocks < most && l->in_flight < xfer_stream_room(l, up) &&
	    sftp_output_len(l->s) < xfer_stream_queue(l) &&
	    (x->opts.rate_bytes == 0 || x->limit.tokens > 0);
}

/* --- upload --- */

void
xfer_write_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;

	if (reply->err == 0 && reply->status == SFTP_OK) {
		moved(b, b->len);
	} else if (reply->err != 0) {
		xfer_range_add(f, b->offset, b->len);
	} else {
		xfer_progress_write_failed(f);
		if (!f->failed)
			xfer_write_refused(f, reply);
		xfer_file_fail(f);
	}
	xfer_data_end(b);
	if (reply->err == 0)
		xfer_file_touch(f);
}

void
xfer_source_fails(struct xfer_file *f, int error)
{
	xfer_report_errno(f->x, f->local, error);
	xfer_file_fail(f);
}

/* --- download --- */

bool
xfer_write_local(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset)
{
	return fd_pwrite_all(f->fd, p, len, offset) == 0;
}

static void
read_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;
	uint64_t from = clock_us();

	/* The file has failed, so this data is not written and must not be
	 * marked as whole. */
	if (f->failed)
		return;
	if (!(f->holes.sparse ? xfer_sparse_write(f, p, len, offset) :
			       xfer_write_local(f, p, len, offset))) {
		xfer_report_errno(f->x, f->local, errno);
		xfer_progress_write_failed(f);
		xfer_file_fail(f);
		return;
	}
	f->x->spent.disk += clock_us() - from;
	b->got += (uint32_t)len;
	xfer_progress_received(f, offset + len);
	moved(b, (uint32_t)len);
}

static void
read_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_handle *e = b->handle;
	struct xfer_file *f = e->file;

	if (reply->err != 0) {
		if (b->got < b->len)
			xfer_range_add(f, b->offset + b->got,
			    b->len - b->got);
		xfer_data_end(b);
		return;
	}
	if (reply->type == SFTP_DATA) {
		if (b->got < b->len && !f->failed) {
			sftp_read(e->stream->s, &e->handle, b->offset + b->got,
			    b->len - b->got, read_data, read_done, b);
			return;
		}
	} else if (reply->status == SFTP_EOF) {
		xfer_source_ends(f, b->offset + b->got);
	} else if (!f->failed) {
		xfer_report_reply(f->x, f->remote, reply);
		xfer_file_fail(f);
	}
	xfer_data_end(b);
	if (f->source.size == 0)
		xfer_handle_wake(e);
	xfer_file_touch(f);
}

static void
send_read(struct xfer_handle *e)
{
	uint32_t len = xfer_block_size(e->stream, false);
	struct xfer_block *b;

	len = (uint32_t)MIN((uint64_t)len, e->until - e->next);
	b = xfer_data_begin(e, e->next, len);
	if (b == NULL) {
		xfer_source_fails(e->file, ENOMEM);
		return;
	}
	e->next += len;
	sftp_read(e->stream->s, &e->handle, b->offset, len, read_data,
	    read_done, b);
}

/* --- both --- */

/* The open handle that is to move what e gives back; NULL if there is none. */
static struct xfer_handle *
heir(const struct xfer_handle *e)
{
	struct xfer_stream *l = e->stream;
	struct xfer_handle *other;

	TAILQ_FOREACH(other, &e->file->handles, entry)
		if (other->state == XFER_HANDLE_OPEN &&
		    (l->idle ? !other->stream->idle :
			       other->stream == l->x->measured.fastest))
			break;
	return other;
}

/* If e's stream is to idle and has much left of the file, opens the file on a
 * busy stream. e goes on until that stream has the file open. */
static void
find_heir(struct xfer_handle *e)
{
	struct xfer_stream *l;

	if (!e->stream->idle || e->until - e->next < SFTP_DATA_MAX)
		return;
	TAILQ_FOREACH(l, &e->stream->x->streams, entry)
		if (!l->idle && xfer_stream_help(e->file, l))
			return;
}

/* Near the end of the transfer, a slow stream gives back the rest of its range
 * if it would finish last; the fastest stream takes it. A stream that is to
 * idle always gives its rest back. */
static bool
give_back(struct xfer_handle *e)
{
	struct xfer_stream *l = e->stream;
	struct xfer_file *f = e->file;
	struct xfer_handle *other;

	if (f->source.size == 0 ||
	    !xfer_stream_lags(l, xfer_block_size(l, f->up)))
		return false;
	if ((other = heir(e)) == NULL) {
		find_heir(e);
		return false;
	}
	xfer_range_add(f, e->next, e->until - e->next);
	e->next = e->until;
	xfer_handle_wake(other);
	return true;
}

static void
stream_issue(struct xfer_stream *l)
{
	struct xfer_handle *e;
	struct xfer_file *f;

	while (!l->gone && (e = TAILQ_FIRST(&l->moving)) != NULL) {
		f = e->file;
		while (!l->gone && has_more(e)) {
			if (give_back(e))
				break;
			if (!xfer_may_issue(l, f->up))
				return;
			if (f->up)
				l->x->origin.ops->send(e);
			else
				send_read(e);
		}
		if (l->gone)
			return;
		TAILQ_REMOVE(&l->moving, e, turn);
		e->moving = false;
		xfer_file_touch(f);
	}
}

void
xfer_issue(struct xfer *x)
{
	struct xfer_stream *l;

	if (x->opts.rate_bytes != 0)
		refill_tokens(x);
	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_error(l->s) == 0)
			stream_issue(l);
}
