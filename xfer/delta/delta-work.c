/* SPDX-License-Identifier: ISC */
/*
 * Does the search in steps. In each, a thread reads some MiB of the file,
 * searches them, and for a download writes the blocks that it has found to the
 * part. With one processor there are no threads, and the loop does a small step
 * in each turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "xfer/delta/delta-internal.h"

enum {
	THREADS_MAX = 2,
	JOBS_MAX = 64,
	STEP = 16 * 1024 * 1024,
	STEP_LOOP = 1024 * 1024, /* without threads */
	READ_MIN = 1024 * 1024,
};

/* ---- a step ------------------------------------------------------------- */

/* Reads more of the file, until the buffer is full or the file ends. False: it
 * cannot be read. */
static bool
read_on(struct delta_work *w)
{
	uint64_t left = w->size - w->read_at;
	ssize_t n;

	if (w->from > 0)
		memmove(w->bytes, w->bytes + w->from, w->have);
	w->from = 0;
	n = fd_pread(w->fd, w->bytes + w->have,
	    (size_t)MIN(left, (uint64_t)(w->room - w->have)), w->read_at);
	if (n < 0)
		return false;
	if (n == 0)
		w->size = w->read_at; /* it has become shorter */
	w->have += (size_t)n;
	w->read_at += (uint64_t)n;
	return true;
}

static bool
write_block(struct delta_work *w, uint32_t i, const uint8_t *p)
{
	uint32_t block = w->sums->block;

	if (fd_pwrite_all(w->part_fd, p, block, (uint64_t)i * block) != 0)
		return false;
	w->got[i] = true;
	w->wrote += block;
	return true;
}

/* Writes a block of the basis to all places of the new file that have an equal
 * one. Equal blocks are all written, or none is. */
static bool
write_found(struct delta_work *w, uint32_t i, const uint8_t *p)
{
	uint32_t at = i;

	if (w->got[i])
		return true;
	do {
		if (!write_block(w, at, p))
			return false;
		at = w->sums->same[at];
	} while (at != i);
	return true;
}

/* Writes the blocks of all runs from the run `from` on; p: the bytes of the
 * scan, which begin at offset `at`. */
static bool
write_runs(struct delta_work *w, uint32_t from, uint64_t at, const uint8_t *p)
{
	for (uint32_t i = from; i < w->search->runs; i++) {
		const struct delta_run *r = &w->search->run[i];

		for (uint32_t n = 0; n < r->count; n++)
			if (!write_found(w, r->block + n, p + (r->at - at) +
				(size_t)n * w->sums->block))
				return false;
	}
	return true;
}

/* Scans the buffer. For a download, the runs are written at once, and the list
 * begins anew with each scan. False: the search cannot go on. */
static bool
scan(struct delta_work *w, size_t *did)
{
	const uint8_t *p = w->bytes + w->from;
	uint64_t at = w->search->at;

	if (!w->up)
		w->search->runs = 0;
	*did = delta_search_scan(w->search, p, w->have);
	if (!w->up && !write_runs(w, 0, at, p))
		return false;
	w->from += *did;
	w->have -= *did;
	return true;
}

static void
run_step(struct delta_work *w)
{
	size_t sum = 0, did;

	w->search->runs = 0;
	w->wrote = 0;
	while (sum < w->step) {
		if (!scan(w, &did)) {
			w->ended = true;
			return;
		}
		sum += did;
		if (w->search->runs == DELTA_RUNS_MAX)
			return;
		if (did > 0)
			continue;
		w->ended = w->read_at >= w->size || !read_on(w);
		if (w->ended)
			return;
	}
}

/* ---- jobs --------------------------------------------------------------- */

struct job {
	struct xfer_delta *delta;
};

static void
run(void *job, void **local)
{
	(void)local;
	run_step(&((struct job *)job)->delta->work);
}

static void
wake(void *arg)
{
	(void)arg;
}

struct xfer_deltas *
delta_pool_new(void)
{
	struct xfer_deltas *p = calloc(1, sizeof *p);
	struct worker_conf conf = { .run = run, .wake = wake,
		.threads = MIN(worker_cpus() - 1, (size_t)THREADS_MAX) };

	if (p == NULL)
		return NULL;
	TAILQ_INIT(&p->active);
	p->jobs = conf.rings[0] = ring_new(JOBS_MAX, sizeof(struct job));
	if (p->jobs == NULL) {
		free(p);
		return NULL;
	}
	if (conf.threads > 0)
		(void)!worker_start(&p->pool, &conf);
	return p;
}

void
delta_pool_free(struct xfer_deltas *p)
{
	if (p == NULL)
		return;
	worker_stop(p->pool);
	ring_free(p->jobs);
	free(p);
}

bool
delta_work_begin(struct delta_work *w, const struct xfer_deltas *p)
{
	w->room = MAX((size_t)READ_MIN, (size_t)2 * w->sums->block);
	w->step = p->pool != NULL ? STEP : STEP_LOOP;
	w->bytes = malloc(w->room);
	if (!w->up)
		w->got = calloc(w->sums->count, sizeof *w->got);
	if (w->bytes == NULL || (!w->up && w->got == NULL) ||
	    !delta_sums_index(w->sums))
		return false;
	w->search = delta_search_new(w->sums);
	return w->search != NULL;
}

void
delta_work_clear(struct delta_work *w)
{
	fd_close(&w->fd);
	fd_close(&w->part_fd);
	delta_sums_free(w->sums);
	delta_search_free(w->search);
	free(w->bytes);
	free(w->got);
	*w = (struct delta_work){ .fd = -1, .part_fd = -1 };
}

/* Gives a step of d to the threads. The ring has room, because it has a place
 * for each file that can be searched at a time. */
void
delta_work_post(struct xfer_deltas *p, struct xfer_delta *d)
{
	struct job *j = ring_next(p->jobs);

	ENSURE(j != NULL);
	j->delta = d;
	d->work.posted = true;
	ring_post(p->jobs);
	if (p->pool != NULL)
		worker_kick(p->pool);
}

struct xfer_delta *
delta_work_done(struct xfer_deltas *p, bool wait)
{
	struct xfer_delta *d;
	struct job *j;
	size_t ticket;

	if (p->pool == NULL && (j = ring_take(p->jobs, &ticket)) != NULL) {
		run(j, NULL);
		(void)ring_finish(p->jobs, ticket);
	}
	j = wait && p->pool != NULL ? worker_wait(p->pool, p->jobs) :
				      ring_oldest(p->jobs);
	if (j == NULL)
		return NULL;
	d = j->delta;
	ring_release(p->jobs);
	d->work.posted = false;
	return d;
}

size_t
delta_work_pending(const struct xfer_deltas *p)
{
	return ring_pending(p->jobs);
}
