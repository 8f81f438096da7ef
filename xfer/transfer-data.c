/* SPDX-License-Identifier: ISC */
/* Blocks of data: how much is under way, and what its answers do. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "xfer/transfer-int.h"

enum { BLOCK_MIN = 1024, BLOCKS_MAX = 4096 };

/* --- blocks --- */

static struct xfer_block *
block_new(struct xfer_file *f, uint64_t offset, uint32_t len)
{
	struct xfer *x = f->x;
	struct xfer_block *b = x->free_blocks;

	if (b != NULL)
		x->free_blocks = b->next_free;
	else if ((b = malloc(sizeof *b)) == NULL)
		return NULL;
	*b = (struct xfer_block){ .file = f, .offset = offset, .len = len };
	x->in_flight += len;
	x->blocks++;
	f->pending++;
	return b;
}

static void
block_end(struct xfer_block *b)
{
	struct xfer *x = b->file->x;

	x->in_flight -= b->len;
	x->blocks--;
	b->file->pending--;
	b->next_free = x->free_blocks;
	x->free_blocks = b;
}

void
xfer_blocks_free(struct xfer *x)
{
	struct xfer_block *b;

	while ((b = x->free_blocks) != NULL) {
		x->free_blocks = b->next_free;
		free(b);
	}
}

/* --- rate limit --- */

static uint32_t
block_size(const struct xfer *x, bool up)
{
	uint32_t len = up ? sftp_write_max(x->s) : sftp_read_max(x->s);
	uint64_t rate = x->opts.rate_bytes;

	if (x->opts.block_bytes != 0)
		len = MIN(len, x->opts.block_bytes);
	/* Small steps, so that a slow rate is still an even one. */
	if (rate != 0 && rate / 8 < len)
		len = (uint32_t)MAX(rate / 8, (uint64_t)BLOCK_MIN);
	return len;
}

static void
refill_tokens(struct xfer *x)
{
	uint64_t now = loop_now_ms();
	double most = (double)x->opts.rate_bytes / 4 + BLOCK_MIN;

	if (x->tokens_ms != 0)
		x->tokens += (double)(now - x->tokens_ms) *
		    (double)x->opts.rate_bytes / 1000;
	x->tokens = MIN(x->tokens, most);
	x->tokens_ms = now;
}

int
xfer_rate_wait_ms(struct xfer *x)
{
	if (x->opts.rate_bytes == 0 || x->tokens > 0)
		return 0;
	return 1 +
	    (int)(-x->tokens * 1000 / (double)x->opts.rate_bytes);
}

static bool
may_issue(const struct xfer *x, bool up)
{
	unsigned most = x->opts.requests_max != 0 ? x->opts.requests_max :
						    BLOCKS_MAX;

	return x->in_flight < (up ? x->opts.budget_bytes : x->window) &&
	    x->blocks < most &&
	    buf_len(sftp_output(x->s)) < XFER_OUTPUT_MAX &&
	    (x->opts.rate_bytes == 0 || x->tokens > 0);
}

/* --- upload --- */

static void
write_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->file;

	if (reply->err == 0 && reply->status == SFTP_OK) {
		progress_add(f->x->opts.progress, &f->item, b->len);
	} else if (!f->failed) {
		xfer_report_reply(f->x, f->remote, reply);
		xfer_file_fail(f);
	}
	block_end(b);
	xfer_file_settle(f);
}

/* All that there is to send was sent, or cannot be read. */
static void
source_ends(struct xfer_file *f, int error)
{
	if (error != 0) {
		xfer_report_errno(f->x, f->local, error);
		f->failed = true;
	}
	f->state = XFER_WAITING;
	xfer_file_settle(f);
}

