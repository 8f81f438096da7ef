/* SPDX-License-Identifier: ISC */
/*
 * check-file (draft-ietf-secsh-filexfer-extensions-00) and the extensions
 * under @hpnssh.org; docs/SFTP.md says what is on the wire.
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
#include "compat/file.h"
#include "crypto/digest.h"
#include "xfer/serve/sftp-serve-internal.h"

enum {
	HASH_BLOCK_MIN = 256,	     /* bytes, section 3 of the draft */
	HASH_BYTES_MAX = SFTP_DATA_MAX, /* bytes of all digests in one reply */
	HASH_READ = 256 * 1024,
	EXTENTS_MAX = 1024,
	NSEC_MAX = 999999999,
};

/* ---- check-file --------------------------------------------------------- */

/* The digest algorithms on offer. The best one is first, for clients that take
 * the first. */
const char serve_hash_algs[] =
    "sha256,sha512,sha384,sha224,sha1,md5,blake2b-512";

struct serve_hash {
	enum digest_alg alg;
	char *alg_name;
	struct digest *digest; /* of the block that is being read, or NULL */
	uint64_t at, left;     /* bytes */
	uint64_t block, block_left; /* bytes; block 0: one digest of the whole
				     * range */
	bool begun;
	uint8_t *bytes; /* HASH_READ */
	bool sparse;	/* holes of the file are not read */
	bool zeros_known;
	uint8_t of_zeros[DIGEST_MAX_LEN]; /* digest of a block of zeros, if
					   * known */
};

void
serve_hash_free(struct serve_hash *h)
{
	if (h == NULL)
		return;
	digest_free(h->digest);
	free(h->alg_name);
	free(h->bytes);
	free(h);
}

/* Chooses the first algorithm of a comma list that this program has. False:
 * there is none, or no memory. */
static bool
choose(struct serve_hash *h, const char *list)
{
	char *all = strdup(list), *rest = all, *name;
	struct digest *try;
	int alg;

	while (all != NULL && h->alg_name == NULL &&
	    (name = strsep(&rest, ",")) != NULL) {
		alg = digest_parse(name);
		if (alg < 0 || digest_new(&try, (enum digest_alg)alg) != 0)
			continue;
		digest_free(try);
		h->alg = (enum digest_alg)alg;
		h->alg_name = strdup(name);
	}
	free(all);
	return h->alg_name != NULL;
}

/* Opens the file if the request names a path, and determines the range.
 * op->flags gets an SFTP status if the range is not in the file, or has too
 * many blocks. */
