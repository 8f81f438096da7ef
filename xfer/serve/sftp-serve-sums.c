/* SPDX-License-Identifier: ISC */
/*
 * block-sums@hpnssh.org, and block-sums-name@hpnssh.org, which names the file
 * by its path: computes weak and strong sums for the blocks of a range, by
 * which a client finds blocks in its own file that this file has as well.
 * docs/SFTP.md has the wire format. They run in slices, as check-file does.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ring.h"
#include "xfer/block-sum.h"
#include "xfer/serve/sftp-serve-internal.h"

enum {
	SUMS_MAX = SFTP_DATA_MAX / BLOCK_SUM_BYTES, /* of a reply */
	AT_ONCE = 256 * 1024, /* bytes that are read */
};

struct serve_sums {
	uint8_t seed[BLOCK_SUM_SEED];
	uint32_t factor;
	uint64_t at, left; /* bytes */
	uint32_t block;
	bool begun;
	bool sparse;	  /* the file has holes, which are not read */
	bool zeros_known; /* of_zeros has the sum of a block of zeros */
	uint8_t of_zeros[BLOCK_SUM_BYTES];
	uint8_t *bytes;	  /* owned */
	size_t room;	  /* whole blocks */
	struct poly1305 *poly; /* owned */
};

void
serve_sums_free(struct serve_sums *s)
{
	if (s == NULL)
		return;
	free(s->bytes);
	poly1305_free(s->poly);
	free(s);
}

/* Begins. If the range is not in the file, op->flags gets an SFTP status. */
static int
begin(struct serve_op *op)
{
	struct serve_sums *s = op->sums;
	uint64_t size;

	if (op->path != NULL)
		op->own.fd = serve_open_at(op, op->path,
		    O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (op->own.fd < 0 || fstat(op->own.fd, &op->st) != 0)
		return -1;
	errno = EIO; /* EIO is sent as SFTP_FAILURE */
	if (!S_ISREG(op->st.st_mode))
		return -1;
	size = (uint64_t)op->st.st_size;
	if (s->at > size || s->left > size - s->at)
		op->flags = SFTP_EOF;
	s->sparse = fd_stat_has_holes(&op->st);
	s->begun = true;
	return 0;
}

static int
sum_of(const struct serve_sums *s, const uint8_t *p, size_t len,
    uint8_t out[BLOCK_SUM_BYTES])
{
	wire_put_u32(out, block_sum_weak(s->factor, 0, p, len));
	errno = EIO; /* no Poly1305 */
	return block_sum_strong(s->poly, s->seed, p, len, out + 4) != 0 ? -1 :
									  0;
}

static int
put_sum(struct serve_op *op, size_t len, const uint8_t sum[BLOCK_SUM_BYTES])
{
	buf_put(&op->data, sum, BLOCK_SUM_BYTES);
	op->sums->at += len;
	op->sums->left -= len;
	return buf_err(&op->data) != 0 ? -1 : 0;
}

/* Answers for a block that is all hole without reading it. 1: done; 0: it is
 * not; -1: error. */
static int
pass_hole(struct serve_op *op)
{
	struct serve_sums *s = op->sums;

	if (!s->sparse || s->left < s->block ||
	    !fd_is_hole(op->own.fd, s->at, s->block))
		return 0;
	if (!s->zeros_known) {
		memset(s->bytes, 0, s->block);
		if (sum_of(s, s->bytes, s->block, s->of_zeros) != 0)
			return -1;
		s->zeros_known = true;
	}
	return put_sum(op, s->block, s->of_zeros) != 0 ? -1 : 1;
}

/* Reads blocks and puts their sums. In a file with holes, one block is read at
 * a time. */
static int
next_blocks(struct serve_op *op, size_t *did)
{
	struct serve_sums *s = op->sums;
	size_t len = (size_t)MIN(s->sparse ? s->block : (uint64_t)s->room,
	    s->left), one;
	uint8_t sum[BLOCK_SUM_BYTES];
	ssize_t n = fd_pread_all(op->own.fd, s->bytes, len, s->at);

	if (n < 0)
		return -1;
	if ((size_t)n < len) {
		op->flags = SFTP_EOF; /* the file has become shorter */
		return 0;
	}
	for (size_t at = 0; at < len; at += one) {
		one = MIN((size_t)s->block, len - at);
		if (sum_of(s, s->bytes + at, one, sum) != 0 ||
		    put_sum(op, one, sum) != 0)
			return -1;
	}
	*did += len;
	return 0;
}

static int
run_sums(struct serve_op *op)
{
	struct serve_sums *s = op->sums;

	if (!s->begun && begin(op) != 0)
		return -1;
	return serve_slice_blocks(op, &s->left, pass_hole, next_blocks);
}

static void
done_sums(struct sftp_serve *s, struct serve_op *op)
{
	if (op->error == 0 && op->flags != 0)
		serve_status(s, op->id, (uint32_t)op->flags);
	else
		serve_done_data(s, op);
}

/* Reads the fields of the request. ERR_FORMAT: they are outside of what
 * docs/SFTP.md allows. */
static int
read_fields(struct serve_sums *sums, struct rd *r)
{
	struct span seed;

	sums->at = rd_u64(r);
	sums->left = rd_u64(r);
	sums->block = rd_u32(r);
	seed = rd_string(r);
	if (rd_err(r) < 0)
		return rd_err(r);
	if (seed.len != BLOCK_SUM_SEED || !block_sum_size_valid(sums->block) ||
	    sums->left == 0 || sums->left > BLOCK_SUM_RANGE_MAX ||
	    (sums->left - 1) / sums->block >= SUMS_MAX)
		return ERR_FORMAT;
	memcpy(sums->seed, seed.p, BLOCK_SUM_SEED);
	sums->factor = block_sum_factor(sums->seed);
	return 0;
}

/* Reads the fields behind the path or the handle, and allocates what the sums
 * need. */
static int
prepare(struct serve_op *op, struct rd *r)
{
	struct serve_sums *sums = op->sums = calloc(1, sizeof *sums);
	int err = sums != NULL ? read_fields(sums, r) : ERR_NOMEM;

	if (err < 0)
		return err;
	sums->room = MAX((size_t)sums->block, (size_t)AT_ONCE);
	if ((sums->bytes = malloc(sums->room)) == NULL)
		return ERR_NOMEM;
	op->duration = SERVE_LONG;
	op->done = done_sums;
	return 0;
}

int
serve_block_sums(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err = prepare(op, r);

	if (err < 0)
		return err;
	if (h == NULL || poly1305_new(&op->sums->poly) != 0 ||
	    (op->own.fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_info(s, "block-sums \"%s\"", h->path);
	serve_touch_handle(s, op, h, false);
	op->run = run_sums;
	return 0;
}

int
serve_block_sums_name(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err;

	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	if ((err = prepare(op, r)) < 0)
		return err;
	if (poly1305_new(&op->sums->poly) != 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_info(s, "block-sums name \"%s\"", op->path);
	op->run = run_sums;
	return 0;
}