static void
send_block(struct xfer_file *f)
{
	struct xfer *x = f->x;
	uint32_t len = block_size(x, true);
	struct xfer_block *b;
	uint8_t *to;
	ssize_t n;

	if (f->size != 0)
		len = (uint32_t)MIN((uint64_t)len, f->size - f->next);
	to = sftp_write_begin(x->s, &f->handle, f->next, len);
	if (to == NULL) {
		source_ends(f, 0);
		return;
	}
	do
		n = pread(f->fd, to, len, (off_t)f->next);
	while (n < 0 && errno == EINTR);
	b = n > 0 ? block_new(f, f->next, (uint32_t)n) : NULL;
	if (b == NULL) {
		int error = n < 0 ? errno : n > 0 ? ENOMEM : 0;

		sftp_write_finish(x->s, 0, NULL, NULL);
		source_ends(f, error);
		return;
	}
	f->next += (uint64_t)n;
	x->tokens -= (double)n;
	sftp_write_finish(x->s, (uint32_t)n, write_done, b);
	if (f->state == XFER_MOVING && f->size != 0 && f->next >= f->size)
		source_ends(f, 0);
}

/* --- download --- */

static void
read_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->file;
	ssize_t n;

	b->got += (uint32_t)len;
	progress_add(f->x->opts.progress, &f->item, len);
	while (len > 0 && !f->failed) {
		n = pwrite(f->fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			xfer_report_errno(f->x, f->local,
			    n < 0 ? errno : EIO);
			xfer_file_fail(f);
			return;
		}
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	f->top = MAX(f->top, offset);
}

static void
read_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->file;
	struct xfer *x = f->x;

	if (reply->err == 0 && reply->type == SFTP_DATA) {
		/* The path takes it: let more be under way. */
		x->window = MIN(x->window + reply->data_len,
		    x->opts.budget_bytes);
		if (b->got < b->len && !f->failed) {
			sftp_read(x->s, &f->handle, b->offset + b->got,
			    b->len - b->got, read_data, read_done, b);
			return;
		}
	} else if (reply->err == 0 && reply->status == SFTP_EOF) {
		f->eof_at = MIN(f->eof_at, b->offset + b->got);
		if (f->state == XFER_MOVING)
			f->state = XFER_WAITING;
	} else if (!f->failed) {
		xfer_report_reply(x, f->remote, reply);
		xfer_file_fail(f);
	}
	block_end(b);
	xfer_file_settle(f);
}

static void
ask_block(struct xfer_file *f)
{
	struct xfer *x = f->x;
	uint32_t len = block_size(x, false);
	struct xfer_block *b;

	if (f->size != 0)
		len = (uint32_t)MIN((uint64_t)len, f->size - f->next);
	b = block_new(f, f->next, len);
	if (b == NULL) {
		source_ends(f, ENOMEM);
		return;
	}
	f->next += len;
	x->tokens -= (double)len;
	if (f->size != 0 && f->next >= f->size)
		f->state = XFER_WAITING;
	sftp_read(x->s, &f->handle, b->offset, len, read_data, read_done, b);
}

/* --- both --- */

/*
 * A file whose size is not known (such as those of /proc) is read one
 * block after the other, until it ends.
 */
static bool
has_more(const struct xfer_file *f)
{
	return f->state == XFER_MOVING &&
	    (f->up || f->size != 0 || f->pending == 0);
}

bool
xfer_issue(struct xfer *x)
{
	struct xfer_file *f, *next;

	if (x->opts.rate_bytes != 0)
		refill_tokens(x);
	for (f = TAILQ_FIRST(&x->active); f != NULL; f = next) {
		while (has_more(f) && may_issue(x, f->up)) {
			if (f->up)
				send_block(f);
			else
				ask_block(f);
		}
		next = TAILQ_NEXT(f, entry);
		/* Done: it is in another list now. */
		if (f->state == XFER_DONE)
			next = TAILQ_FIRST(&x->active);
		/* Whatever holds this one back holds back all. */
		if (has_more(f))
			return buf_len(sftp_output(x->s)) >= XFER_OUTPUT_MAX;
	}
	return false;
}