static int
begin_hash(struct serve_op *op)
{
	struct serve_hash *h = op->hash;
	uint64_t size, blocks;

	if (op->own.fd < 0) {
		op->own.fd = serve_open_at(op, op->path, O_RDONLY |
			O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
		if (op->own.fd < 0)
			return -1;
	}
	if (fstat(op->own.fd, &op->st) != 0)
		return -1;
	errno = EIO; /* EIO is sent as SFTP_FAILURE */
	if (!S_ISREG(op->st.st_mode))
		return -1;
	size = (uint64_t)op->st.st_size;
	if (h->at > size || h->left > size - h->at) {
		op->flags = SFTP_EOF;
		return 0;
	}
	if (h->left == 0)
		h->left = size - h->at;
	blocks = h->block == 0 ? 1 :
				 h->left / h->block + (h->left % h->block != 0);
	if (blocks > HASH_BYTES_MAX / digest_len(h->alg)) {
		op->flags = SFTP_FAILURE;
		return 0;
	}
	h->block_left = h->block != 0 ? h->block : UINT64_MAX;
	h->sparse = h->block != 0 && h->block <= SERVE_SLICE &&
	    fd_stat_has_holes(&op->st);
	h->begun = true;
	return 0;
}

static int
end_block(struct serve_op *op)
{
	struct serve_hash *h = op->hash;
	uint8_t out[DIGEST_MAX_LEN];

	if (h->digest == NULL && h->block != 0)
		return 0; /* the range ended with a block */
	if (h->digest == NULL && digest_new(&h->digest, h->alg) != 0)
		return -1;
	if (digest_final(h->digest, out) != 0)
		return -1;
	digest_free(h->digest);
	h->digest = NULL;
	buf_put(&op->data, out, digest_len(h->alg));
	h->block_left = h->block;
	return buf_err(&op->data) != 0 ? -1 : 0;
}

static int
hash_zeros(struct serve_hash *h)
{
	uint8_t *zeros = calloc(1, h->block);
	int r = zeros != NULL ?
	    digest_once(h->alg, zeros, h->block, h->of_zeros) : -1;

	free(zeros);
	h->zeros_known = r == 0;
	return r == 0 ? 0 : -1;
}

/* If the next block is a hole, appends the digest of zeros without reading it.
 * 1: it did; 0: the block is no hole; -1: error. */
static int
pass_hole(struct serve_op *op)
{
	struct serve_hash *h = op->hash;

	if (!h->sparse || h->digest != NULL || h->left < h->block ||
	    !fd_is_hole(op->own.fd, h->at, h->block))
		return 0;
	if (!h->zeros_known && hash_zeros(h) != 0)
		return -1;
	buf_put(&op->data, h->of_zeros, digest_len(h->alg));
	h->at += h->block;
	h->left -= h->block;
	return buf_err(&op->data) != 0 ? -1 : 1;
}

static int
hash_some(struct serve_op *op, size_t *did)
{
	struct serve_hash *h = op->hash;
	uint64_t want = MIN(h->left, (uint64_t)HASH_READ), part;
	const uint8_t *p = h->bytes;
	ssize_t n = fd_pread(op->own.fd, h->bytes, (size_t)want, h->at);

	if (n < 0)
		return -1;
	if (n == 0) {
		op->flags = SFTP_EOF; /* the file has become shorter */
		return 0;
	}
	*did += (size_t)n;
	h->at += (uint64_t)n;
	h->left -= (uint64_t)n;
	for (; n > 0; n -= (ssize_t)part, p += part) {
		part = MIN((uint64_t)n, h->block_left);
		if ((h->digest == NULL &&
			digest_new(&h->digest, h->alg) != 0) ||
		    digest_update(h->digest, p, (size_t)part) != 0)
			return -1;
		h->block_left -= part;
		if (h->block_left == 0 && end_block(op) != 0)
			return -1;
	}
	return 0;
}

/* Runs a slice of a digest. When the loop collects it, it posts the next slice,
 * so that a digest takes turns with other requests. */
static int
run_hash(struct serve_op *op)
{
	struct serve_hash *h = op->hash;

	if (!h->begun && begin_hash(op) != 0)
		return -1;
	if (serve_slice_blocks(op, &h->left, pass_hole, hash_some) != 0)
		return -1;
	return op->flags == 0 && !op->slice.unfinished ? end_block(op) : 0;
}

static void
done_hash(struct sftp_serve *s, struct serve_op *op)
{
	const struct serve_hash *h = op->hash;
	size_t mark;

	if (h->zeros_known) { /* the next request likely has the same block
			       * size */
		s->zeros.alg = h->alg;
		s->zeros.block = h->block;
		memcpy(s->zeros.digest, h->of_zeros, sizeof s->zeros.digest);
	}
	if (op->error != 0) {
		serve_done_status(s, op);
	} else if (op->flags == SFTP_FAILURE) {
		serve_fail(s, op->id, SFTP_FAILURE,
		    "Too many blocks for one reply");
	} else if (op->flags != 0) {
		serve_status(s, op->id, (uint32_t)op->flags);
	} else {
		mark = serve_begin_reply(s, op->id);
		buf_put_cstring(&s->out, op->hash->alg_name);
		buf_put_buf(&s->out, &op->data);
		buf_close_string(&s->out, mark);
	}
}

/* Reads the fields of check-file behind the name or handle, and prepares op. */
static int
check_file(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_hash *h = op->hash = calloc(1, sizeof *h);
	char *list = rd_cstring(r, SFTP_PATH_MAX);
	int err;

	if (h == NULL || (h->bytes = malloc(HASH_READ)) == NULL)
		rd_fail(r, ERR_NOMEM);
	if (h != NULL) {
		h->at = rd_u64(r);
		h->left = rd_u64(r);
		h->block = rd_u32(r);
	}
	err = rd_err(r);
	if (err == 0 && h->block != 0 && h->block < HASH_BLOCK_MIN)
		err = ERR_FORMAT;
	if (err == 0 && !choose(h, list)) {
		serve_fail(s, op->id, SFTP_FAILURE,
		    "No hash algorithm in common");
	} else if (err == 0) {
		h->zeros_known = s->zeros.block == h->block && h->block != 0 &&
		    s->zeros.alg == h->alg;
		if (h->zeros_known)
			memcpy(h->of_zeros, s->zeros.digest,
			    sizeof h->of_zeros);
		if (h->left == 0 || h->left > HASH_READ)
			op->duration = SERVE_LONG;
		op->run = run_hash;
		op->done = done_hash;
	}
	free(list);
	return err;
}

int
serve_check_file_name(struct sftp_serve *s, struct serve_op *op,
    struct rd *r)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_info(s, "check-file name \"%s\"", op->path);
	return check_file(s, op, r);
}

