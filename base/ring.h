/* SPDX-License-Identifier: ISC */
/*
 * An ordered ring of jobs: one thread posts them and collects them in the
 * same order; in between any thread may take the next one and finish it
 * whenever it likes. No locks, no allocation once it is made.
 *
 *	free -> filled by the loop -> ready -> taken -> done -> free
 *
 * A slot of the ring holds one job, of the size that the user says; it is
 * zeroed at first, and later as the job before left it. It belongs to the
 * loop thread while free or done, to nobody while ready, and to the thread
 * that took it until finished.
 *
 * Threads: next, post, oldest, release, pending and await are for one thread,
 * the loop; take, finish and has_ready for any.
 */
#ifndef HPN_BASE_RING_H
#define HPN_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct ring;

/* Life. slots is a power of two. NULL when memory is out. Nobody may hold
 * a job any more when it is freed; the slots' memory is wiped. */
struct ring *ring_new(size_t slots, size_t job_size);
void ring_free(struct ring *r);

/* Posting. The slot of the next job, NULL if the ring is full; then the same
 * slot made ready. */
void *ring_next(struct ring *r);
void ring_post(struct ring *r);

/* Collecting. The oldest job if it is done, else NULL; then its slot given
 * back. */
void *ring_oldest(struct ring *r);
void ring_release(struct ring *r);
/* Jobs posted and not released. */
size_t ring_pending(const struct ring *r);
/* True if the oldest job is not done: then whoever finishes it is told to
 * wake the loop. False if there is something to collect, or nothing at all. */
bool ring_await(struct ring *r);

/* Working. The next ready job, NULL if there is none; ticket is for finish.
 * finish returns true if the loop waits for just this job. */
void *ring_take(struct ring *r, size_t *ticket);
bool ring_finish(struct ring *r, size_t ticket);
bool ring_has_ready(struct ring *r);

#endif
