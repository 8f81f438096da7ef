/* SPDX-License-Identifier: ISC */
/*
 * Compares what is at the target already with the source.
 *
 * With check-file, digests of blocks of both ends are compared while data
 * moves, and what differs of a part is moved. Without it the content of a
 * part cannot be checked; then marks are written into the part, behind its
 * data. They say which ranges are whole, and of which source (size and time);
 * for their layout see MARKS_MAGIC. They are cut off before the rename.
 *
 * To verify without check-file, the far end is read back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/delta/delta.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	BLOCK_BYTES = XFER_DIGEST_BLOCK,
	/* Requests under way for a file: two for two threads of the server, and
	 * two for the time on the path. Each is so large that the round trip of
	 * a long path does not matter. */
	REQUEST_BYTES = 32 * BLOCK_BYTES,
	REQUESTS_MAX = 4,
	REQUESTS_SPARSE = 16, /* holes cost nothing but round trips */
	READS_MAX = 32,
};

/* --- comparing --- */

static uint32_t
blocks_of(uint64_t len)
{
	return (uint32_t)((len + BLOCK_BYTES - 1) / BLOCK_BYTES);
}

/* Goes on when all bytes of a request are compared. */
static void
compare_end(struct xfer_block *b)
{
	struct xfer_file *f = b->handle->file;
	struct xfer_handle *e;

	f->x->data.digest_blocks -= blocks_of(b->len);
	f->compare.pending--;
	xfer_block_free(f->x, b);
	if (f->compare.why == XFER_COMPARE_PART)
		TAILQ_FOREACH(e, &f->handles, entry)
			xfer_handle_wake(e);
}

void
xfer_compared(struct xfer_block *b, uint64_t offset, uint32_t len, bool same)
{
	struct xfer_file *f = b->handle->file;

	if (f->compare.why != XFER_COMPARE_PART) {
		f->compare.differs |= !same;
		if (f->compare.why == XFER_COMPARE_TARGET && same) {
			f->compare.shown += len;
			progress_keep(&f->item, len);
		}
	} else if (same) {
		xfer_part_proven(f);
		xfer_progress_moved(f, len);
		progress_keep(&f->item, len);
	} else {
		xfer_range_add(f, offset, len);
	}
	b->got += len;
	if (b->got == b->len)
		compare_end(b);
}

/* The stream of a request was lost, which says nothing of the content: it is
 * compared again. */
static void
not_compared(struct xfer_block *b)
{
	struct xfer_compare *c = &b->handle->file->compare;

	if (c->why == XFER_COMPARE_PART && !c->reads)
		xfer_range_add(b->handle->file, b->offset, b->len);
	else
		c->lost = true;
	compare_end(b);
}

static void
digests_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;
	uint64_t end = b->offset + b->len;
	struct rd body = reply->body;
	const uint8_t *theirs = NULL;
	uint32_t len;

	if (reply->err != 0) {
		not_compared(b);
		return;
	}
	/* EOF: the other end is shorter, and so not the same. */
	if (reply->status != SFTP_EOF &&
	    (reply->type != SFTP_EXTENDED_REPLY ||
	    sftp_get_digests(&body, blocks_of(b->len), &theirs) < 0)) {
		f->compare.status = reply->status != 0 ? (int)reply->status :
							 SFTP_BAD_MESSAGE;
		theirs = NULL;
	}
	if (theirs == NULL) {
		xfer_compared(b, b->offset, b->len, false);
		return;
	}
	for (uint64_t at = b->offset; at < end; at += len) {
		bool same = false;

		len = (uint32_t)MIN(end - at, (uint64_t)BLOCK_BYTES);
		if (xfer_digest_of_hole(f, at, len, theirs, &same) ||
		    !xfer_digest_post(b, at, len, theirs))
			xfer_compared(b, at, len, same);
		theirs += XFER_DIGEST_BYTES;
	}
	xfer_digest_kick(f->x);
}

static void
back_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;

	b->got += (uint32_t)len;
	if (!f->compare.differs &&
	    (fd_pread_all(f->fd, f->x->data.scratch, len, offset) !=
			(ssize_t)len ||
		memcmp(f->x->data.scratch, p, len) != 0))
		f->compare.differs = true;
}

