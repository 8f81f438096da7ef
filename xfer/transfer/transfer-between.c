/* SPDX-License-Identifier: ISC */
/*
 * Copies between two hosts through this one: uploads whose origin is a second
 * host. What a READ there brings is put straight into WRITEs. It counts
 * against the budget from the READ's request to the WRITE's answer, so that
 * memory stays bounded when the target is slower than the source.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	BUDGET_DEFAULT = 8 * 1024 * 1024,
	/* A file has two handles, one at each host; both may belong to one
	 * session. Directories may take three quarters of a session's
	 * handles. */
	HANDLES_PER_FILE = 8,
};

/* --- the source --- */

static void
handle_free(struct xfer_file *f)
{
	f->x->origin.stream->handles--;
	free(f->far.handle);
	f->far.handle = NULL;
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->status == SFTP_OK) {
		sftp_keep_handle(f->far.handle, reply);
	} else {
		xfer_report_reply_tried(f->x, XFER_TRIED_OPEN_SOURCE, f->local,
		    reply);
		xfer_file_fail(f);
		handle_free(f);
	}
	if (reply->err == 0)
		xfer_file_touch(f);
}

static void
source_numbered(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_source_numbered(f, reply);
	xfer_path_answered(f, reply);
}

static void
target_numbered(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_target_numbered(f, reply);
	xfer_path_answered(f, reply);
}

/* Asks for the device and file numbers of source and target. They are compared
 * only if both are on one machine, because clones of one image have equal
 * numbers. A session leads to one machine, so both must be of the same
 * session. */
static void
ask_numbers(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STAT_NS, .path = f->local, .follow = true };

	if (f->x->origin.stream != TAILQ_FIRST(&f->x->streams) ||
	    !xfer_has(f->x, SFTP_EXT_STAT_NS))
		return;
	f->pending += 2;
	xfer_request_path(f->x, &q, source_numbered, f);
	q.path = f->remote;
	xfer_request_path(f->x, &q, target_numbered, f);
}

bool
xfer_between_same(const struct xfer_file *f)
{
	const struct xfer_exact *a = &f->source.exact, *b = &f->target.exact;

	return f->x->origin.stream != NULL && a->known && b->known &&
	    a->ino != 0 && a->dev == b->dev && a->ino == b->ino;
}

static bool
between_open(struct xfer_file *f)
{
	struct xfer_stream *l = f->x->origin.stream;

	if (f->far.handle != NULL)
		return true;
	if ((f->source.attrs.flags & SFTP_A_SIZE) &&
	    /* the size that the server told */
	    f->source.attrs.size > INT64_MAX) {
		xfer_report_errno(f->x, f->local, EFBIG);
		return false;
	}
	f->far.handle = malloc(sizeof *f->far.handle);
	if (f->far.handle == NULL) {
		xfer_report_errno(f->x, f->local, ENOMEM);
		return false;
	}
	xfer_file_enter(f, XFER_STATING_SOURCE);
	f->pending++;
	l->handles++;
	sftp_open(l->s, f->local, SFTP_O_READ, NULL, opened, f);
	ask_numbers(f);
	return true;
}

static void
between_close(struct xfer_file *f)
{
	if (f->far.handle == NULL)
		return;
	sftp_close(f->x->origin.stream->s, f->far.handle, NULL, NULL);
	handle_free(f);
}

/* --- data --- */

static void
pass_on(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_block *b = arg, *part;
	struct xfer_handle *e = b->handle;
	struct sftp *to = e->stream->s;
	uint8_t *place;
	uint32_t n;

	for (; len > 0 && !e->file->failed; p += n, offset += n, len -= n) {
		n = (uint32_t)MIN(len, (size_t)sftp_write_max(to));
		place = sftp_write_begin(to, &e->handle, offset, n);
		if (place == NULL) {
			/* the stream's session is over */
			e->stream->gone = true;
			return;
		}
		part = xfer_data_split(b, n);
		if (part == NULL) {
			sftp_write_finish(to, 0, NULL, NULL);
			xfer_source_fails(e->file, ENOMEM);
			return;
		}
		memcpy(place, p, n);
		sftp_write_finish(to, n, xfer_write_done, part);
	}
}

