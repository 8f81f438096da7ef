/* SPDX-License-Identifier: ISC */
/*
 * The directory of a job. Only its owner may write there, because the words of
 * the plan are run: whoever could change it could have anything copied or
 * deleted. Files appear in one step, whole. The directory is a job once it has
 * the file `plan`, which is written last, so a --plan that was killed leaves
 * none.
 *
 *  plan       the directory and the words of the command; of each shard the
 *             number of names, their bytes, and the digest of its file;
 *             the last 32 bytes are the SHA-256 of all before
 *  shard-0001 names of files, each with a NUL behind it
 *  done-0001  the plan's digest and the exit status
 */
#include "client/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/wire.h"
#include "crypto/digest.h"

#define LABEL "hpnsync job"

enum {
	VERSION = 1,
	PLAN_MAX = 4 << 20, /* bytes */
	WORDS_MAX = 65536,  /* of a command */
	WORD_MAX = 1 << 20, /* bytes */
};

/* ---- files --------------------------------------------------------------- */

int
job_make(const char *path, int *dir)
{
	*dir = -1;
	if (mkdir(path, 0700) == -1)
		return ERR_SYSTEM;
	return job_open(path, dir);
}

int
job_open(const char *path, int *dir)
{
	struct stat st;

	*dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*dir == -1 || fstat(*dir, &st) == -1)
		return ERR_SYSTEM;
	if (st.st_uid == geteuid() && (st.st_mode & 022) == 0)
		return 0;
	fd_close(dir);
	return ERR_PERMISSION;
}

int
job_file(int dir, const char *name, int flags)
{
	return openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    0600);
}

int
job_put(int dir, const char *name, const void *p, size_t len)
{
	char part[2 * JOB_NAME_MAX];
	int fd, r, error;

	/* Processes that write the same file at once each use a temporary name
	 * of their own. */
	snprintf(part, sizeof part, "%s.%ld.part", name, (long)getpid());
	fd = job_file(dir, part, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd == -1)
		return ERR_SYSTEM;
	r = fd_write_all(fd, p, len);
	if (r == 0 && (fsync(fd) == -1 || renameat(dir, part, dir, name) == -1))
		r = ERR_SYSTEM;
	error = errno;
	fd_close(&fd);
	if (r != 0)
		(void)unlinkat(dir, part, 0);
	errno = error;
	return r;
}

bool
job_is_gone(int error)
{
	return error == ENOENT || error == ESTALE;
}

int
job_digest(int fd, uint8_t digest[JOB_DIGEST])
{
	struct digest *d = NULL;
	uint8_t block[65536];
	uint64_t at = 0;
	ssize_t n = 0;
	int r = digest_new(&d, DIGEST_SHA256);

	while (r == 0 && (n = fd_pread(fd, block, sizeof block, at)) > 0) {
		r = digest_update(d, block, (size_t)n);
		at += (uint64_t)n;
	}
	if (r == 0 && n < 0)
		r = ERR_SYSTEM;
	if (r == 0)
		r = digest_final(d, digest);
	digest_free(d);
	return r;
}

void
job_list_name(char name[JOB_NAME_MAX], uint32_t shard)
{
	snprintf(name, JOB_NAME_MAX, "shard-%04u", (unsigned)shard);
}

/* ---- the plan ------------------------------------------------------------ */

static void
put_plan(struct buf *b, const struct job_plan *p)
{
	buf_put_cstring(b, LABEL);
	buf_put_u32(b, VERSION);
	buf_put_cstring(b, p->cwd);
	buf_put_u32(b, (uint32_t)p->argv.n);
	for (size_t i = 0; i < p->argv.n; i++)
		buf_put_cstring(b, p->argv.v[i]);
	buf_put_u32(b, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct job_shard *s = &p->shards[i];

		buf_put_u64(b, s->names);
		buf_put_u64(b, s->bytes);
		buf_put(b, s->digest, sizeof s->digest);
	}
}

int
job_put_plan(int dir, const struct job_plan *p)
{
	uint8_t digest[JOB_DIGEST];
	struct buf b;
	int r;

	buf_init(&b);
	buf_set_max(&b, PLAN_MAX);
	put_plan(&b, p);
	if ((r = buf_err(&b)) == 0)
		r = digest_once(DIGEST_SHA256, buf_data(&b), buf_len(&b),
		    digest);
	buf_put(&b, digest, sizeof digest);
	if (r == 0 && (r = buf_err(&b)) == 0)
		r = job_put(dir, "plan", buf_data(&b), buf_len(&b));
	if (r == 0 && fsync(dir) == -1)
		r = ERR_SYSTEM;
	buf_clear(&b);
	return r;
}