static void
back_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;

	if (reply->err != 0) {
		not_compared(b);
		return;
	}
	if (reply->type == SFTP_DATA && b->got < b->len) {
		sftp_read(b->handle->stream->s, &b->handle->handle,
		    b->offset + b->got, b->len - b->got, back_data, back_done,
		    b);
		return;
	}
	if (b->got < b->len)
		f->compare.differs = true;
	/* A part that this run has made is proven by one equal block, as an old
	 * part is by an equal digest. */
	if (!f->compare.differs && f->made.ours)
		xfer_part_proven(f);
	if (!f->compare.differs &&
	    f->compare.why != XFER_COMPARE_PART &&
	    b->offset == f->compare.same_until) {
		f->compare.same_until += b->len;
		f->x->retry.kept += b->len;
	}
	compare_end(b);
}

static bool
send_comparison(struct xfer_file *f, struct xfer_handle *e)
{
	struct xfer_compare *c = &f->compare;
	/* A server digests no further than the size that a file tells; files of
	 * /proc tell none. */
	bool digests = sftp_has(e->stream->s, SFTP_EXT_CHECK_FILE) &&
	    (f->up || f->source.size != 0);
	uint64_t len = digests ? REQUEST_BYTES : sftp_read_max(e->stream->s);
	struct xfer_block *b;

	if (c->pending >= (unsigned)(!digests ? READS_MAX :
		c->sparse ? REQUESTS_SPARSE : REQUESTS_MAX))
		return false;
	c->reads = !digests;
	len = MIN(len, c->size - c->next);
	if (f->x->data.digest_blocks + blocks_of(len) > XFER_DIGESTS_MAX)
		return false;
	b = xfer_block_new(e, c->next, (uint32_t)len);
	if (b == NULL)
		return false;
	c->next += len;
	c->pending++;
	f->x->data.digest_blocks += blocks_of(len);
	if (digests)
		sftp_check_file(e->stream->s, &e->handle, b->offset, len,
		    BLOCK_BYTES, digests_done, b);
	else
		sftp_read(e->stream->s, &e->handle, b->offset, (uint32_t)len,
		    back_data, back_done, b);
	return true;
}

/* Ends the comparison of a part. One equal digest proves a part, because it is
 * of a large block. A part that was read back is proven only if all of it is
 * equal to the source. */
static void
part_was_read(struct xfer_file *f)
{
	uint64_t size = f->compare.size;
	struct xfer_handle *e;

	if (f->compare.differs && !f->part.unproven) {
		xfer_range_add(f, 0, size);
	} else if (!f->compare.differs) {
		xfer_part_proven(f);
		xfer_progress_moved(f, size);
		progress_add(f->x->opts.progress, &f->item, size);
	}
	TAILQ_FOREACH(e, &f->handles, entry)
		xfer_handle_wake(e);
}

/* Ends a comparison when all its requests are answered. If some were lost it is
 * made again. */
static void
compare_over(struct xfer_file *f)
{
	bool again = f->compare.lost && !f->compare.differs && !f->failed;
	int why = f->compare.why;

	xfer_compare_stop(f);
	if (again) {
		xfer_compare_start(f, why, f->compare.size);
		return;
	}
	if (why == XFER_COMPARE_PART && f->compare.reads && !f->failed)
		part_was_read(f);
	if (why == XFER_COMPARE_PART) {
		xfer_part_judged(f);
		xfer_file_touch(f);
	} else {
		xfer_file_compared(f, why);
	}
}

static void
compare_file(struct xfer_file *f)
{
	struct xfer_compare *c = &f->compare;
	struct xfer_handle *e = TAILQ_FIRST(&f->handles);

	/* Errors of a lost stream are no answers: see lose_stream(). */
	if (e == NULL || sftp_error(e->stream->s) != 0 ||
	    f->late.state != XFER_LATE_NO)
		return;
	if (c->differs || f->failed)
		c->next = c->size;
	while (e->state == XFER_HANDLE_OPEN && c->next < c->size &&
	    send_comparison(f, e))
		;
	if (c->next >= c->size && c->pending == 0)
		compare_over(f);
}