int
serve_check_file_handle(struct sftp_serve *s, struct serve_op *op,
    struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL || (op->own.fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_info(s, "check-file \"%s\"", h->path);
	serve_touch_handle(s, op, h, false);
	return check_file(s, op, r);
}

/* ---- times -------------------------------------------------------------- */

static int
run_times(struct serve_op *op)
{
	return futimens(op->file.fd, op->times);
}

void
serve_get_time(struct rd *r, struct timespec *ts)
{
	uint32_t nsec;

	ts->tv_sec = (time_t)(int64_t)rd_u64(r);
	nsec = rd_u32(r);
	if (nsec > NSEC_MAX)
		rd_fail(r, ERR_FORMAT);
	ts->tv_nsec = (long)nsec;
}

int
serve_times_ns(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err;

	serve_get_time(r, &op->times[0]);
	serve_get_time(r, &op->times[1]);
	if ((err = serve_check_handle(s, op, r, h, SFTP_FAILURE)) <= 0)
		return err;
	serve_log_times(s, h->path, op->times[1].tv_sec);
	serve_touch_handle(s, op, h, true);
	op->run = run_times;
	op->done = serve_done_status;
	return 0;
}

static int
run_times_name(struct serve_op *op)
{
	struct serve_place p;
	int r = serve_at(op, op->path, &p);

	if (r == 0)
		r = utimensat(p.at, p.name, op->times, AT_SYMLINK_NOFOLLOW);
	serve_leave(&p);
	return r;
}

int
serve_times_ns_name(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	serve_get_time(r, &op->times[0]);
	serve_get_time(r, &op->times[1]);
	if (op->path == NULL || rd_err(r) < 0)
		return rd_err(r);
	serve_log_times(s, op->path, op->times[1].tv_sec);
	op->order.changes = true;
	op->run = run_times_name;
	op->done = serve_done_status;
	return 0;
}

static void
put_time(struct buf *b, const struct timespec *ts)
{
	buf_put_u64(b, (uint64_t)ts->tv_sec);
	buf_put_u32(b, (uint32_t)ts->tv_nsec);
}

void
serve_put_stat_ns(struct buf *b, const struct stat *st)
{
	put_time(b, &st->FILE_ATIME);
	put_time(b, &st->FILE_MTIME);
	buf_put_u32(b, (uint32_t)st->st_nlink);
	buf_put_u64(b, st->st_dev);
	buf_put_u64(b, st->st_ino);
	buf_put_u64(b, (uint64_t)st->st_blocks);
}

/* True if the file's data are elsewhere, as on a tape. This depends on the file
 * system. To ask for that a file without blocks is opened, but not read. */
static bool
is_away(const struct serve_op *op)
{
	struct stat now;
	bool away;
	int fd;

	if (!S_ISREG(op->st.st_mode) || op->st.st_blocks != 0 ||
	    op->st.st_size == 0)
		return false;
	fd = serve_open_at(op, op->path, FILE_HANDLE | O_CLOEXEC, 0);
	away = fd >= 0 && fstat(fd, &now) == 0 &&
	    now.st_ino == op->st.st_ino && now.st_dev == op->st.st_dev &&
	    file_is_away(fd, &op->st);
	fd_close(&fd);
	return away;
}

static int
run_stat_ns(struct serve_op *op)
{
	if (serve_stat_at(op, op->path, op->flags != 0, &op->st) != 0)
		return -1;
	if (is_away(op))
		op->st.st_blocks = -1;
	serve_put_stat_ns(&op->data, &op->st);
	return 0;
}

int
serve_stat_ns(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	uint32_t follow;
	int err;

	op->path = serve_get_path(s, r);
	follow = rd_u32(r);
	if ((err = rd_err(r)) < 0)
		return err;
	serve_verbose(s, "stat-ns name \"%s\"", op->path);
	op->flags = follow != 0;
	op->run = run_stat_ns;
	op->done = serve_done_data;
	return 0;
}

/* ---- holes -------------------------------------------------------------- */

/* Appends extents of data to op->data, and counts them in op->count. op->flags
 * is 1 if there are more than EXTENTS_MAX. */
static int
run_sparse_map(struct serve_op *op)
{
	off_t at = (off_t)op->file.offset, end;

	for (;;) {
		at = lseek(op->file.fd, at, SEEK_DATA);
		if (at < 0)
			return errno == ENXIO ? 0 : -1; /* a hole to the end */
		op->flags = op->count == EXTENTS_MAX;
		if (op->flags)
			return 0;
		end = lseek(op->file.fd, at, SEEK_HOLE);
		if (end < 0)
			return errno == ENXIO ? 0 : -1;
		buf_put_u64(&op->data, (uint64_t)at);
		buf_put_u64(&op->data, (uint64_t)(end - at));
		op->count++;
		at = end;
	}
}

static void
done_sparse_map(struct sftp_serve *s, struct serve_op *op)
{
	size_t mark;

	if (op->error != 0 || buf_err(&op->data) != 0) {
		serve_done_status(s, op);
		return;
	}
	mark = serve_begin_reply(s, op->id);
	buf_put_u32(&s->out, (uint32_t)op->count);
	buf_put_buf(&s->out, &op->data);
	buf_put_u8(&s->out, (uint8_t)op->flags);
	buf_close_string(&s->out, mark);
}

int
serve_sparse_map(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err;

	op->file.offset = rd_u64(r);
	if ((err = rd_err(r)) < 0)
		return err;
	if (h == NULL || op->file.offset > INT64_MAX) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_touch_handle(s, op, h, false);
	op->run = run_sparse_map;
	op->done = done_sparse_map;
	return 0;
}
