/* SPDX-License-Identifier: ISC */
/*
 * Digests of this end, to be compared with those of the other one. With
 * several processors threads compute them, so that data moves meanwhile; with
 * one processor the loop computes one digest in each turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "crypto/digest.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	THREADS_MAX = 2,
	POLL_MS = 2, /* the loop looks this often: a thread that is done does
		      * not wake it */
};

struct xfer_digest_job {
	struct xfer_block *block;
	int fd;
	uint64_t offset;
	uint32_t len;
	uint8_t theirs[XFER_DIGEST_BYTES];
	bool same;
};

struct xfer_digests {
	struct ring *jobs;
	struct worker_pool *pool; /* NULL: the loop computes the digests */
	bool zeros_known;
	uint8_t of_zeros[XFER_DIGEST_BYTES];
};

static bool
same_digest(const struct xfer_digest_job *j)
{
	uint8_t bytes[64 * 1024], ours[DIGEST_MAX_LEN];
	struct digest *d;
	uint32_t at = 0;
	ssize_t n;

	if (digest_new(&d, DIGEST_SHA256) != 0)
		return false;
	while (at < j->len) {
		n = fd_pread(j->fd, bytes,
		    MIN(j->len - at, (uint32_t)sizeof bytes), j->offset + at);
		if (n <= 0 || digest_update(d, bytes, (size_t)n) != 0)
			break;
		at += (uint32_t)n;
	}
	if (at < j->len || digest_final(d, ours) != 0)
		at = 0;
	digest_free(d);
	return at != 0 && memcmp(ours, j->theirs, XFER_DIGEST_BYTES) == 0;
}

static void
run(void *job, void **local)
{
	struct xfer_digest_job *j = job;

	(void)local;
	j->same = same_digest(j);
}

static void
wake(void *arg)
{
	(void)arg;
}

static bool
start(struct xfer *x)
{
	struct xfer_digests *d = calloc(1, sizeof *d);
	struct worker_conf conf = { .run = run, .wake = wake,
		.threads = MIN(worker_cpus() - 1, (size_t)THREADS_MAX) };

	if (d == NULL)
		return false;
	d->jobs = conf.rings[0] = ring_new(XFER_DIGESTS_MAX,
	    sizeof(struct xfer_digest_job));
	if (d->jobs == NULL) {
		free(d);
		return false;
	}
	if (conf.threads > 0)
		(void)!worker_start(&d->pool, &conf);
	x->digests = d;
	return true;
}

bool
xfer_digest_post(struct xfer_block *b, uint64_t offset, uint32_t len,
    const uint8_t *theirs)
{
	struct xfer_file *f = b->handle->file;
	struct xfer_digest_job *j;

	if (f->x->digests == NULL && !start(f->x))
		return false;
	j = ring_next(f->x->digests->jobs);
	if (j == NULL)
		return false;
	j->block = b;
	j->fd = f->fd;
	j->offset = offset;
	j->len = len;
	memcpy(j->theirs, theirs, XFER_DIGEST_BYTES);
	ring_post(f->x->digests->jobs);
	return true;
}

/* The digest of a block of zeros. It is computed once and kept in d. */
static const uint8_t *
of_zeros(struct xfer_digests *d)
{
	uint8_t out[DIGEST_MAX_LEN], *zeros;

	if (d->zeros_known)
		return d->of_zeros;
	zeros = calloc(1, XFER_DIGEST_BLOCK);
	if (zeros != NULL &&
	    digest_once(DIGEST_SHA256, zeros, XFER_DIGEST_BLOCK, out) == 0) {
		memcpy(d->of_zeros, out, XFER_DIGEST_BYTES);
		d->zeros_known = true;
	}
	free(zeros);
	return d->zeros_known ? d->of_zeros : NULL;
}

bool
xfer_digest_of_hole(struct xfer_file *f, uint64_t offset, uint32_t len,
    const uint8_t *theirs, bool *same)
{
	const uint8_t *ours;

	if (!f->compare.sparse || len != XFER_DIGEST_BLOCK ||
	    !fd_is_hole(f->fd, offset, len) ||
	    (f->x->digests == NULL && !start(f->x)) ||
	    (ours = of_zeros(f->x->digests)) == NULL)
		return false;
	*same = memcmp(ours, theirs, XFER_DIGEST_BYTES) == 0;
	return true;
}

void
xfer_digest_kick(struct xfer *x)
{
	if (x->digests != NULL && x->digests->pool != NULL)
		worker_kick(x->digests->pool);
}

/* Computes one digest in the loop. */
static void
make_one(struct xfer_digests *d)
{
	size_t ticket;
	struct xfer_digest_job *j = ring_take(d->jobs, &ticket);

	if (j == NULL)
		return;
	run(j, NULL);
	(void)ring_finish(d->jobs, ticket);
}

static void
collect(struct xfer_digests *d, const struct xfer_digest_job *job)
{
	const struct xfer_digest_job j = *job;

	ring_release(d->jobs);
	xfer_compared(j.block, j.offset, j.len, j.same);
}

void
xfer_digest_collect(struct xfer *x)
{
	struct xfer_digests *d = x->digests;
	struct xfer_digest_job *j;

	if (d == NULL)
		return;
	if (d->pool == NULL)
		make_one(d);
	while ((j = ring_oldest(d->jobs)) != NULL)
		collect(d, j);
}

void
xfer_digest_drain(struct xfer *x)
{
	struct xfer_digests *d = x->digests;
	struct xfer_digest_job *j;

	while (d != NULL && ring_pending(d->jobs) > 0) {
		if (d->pool == NULL)
			make_one(d);
		j = d->pool != NULL ? worker_wait(d->pool, d->jobs) :
				      ring_oldest(d->jobs);
		if (j != NULL)
			collect(d, j);
	}
}

int
xfer_digest_wait_ms(const struct xfer *x)
{
	if (x->digests == NULL || ring_pending(x->digests->jobs) == 0)
		return -1;
	return x->digests->pool != NULL ? POLL_MS : 0;
}

void
xfer_digest_free(struct xfer *x)
{
	if (x->digests == NULL)
		return;
	worker_stop(x->digests->pool);
	ring_free(x->digests->jobs);
	free(x->digests);
	x->digests = NULL;
}