void
xfer_compare_issue(struct xfer *x)
{
	struct xfer_file *f, *next;

	xfer_digest_collect(x);
	for (f = TAILQ_FIRST(&x->files.comparing); f != NULL; f = next) {
		next = TAILQ_NEXT(f, compare.entry);
		compare_file(f);
	}
}

void
xfer_compare_forget(struct xfer_file *f)
{
	f->compare.same_until = 0;
}

void
xfer_compare_start(struct xfer_file *f, int why, uint64_t size)
{
	if (f->x->data.scratch == NULL &&
	    (f->x->data.scratch = malloc(BLOCK_BYTES)) == NULL) {
		xfer_report_errno(f->x, f->local, ENOMEM);
		xfer_file_fail(f);
		size = 0;
	}
	f->compare.why = why;
	f->compare.differs = false;
	f->compare.status = 0;
	f->compare.shown = 0;
	f->compare.reads = f->compare.lost = false;
	f->compare.sparse = f->fd >= 0 && fd_has_holes(f->fd);
	f->compare.next = why == XFER_COMPARE_VERIFY ?
	    MIN(f->compare.same_until, size) : 0;
	f->compare.size = size;
	if (size > 0) {
		TAILQ_INSERT_TAIL(&f->x->files.comparing, f, compare.entry);
		f->compare.listed = true;
		return;
	}
	f->compare.why = XFER_COMPARE_NONE;
	if (why != XFER_COMPARE_PART)
		xfer_file_compared(f, why);
}

/* Stops comparing f. What was not compared of a part is moved. */
void
xfer_compare_stop(struct xfer_file *f)
{
	struct xfer_compare *c = &f->compare;
	uint64_t from;

	if (c->listed)
		TAILQ_REMOVE(&f->x->files.comparing, f, compare.entry);
	c->listed = false;
	if (c->why == XFER_COMPARE_PART && c->next < c->size && !f->failed) {
		from = c->reads ? 0 : c->next;
		xfer_range_add(f, from, c->size - from);
	}
	c->why = XFER_COMPARE_NONE;
}

/* --- marks --- */

/*
 * Marks lie behind the data, at the offset of the source's size: 8 bytes
 * MARKS_MAGIC, uint64 size and mtime (seconds) of the source, uint64 bytes of a
 * chunk, and a byte for each chunk: 1 when all of the chunk is there.
 */
enum { MARKS_HEAD = 32, MARKS_MAX = 128 * 1024 };
#define MARKS_MAGIC "HPNPART1"
#define MARKS_WORTH (UINT64_C(8) * 1024 * 1024)

/* Is f so large that marks are worth their cost? With retries, connections are
 * expected to break, so smaller files have marks, too. */
static bool
are_marks_worth(const struct xfer_file *f)
{
	return f->source.size >=
	    (f->x->opts.retries > 0 ? XFER_CHUNK_MIN : MARKS_WORTH);
}

static size_t
chunks(const struct xfer_file *f)
{
	return (size_t)((f->source.size + f->progress.chunk - 1) /
	    f->progress.chunk);
}

static uint32_t
chunk_bytes(const struct xfer_file *f, size_t i)
{
	return (uint32_t)MIN(
	    f->progress.chunk, f->source.size - i * f->progress.chunk);
}

static void
mark_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;

	e->pending--;
	e->file->pending--;
	if (reply->err == 0)
		xfer_file_touch(e->file);
}

/* Writes p to the marks, at an offset from their beginning. Failures are not
 * reported: a later run then only moves more than it must. */
