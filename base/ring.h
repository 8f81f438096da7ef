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

/* Make and free a ring. slots is a power of two. NULL: out of memory. No thread
 * may have a job of a ring that is freed; the memory of its slots is wiped. */
struct ring *ring_new(size_t slots, size_t job_size);
void ring_free(struct ring *r);

/* Posting a job: ring_next() returns a free slot (NULL: the ring is full),
 * which the caller fills; ring_post() makes that slot ready. */
void *ring_next(struct ring *r);
void ring_post(struct ring *r);

/* Collecting a job: ring_oldest() returns the oldest job if it is done, else
 * NULL; ring_release() frees its slot. */
void *ring_oldest(struct ring *r);
void ring_release(struct ring *r);
/* The number of jobs that were posted and not released. */
size_t ring_pending(const struct ring *r);
/* Waiting for the oldest job. True: it is not done, and the thread that
 * finishes it will be told to wake the loop. False: it can be collected, or
 * there is no job. */
bool ring_await(struct ring *r);

/* Doing a job: ring_take() returns the next ready job (NULL: there is none) and
 * a ticket for ring_finish(), which returns true if the loop waits for this
 * very job. */
void *ring_take(struct ring *r, size_t *ticket);
bool ring_finish(struct ring *r, size_t ticket);
bool ring_has_ready(struct ring *r);

#endif