static int
take_words(struct rd *r, struct strlist *words)
{
	uint32_t n = rd_u32(r);

	if (rd_err(r) == 0 && n > WORDS_MAX)
		rd_fail(r, ERR_LIMIT);
	for (uint32_t i = 0; rd_err(r) == 0 && i < n; i++) {
		char *word = rd_cstring(r, WORD_MAX);

		if (word != NULL)
			xstrlist_add(words, word);
		free(word);
	}
	return rd_err(r);
}

static int
take_shards(struct rd *r, struct job_plan *p)
{
	p->n = rd_u32(r);
	if (rd_err(r) == 0 && (p->n == 0 || p->n > JOB_SHARDS_MAX))
		rd_fail(r, ERR_LIMIT);
	if (rd_err(r) != 0)
		return rd_err(r);
	p->shards = xcalloc(p->n, sizeof *p->shards);
	for (uint32_t i = 0; i < p->n; i++) {
		struct job_shard *s = &p->shards[i];
		struct span digest;

		s->names = rd_u64(r);
		s->bytes = rd_u64(r);
		digest = rd_bytes(r, sizeof s->digest);
		if (rd_err(r) != 0)
			break;
		memcpy(s->digest, digest.p, sizeof s->digest);
	}
	return rd_end(r);
}

static int
take_plan(struct rd r, struct job_plan *p)
{
	struct span label = rd_string(&r);
	uint32_t version = rd_u32(&r);

	if (rd_err(&r) != 0 || !span_equals(label, LABEL))
		return ERR_FORMAT;
	if (version != VERSION)
		return ERR_UNSUPPORTED;
	p->cwd = rd_cstring(&r, WORD_MAX);
	if (take_words(&r, &p->argv) != 0)
		return rd_err(&r);
	return take_shards(&r, p);
}

/* Reads a file of the job's directory that has at most max bytes.
 * ERR_PERMISSION: it is not this user's, or others may write to it. */
static int
get(int dir, const char *name, size_t max, struct buf *out)
{
	int fd = job_file(dir, name, O_RDONLY), r;
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		r = ERR_SYSTEM;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022) != 0)
		r = ERR_PERMISSION;
	else
		r = fd_read_file(fd, out, max);
	fd_close(&fd);
	return r;
}

int
job_get_plan(int dir, struct job_plan *p)
{
	uint8_t digest[JOB_DIGEST];
	struct buf b;
	size_t len;
	int r;

	buf_init(&b);
	*p = (struct job_plan){ .cwd = NULL };
	if ((r = get(dir, "plan", PLAN_MAX, &b)) == 0 &&
	    buf_len(&b) < sizeof digest)
		r = ERR_FORMAT;
	if (r == 0) {
		len = buf_len(&b) - sizeof digest;
		r = digest_once(DIGEST_SHA256, buf_data(&b), len, digest);
		if (r == 0 &&
		    memcmp(digest, buf_data(&b) + len, sizeof digest) != 0)
			r = ERR_FORMAT;
		if (r == 0)
			r = take_plan(rd_from(buf_data(&b), len), p);
		memcpy(p->digest, digest, sizeof digest);
	}
	buf_clear(&b);
	if (r != 0)
		job_clear_plan(p);
	return r;
}

void
job_clear_plan(struct job_plan *p)
{
	free(p->cwd);
	free(p->shards);
	strlist_clear(&p->argv);
	*p = (struct job_plan){ .cwd = NULL };
}

/* ---- marks --------------------------------------------------------------- */

static void
mark_name(char name[JOB_NAME_MAX], uint32_t shard)
{
	snprintf(name, JOB_NAME_MAX, "done-%04u", (unsigned)shard);
}

int
job_mark(int dir, const struct job_plan *p, uint32_t shard,
    int status)
{
	uint8_t mark[JOB_DIGEST + 1];
	char name[JOB_NAME_MAX];

	memcpy(mark, p->digest, JOB_DIGEST);
	mark[JOB_DIGEST] = (uint8_t)status;
	mark_name(name, shard);
	return job_put(dir, name, mark, sizeof mark);
}

bool
job_is_marked(int dir, const struct job_plan *p, uint32_t shard)
{
	char name[JOB_NAME_MAX];
	struct buf b;
	bool is;

	buf_init(&b);
	mark_name(name, shard);
	is = get(dir, name, JOB_DIGEST + 1, &b) == 0 &&
	    buf_len(&b) == JOB_DIGEST + 1 &&
	    memcmp(buf_data(&b), p->digest, JOB_DIGEST) == 0;
	buf_clear(&b);
	return is;
}