static void
marks_write(struct xfer_file *f, uint64_t at, const uint8_t *p, size_t len)
{
	struct xfer_handle *e;
	uint8_t *to;

	if (!f->up) {
		(void)!pwrite(f->fd, p, len, (off_t)(f->source.size + at));
		return;
	}
	TAILQ_FOREACH(e, &f->handles, entry)
		if (e->state == XFER_HANDLE_OPEN &&
		    sftp_error(e->stream->s) == 0)
			break;
	if (e == NULL)
		return;
	to = sftp_write_begin(e->stream->s, &e->handle, f->source.size + at,
	    (uint32_t)len);
	if (to == NULL)
		return;
	memcpy(to, p, len);
	e->pending++;
	f->pending++;
	sftp_write_finish(e->stream->s, (uint32_t)len, mark_done, e);
}

void
xfer_marks_free(struct xfer_file *f)
{
	free(f->marks.left);
	f->marks.left = NULL;
}

void
xfer_marks_start(struct xfer_file *f)
{
	size_t n = chunks(f);
	uint8_t *p;

	f->compare.same_until = 0;
	if (f->part.name == NULL || !are_marks_worth(f) ||
	    n > MARKS_MAX || (f->source.attrs.flags & SFTP_A_TIMES) == 0 ||
	    xfer_has(f->x, SFTP_EXT_CHECK_FILE))
		return;
	p = calloc(1, MARKS_HEAD + n);
	f->marks.left = calloc(n, sizeof *f->marks.left);
	if (p == NULL || f->marks.left == NULL) {
		free(p);
		xfer_marks_free(f);
		return;
	}
	for (size_t i = 0; i < n; i++)
		f->marks.left[i] = chunk_bytes(f, i);
	memcpy(p, MARKS_MAGIC, 8);
	wire_put_u64(p + 8, f->source.size);
	wire_put_u64(p + 16, f->source.attrs.mtime);
	wire_put_u64(p + 24, f->progress.chunk);
	xfer_progress_needs_size(f);
	marks_write(f, 0, p, MARKS_HEAD + n);
	free(p);
}

void
xfer_marks_moved(struct xfer_block *b, uint32_t len)
{
	struct xfer_file *f = b->handle->file;
	uint64_t i = b->offset / f->progress.chunk;

	if (f->marks.left == NULL || f->marks.left[i] == 0)
		return;
	f->marks.left[i] -= MIN(len, f->marks.left[i]);
	if (f->marks.left[i] != 0)
		return;
	f->x->retry.kept += f->up ? chunk_bytes(f, i) : 0;
	/* After the size was set a mark would become part of the file. */
	if (f->state == XFER_MOVING)
		marks_write(f, MARKS_HEAD + i, (const uint8_t *)"\1", 1);
}

uint64_t
xfer_marks_kept(const struct xfer_file *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < chunks(f); i++)
		sum += f->marks.left[i] == 0 ? chunk_bytes(f, i) : 0;
	return sum;
}

/* Applies the marks of an old part: the chunks without a mark are to be moved.
 * False if these are no marks of this source, or when out of memory. */
static bool
marks_apply(struct xfer_file *f, const uint8_t *p, size_t len)
{
	uint64_t chunk;

	if (len < MARKS_HEAD || memcmp(p, MARKS_MAGIC, 8) != 0 ||
	    wire_get_u64(p + 8) != f->source.size ||
	    wire_get_u64(p + 16) != f->source.attrs.mtime)
		return false;
	chunk = wire_get_u64(p + 24);
	if (chunk < XFER_CHUNK_MIN || chunk > XFER_CHUNK_MAX ||
	    chunk % XFER_CHUNK_MIN != 0)
		return false;
	xfer_progress_chunk(f, chunk);
	f->marks.left =
	    calloc(chunks(f), sizeof *f->marks.left);
	if (f->marks.left == NULL)
		return false;
	xfer_progress_needs_size(f);
	xfer_progress_from(f, f->source.size);
	for (size_t i = chunks(f); i-- > 0;) {
		uint32_t bytes = chunk_bytes(f, i);

		if (MARKS_HEAD + i < len && p[MARKS_HEAD + i] == 1) {
			xfer_progress_moved(f, bytes);
			progress_keep(&f->item, bytes);
		} else {
			f->marks.left[i] = bytes;
			xfer_range_add(f, i * f->progress.chunk, bytes);
		}
	}
	return true;
}

struct marks_read {
	struct xfer_handle *handle;
	size_t len, max;
	uint8_t bytes[];
};

