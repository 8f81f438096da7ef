/* SPDX-License-Identifier: ISC */
/*
 * Holes. An upload asks the kernel where data is and sends only that. A
 * download asks the server (sparse-map@hpnssh.org) and requests only that;
 * zeros that arrive are not written. At the end the target gets its size.
 * Holes are left only where the target holds nothing yet (behind
 * file->holes.occupied).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	EXTENTS_MAX = 1024, /* most extents in one answer */
	MAPS_MAX = 64,	    /* most answers; then all of the rest is moved */
	UNIT = 4096,	    /* bytes that are looked at together for zeros */
	ZEROS_MIN = 16384,  /* shorter runs of zeros are written */
};

/* --- download: where data is --- */

static void map_done(void *arg, const struct sftp_reply *reply);

static void
request_map(struct xfer_file *f)
{
	struct xfer_handle *e = TAILQ_FIRST(&f->handles);

	f->holes.map_pending = true;
	f->holes.maps++;
	e->pending++;
	f->pending++;
	sftp_sparse_map(
	    e->stream->s, &e->handle, f->progress.next, map_done, e);
}

/* Takes the ranges with data from an answer. False: it makes no sense, and
 * nothing was done. */
static bool
take_map(struct xfer_handle *e, struct rd *r, bool *more)
{
	struct xfer_file *f = e->file;
	uint64_t from[EXTENTS_MAX], until[EXTENTS_MAX], at, len;
	uint32_t n = rd_u32(r);

	if (n > EXTENTS_MAX)
		return false;
	at = f->progress.next;
	for (uint32_t i = 0; i < n; i++) {
		from[i] = rd_u64(r);
		len = rd_u64(r);
		if (rd_err(r) < 0 || from[i] < at || len == 0 ||
		    len > UINT64_MAX - from[i])
			return false;
		until[i] = at = from[i] + len;
		from[i] = MIN(from[i], f->source.size);
		until[i] = MIN(until[i], f->source.size);
	}
	*more = rd_u8(r) != 0 && n > 0 && at < f->source.size;
	if (rd_err(r) < 0)
		return false;
	at = f->progress.next;
	for (uint32_t i = 0; i < n; at = until[i++])
		xfer_data_skipped(e, at, from[i] - at);
	if (!*more)
		xfer_data_skipped(e, at, f->source.size - at);
	xfer_progress_from(f, *more ? at : f->source.size);
	/* Added backwards, because the last one added is taken first. */
	for (uint32_t i = n; i-- > 0;)
		xfer_range_add(f, from[i], until[i] - from[i]);
	return true;
}

static void
map_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;
	struct rd r = reply->body;
	bool more = false;

	e->pending--;
	f->pending--;
	f->holes.map_pending = false;
	if (reply->err != 0)
		return; /* without a map all is moved */
	if (reply->type == SFTP_EXTENDED_REPLY && take_map(e, &r, &more) &&
	    more && f->holes.maps < MAPS_MAX && e->state == XFER_HANDLE_OPEN)
		request_map(f);
	TAILQ_FOREACH(e, &f->handles, entry)
		xfer_handle_wake(e);
	xfer_file_touch(f);
}

void
xfer_holes_forget(struct xfer_file *f)
{
	f->holes = (struct xfer_holes){ .sparse = false };
}

void
xfer_holes_occupied(struct xfer_file *f, uint64_t until)
{
	f->holes.occupied = until;
}

void
xfer_sparse_start(struct xfer_file *f)
{
	if (!f->x->opts.sparse || f->source.size <= f->holes.occupied ||
	    (f->source.exact.known &&
		f->source.exact.blocks >= f->source.size / 512))
		return;
	f->holes.sparse = true;
	xfer_progress_needs_size(f);
	if (!f->up && f->source.exact.known &&
	    f->progress.next >= f->holes.occupied &&
	    f->progress.next < f->source.size &&
	    xfer_has(f->x, SFTP_EXT_SPARSE_MAP))
		request_map(f);
}

/* --- download: zeros --- */

static bool
is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

bool
xfer_sparse_write(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset)
{
	size_t from = 0, zeros = 0, n;

	if (offset < f->holes.occupied)
		return xfer_write_local(f, p, len, offset);
	for (size_t at = 0; at < len; at += n) {
		n = MIN(len - at, UNIT - (size_t)((offset + at) % UNIT));
		if (is_zero(p + at, n)) {
			zeros += n;
			continue;
		}
		if (zeros >= ZEROS_MIN) {
			if (!xfer_write_local(f, p + from, at - zeros - from,
				offset + from))
				return false;
			from = at;
		}
		zeros = 0;
	}
	if (zeros >= ZEROS_MIN || zeros == len)
		len -= zeros;
	return xfer_write_local(f, p + from, len - from, offset + from);
}

/* --- upload --- */

bool
xfer_sparse_skip(struct xfer_handle *e, uint32_t *len)
{
	struct xfer_file *f = e->file;
	uint64_t at = e->next, data, hole;
	struct stat st;
	off_t r;

	if (at >= e->data_until && at >= f->holes.occupied) {
		r = lseek(f->fd, (off_t)at, SEEK_DATA);
		data = r >= 0 ? (uint64_t)r : at;
		/* ENXIO: there is no more data, if the size is still the
		 * same. */
		if (r < 0 && errno == ENXIO && fstat(f->fd, &st) == 0 &&
		    (uint64_t)st.st_size >= f->source.size)
			data = f->source.size;
		if (data > at) {
			data = MIN(data, e->until);
			e->next = data;
			xfer_data_skipped(e, at, data - at);
			return true;
		}
		r = lseek(f->fd, (off_t)at, SEEK_HOLE);
		hole = r >= 0 ? (uint64_t)r : 0;
		e->data_until = hole > at ? hole : e->until;
	}
	if (at < e->data_until)
		*len = (uint32_t)MIN((uint64_t)*len, e->data_until - at);
	return false;
}
