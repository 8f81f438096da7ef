/* SPDX-License-Identifier: ISC */
/*
 * copy-blocks@hpnssh.org: copies blocks of one file to another, provided that
 * they are the blocks the client expects. The sums are computed from the bytes
 * that are written, while they are in the processor's cache, so nothing is read
 * twice. docs/SFTP.md has the wire format. Copies run in slices, as copy-data
 * does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/block-sum.h"
#include "xfer/serve/sftp-serve-internal.h"

/* Bytes that are read and written at a time: enough for few calls, and few
 * enough to be in the cache when they are summed and written. */
enum { AT_ONCE = 256 * 1024 };

struct serve_copy {
	uint8_t seed[BLOCK_SUM_SEED];
	uint8_t expected[BLOCK_SUM_COPY];
	uint32_t block;
	uint64_t left; /* bytes */
	uint8_t *bytes;		/* owned */
	size_t room;		/* whole blocks */
	struct poly1305 *poly;	/* owned */
	struct digest *digest;	/* owned; digest over the strong sums */
};

void
serve_copy_free(struct serve_copy *c)
{
	if (c == NULL)
		return;
	free(c->bytes);
	poly1305_free(c->poly);
	digest_free(c->digest);
	free(c);
}

/* Compares the digest with the one that the client expects. 0, or -1. */
static int
check(struct serve_copy *c)
{
	uint8_t sum[BLOCK_SUM_COPY];

	if (digest_final(c->digest, sum) == 0 &&
	    memcmp(sum, c->expected, sizeof sum) == 0)
		return 0;
	errno = EIO; /* sent as SFTP_FAILURE */
	return -1;
}

static int
sum_blocks(struct serve_copy *c, size_t len)
{
	uint8_t sum[BLOCK_SUM_STRONG];

	for (size_t at = 0; at < len; at += c->block)
		if (block_sum_strong(c->poly, c->seed, c->bytes + at, c->block,
			sum) != 0 ||
		    digest_update(c->digest, sum, sizeof sum) != 0)
			return -1;
	return 0;
}

static int
copy_blocks(struct serve_op *op)
{
	struct serve_copy *c = op->copy;
	size_t len = (size_t)MIN(c->left, (uint64_t)c->room);
	ssize_t n = fd_pread_all(op->file.fd, c->bytes, len, op->file.offset);

	if (n < 0)
		return -1;
	errno = EIO; /* the file is shorter now, or there is no Poly1305 */
	if ((size_t)n < len || sum_blocks(c, len) != 0)
		return -1;
	if (fd_pwrite_all(op->to_file.fd, c->bytes, len,
		op->to_file.offset) != 0)
		return -1;
	op->file.offset += len;
	op->to_file.offset += len;
	op->len += len;
	c->left -= len;
	return 0;
}

static int
run_copy(struct serve_op *op)
{
	struct serve_copy *c = op->copy;

	for (size_t did = 0; c->left > 0 && serve_slice_has_room(op, did);
	     did += c->room)
		if (copy_blocks(op) != 0)
			return -1;
	op->slice.unfinished = c->left > 0;
	return op->slice.unfinished ? 0 : check(c);
}

static void
done_copy(struct sftp_serve *s, struct serve_op *op)
{
	s->handles[op->file.slot].bytes_read += op->len;
	s->handles[op->to_file.slot].bytes_written += op->len;
	serve_done_status(s, op);
}

/* Reads the fields of the request. ERR_FORMAT: they are outside of what
 * docs/SFTP.md allows. */
static int
read_sums(struct serve_copy *c, struct rd *r)
{
	struct span seed, expected;

	c->block = rd_u32(r);
	seed = rd_string(r);
	expected = rd_string(r);
	if (rd_err(r) < 0)
		return rd_err(r);
	if (seed.len != sizeof c->seed || expected.len != sizeof c->expected ||
	    !block_sum_size_valid(c->block) || c->left == 0 ||
	    c->left > BLOCK_SUM_RANGE_MAX || c->left % c->block != 0)
		return ERR_FORMAT;
	memcpy(c->seed, seed.p, seed.len);
	memcpy(c->expected, expected.p, expected.len);
	return 0;
}

static int
make_room(struct serve_copy *c)
{
	c->room = MAX(c->block, (size_t)AT_ONCE);
	if ((c->bytes = malloc(c->room)) == NULL)
		return ERR_NOMEM;
	if (poly1305_new(&c->poly) != 0)
		return ERR_CRYPTO;
	return digest_new(&c->digest, DIGEST_SHA256);
}

int
serve_copy_blocks(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *from = serve_get_handle(s, r, SERVE_FILE), *to;
	struct serve_copy *c = op->copy = calloc(1, sizeof *c);
	int err;

	if (c == NULL)
		return ERR_NOMEM;
	op->file.offset = rd_u64(r);
	c->left = rd_u64(r);
	to = serve_get_handle(s, r, SERVE_FILE);
	op->to_file.offset = rd_u64(r);
	if ((err = read_sums(c, r)) < 0)
		return err;
	if (from == NULL || to == NULL || from == to || to->append ||
	    op->file.offset > INT64_MAX - c->left ||
	    op->to_file.offset > INT64_MAX - c->left || make_room(c) != 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_log(s, LOG_LVL_DEBUG1, "copy-blocks from \"%s\" to \"%s\"",
	    from->path, to->path);
	if (!serve_spend(s, op, &s->left.bytes, c->left))
		return 0;
	op->file.slot = (int)(from - s->handles);
	op->to_file.slot = (int)(to - s->handles);
	op->file.fd = from->fd;
	op->to_file.fd = to->fd;
	op->order.changes = true; /* two files, so it is ordered like a path */
	op->duration = SERVE_LONG;
	op->run = run_copy;
	op->done = done_copy;
	return 0;
}