static void
read_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_handle *e = b->handle;
	struct xfer_file *f = e->file;

	if (reply->err == 0 && reply->type == SFTP_DATA && b->len > 0 &&
	    !f->failed) {
		sftp_read(f->x->origin.stream->s, f->far.handle, b->offset,
		    b->len, pass_on, read_done, b);
		return;
	}
	f->far.reads--;
	if (reply->err == 0 && reply->type != SFTP_DATA) {
		if (reply->status == SFTP_EOF) {
			xfer_source_ends(f, b->offset);
		} else if (!f->failed) {
			xfer_report_reply(f->x, f->local, reply);
			xfer_file_fail(f);
		}
	}
	xfer_data_end(b);
	if (reply->err != 0)
		return; /* the transfer has failed: xfer_between_check() */
	xfer_handle_wake(e);
	xfer_file_touch(f);
}

static void
between_send(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	struct sftp *from = f->x->origin.stream->s;
	uint32_t len =
	    MIN(xfer_block_size(e->stream, true), sftp_read_max(from));
	struct xfer_block *b;

	len = (uint32_t)MIN((uint64_t)len, e->until - e->next);
	b = xfer_data_begin(e, e->next, len);
	if (b == NULL) {
		xfer_source_fails(f, ENOMEM);
		return;
	}
	e->next += len;
	f->far.reads++;
	sftp_read(from, f->far.handle, b->offset, len, pass_on, read_done,
	    b);
}

static void
end_stated(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	const struct sftp_attrs *a = &reply->attrs;
	bool known = reply->type == SFTP_ATTRS && (a->flags & SFTP_A_SIZE);

	f->pending--;
	if (reply->err == 0)
		xfer_source_ended(f, known ? a->size : f->source.size);
}

static void
between_end(struct xfer_file *f)
{
	f->pending++;
	sftp_handle_request(f->x->origin.stream->s, SFTP_FSTAT,
	    f->far.handle, end_stated, f);
}

static const struct xfer_origin_ops between_origin = {
	.open = between_open,
	.send = between_send,
	.end = between_end,
	.close = between_close,
};

/* --- life --- */

static bool
is_plain(const struct xfer_opts *o)
{
	return o->in_place && !o->links && !o->hard_links && !o->sparse &&
	    !o->resume && !o->append && !o->verify && o->retries == 0;
}

static int
add_origin(struct xfer *x, struct sftp *from, struct sftp *to)
{
	struct xfer_stream *l = xfer_stream_first(x);

	x->origin.ops = &between_origin;
	if (from != to && (l = calloc(1, sizeof *l)) == NULL)
		return ERR_NOMEM;
	if (from != to)
		*l = (struct xfer_stream){ .x = x, .s = from,
			.borrowed = true };
	x->origin.stream = l;
	return 0;
}

int
xfer_new_between(struct xfer **out, struct sftp *from, struct sftp *to,
    const struct xfer_opts *opts)
{
	struct xfer_opts o = *opts;
	struct xfer *x;
	int r;

	if (!is_plain(opts))
		return ERR_UNSUPPORTED;
	if (o.budget_bytes == 0)
		o.budget_bytes = BUDGET_DEFAULT;
	r = xfer_new(&x, NULL, to, &o);
	if (r < 0)
		return r;
	r = add_origin(x, from, to);
	if (r < 0) {
		xfer_free(x);
		return r;
	}
	*out = x;
	return 0;
}

int
xfer_between_check(struct xfer *x)
{
	struct xfer_stream *from = x->origin.stream;
	struct xfer_stream *to = TAILQ_FIRST(&x->streams);
	int err;

	if (from == NULL)
		return 0;
	err = sftp_error(from->s);
	if (err == 0)
		err = sftp_error(to->s);
	if (err != 0) {
		(void)!sftp_feed_end(from->s, err);
		(void)!sftp_feed_end(to->s, err);
	}
	return err;
}

size_t
xfer_between_files(const struct xfer *x)
{
	const struct xfer_stream *from = x->origin.stream;
	const struct xfer_stream *to = TAILQ_FIRST(&x->streams);
	size_t n;

	if (from == NULL)
		return SIZE_MAX;
	n = MIN(sftp_handles_max(from->s), sftp_handles_max(to->s));
	return MAX(n / HANDLES_PER_FILE, (size_t)1);
}

void
xfer_between_free(struct xfer *x)
{
	if (x->origin.stream != TAILQ_FIRST(&x->streams))
		free(x->origin.stream);
	x->origin.stream = NULL;
}