void
xfer_whole_learn(struct xfer_file *f)
{
	bool was = f->whole.known;

	/* A part that is still being compared is not known to be whole. */
	f->whole.known = f->up && f->part.name != NULL && f->progress.begun &&
	    !f->failed && f->source.size != 0 && !f->part.unproven &&
	    f->compare.why != XFER_COMPARE_PART && xfer_delta_is_over(f) &&
	    f->progress.next >= f->source.size && f->progress.todo == NULL &&
	    f->progress.eof_at == UINT64_MAX;
	f->whole.size = f->source.size;
	f->whole.mtime = f->source.attrs.mtime;
	if (f->whole.known && !was && f->marks.left == NULL)
		f->x->retry.kept += f->source.size;
}

/* Is the old part the one that xfer_whole_learn() found to be whole? */
static bool
is_whole(const struct xfer_file *f)
{
	return f->whole.known && f->whole.size == f->source.size &&
	    (f->source.attrs.flags & SFTP_A_TIMES) &&
	    f->whole.mtime == f->source.attrs.mtime &&
	    (f->part.old.flags & SFTP_A_SIZE) &&
	    f->part.old.size == f->source.size;
}

bool
xfer_part_is_read(const struct xfer_file *f)
{
	return f->target.reuse == XFER_REUSE_CHECKED && f->part.name != NULL &&
	    f->part.old.size > 0 && f->part.old.size <= f->source.size &&
	    !is_whole(f) && !xfer_has(f->x, SFTP_EXT_CHECK_FILE);
}

static void
take_whole(struct xfer_file *f)
{
	xfer_progress_trusted(f, f->source.size);
	progress_keep(&f->item, f->source.size);
}

static void
marks_known(struct xfer_file *f, const uint8_t *p, size_t len)
{
	struct xfer_handle *e;
	bool right;

	f->compare.why = XFER_COMPARE_NONE;
	xfer_progress_from(f, 0);
	/* Without marks it is no part, or a part of another source. */
	if (len == 0 && is_whole(f)) {
		take_whole(f);
		right = true;
	} else {
		right = marks_apply(f, p, len);
	}
	xfer_part_marked(f, right);
	TAILQ_FOREACH(e, &f->handles, entry)
		xfer_handle_wake(e);
}

static void
marks_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct marks_read *m = arg;

	(void)offset;
	len = MIN(len, m->max - m->len);
	memcpy(m->bytes + m->len, p, len);
	m->len += len;
}

static void
marks_done(void *arg, const struct sftp_reply *reply)
{
	struct marks_read *m = arg;
	struct xfer_file *f = m->handle->file;

	m->handle->pending--;
	f->pending--;
	if (reply->err == 0) {
		marks_known(f, m->bytes, m->len);
		xfer_file_touch(f);
	} else {
		f->compare.why = XFER_COMPARE_NONE;
		xfer_progress_begun(f, false);
	}
	free(m);
}

void
xfer_marks_read(struct xfer_file *f)
{
	struct xfer_handle *e = TAILQ_FIRST(&f->handles);
	size_t max = MIN(MARKS_HEAD + MARKS_MAX,
	    sftp_read_max(e->stream->s));
	struct marks_read *m = calloc(1, sizeof *m + max);
	ssize_t n;

	if (m == NULL) {
		xfer_report_errno(f->x, f->local, ENOMEM);
		xfer_file_fail(f);
		return;
	}
	m->handle = e;
	m->max = max;
	if (!f->up) {
		n = pread(f->fd, m->bytes, max, (off_t)f->source.size);
		marks_known(f, m->bytes, n > 0 ? (size_t)n : 0);
		free(m);
		return;
	}
	/* Nothing moves until the marks are known. */
	xfer_progress_from(f, f->source.size);
	f->compare.why = XFER_COMPARE_PART;
	f->compare.next = f->compare.size = 0;
	e->pending++;
	f->pending++;
	sftp_read(e->stream->s, &e->handle, f->source.size, (uint32_t)max,
	    marks_data, marks_done, m);
}
