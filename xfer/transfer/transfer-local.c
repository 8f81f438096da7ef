/* SPDX-License-Identifier: ISC */
/* Sources of uploads that are files of this host; and those of a plan that are
 * on another host, which this one does not read. */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

/* Opens the source. What was found as a file is read as a file: a link that has
 * taken its name is not followed. If another file has taken the name, that one
 * is copied. */
static bool
local_open(struct xfer_file *f)
{
	struct stat st;

	if (f->fd >= 0)
		return true;
	f->fd = local_open_source(f->at, f->name, f->links, &st);
	if (f->fd < 0) {
		if (!xfer_file_wait_for_fds(f, errno))
			xfer_report_tried(f->x, XFER_TRIED_OPEN_LOCAL,
			    f->local, local_error_text(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xfer_report(f->x, f->local, "not a regular file");
		return false;
	}
	xfer_source_seen(f, &st);
	xfer_look_for_extras(f->x, f->fd, f->local);
	return true;
}

static void
later_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;

	f->x->spent.disk += reply->source_us;
	if (reply->err != 0 || reply->source_len == b->len) {
		xfer_write_done(arg, reply);
		return;
	}
	if (!f->failed && reply->source_errno != 0)
		xfer_report_errno(f->x, f->local, reply->source_errno);
	else if (!f->failed)
		xfer_report(f->x, f->local,
		    "changed while it was being read");
	xfer_file_fail(f);
	xfer_data_end(b);
	xfer_file_touch(f);
}

/* Sends a WRITE whose data is read from the source only when the request
 * leaves. */
static void
send_later(struct xfer_handle *e, uint32_t len)
{
	struct xfer_block *b = xfer_data_begin(e, e->next, len);

	if (b == NULL) {
		xfer_source_fails(e->file, ENOMEM);
		return;
	}
	e->next += len;
	sftp_write_file(e->stream->s, &e->handle, b->offset, len, e->file->fd,
	    later_done, b);
}

/* Sends a block of the source, which is read now, or only when the request
 * leaves. It may be read later only if no harm is done when the source turns
 * out shorter than its size: not if the target is written in place, and not for
 * files like those of /sys, whose size means little. */
static void
local_send(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	struct sftp *s = e->stream->s;
	uint64_t offset = e->next;
	uint32_t len = xfer_block_size(e->stream, true);
	struct xfer_block *b;
	uint64_t from;
	uint8_t *to;
	ssize_t n;

	len = (uint32_t)MIN((uint64_t)len, e->until - offset);
	if (f->holes.sparse && xfer_sparse_skip(e, &len))
		return;
	if (f->part.name != NULL && f->source.size > XFER_BLOCK_MAX) {
		send_later(e, len);
		return;
	}
	to = sftp_write_begin(s, &e->handle, offset, len);
	if (to == NULL) {
		e->stream->gone = true; /* the stream's session is over */
		return;
	}
	from = clock_us();
	n = fd_pread(f->fd, to, len, offset);
	f->x->spent.disk += clock_us() - from;
	b = n > 0 ? xfer_data_begin(e, offset, (uint32_t)n) : NULL;
	if (b == NULL) {
		int error = n < 0 ? errno : n > 0 ? ENOMEM : 0;

		sftp_write_finish(s, 0, NULL, NULL);
		if (error != 0)
			xfer_source_fails(f, error);
		else
			xfer_source_ends(f, offset);
		return;
	}
	e->next += (uint64_t)n;
	sftp_write_finish(s, (uint32_t)n, xfer_write_done, b);
}

static void
local_end(struct xfer_file *f)
{
	struct stat st;
	bool known = fstat(f->fd, &st) == 0;

	xfer_source_ended(f, known ? (uint64_t)st.st_size : f->source.size);
}

static void
local_close(struct xfer_file *f)
{
	fd_close(&f->fd);
}

const struct xfer_origin_ops xfer_local_origin = {
	.open = local_open,
	.send = local_send,
	.end = local_end,
	.close = local_close,
};

/* ---- sources that are not read ------------------------------------------- */

/* Files of a plan become what the target's host has by now, or get attributes.
 * What would need data fails. */
static bool
unread_open(struct xfer_file *f)
{
	if (!f->only_attrs)
		xfer_report(f->x, f->remote,
		    "cannot be read, and its source is not here");
	return f->only_attrs;
}

static void
unread_nothing(struct xfer_file *f)
{
	(void)f;
}

/* Is never called: no such file moves data. */
static void
unread_send(struct xfer_handle *e)
{
	xfer_source_ends(e->file, e->next);
}

static void
unread_end(struct xfer_file *f)
{
	xfer_source_ended(f, f->source.size);
}

const struct xfer_origin_ops xfer_unread_origin = {
	.open = unread_open,
	.send = unread_send,
	.end = unread_end,
	.close = unread_nothing,
};
