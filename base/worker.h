/* SPDX-License-Identifier: ISC */
/*
 * Worker threads that do the jobs of one or two rings (base/ring.h). The
 * loop thread fills the rings and collects from them; a worker owns nothing
 * but the job that it has in hand and what it keeps for itself between jobs.
 *
 * Workers do not log, fork, or end the process; all signals are blocked in
 * them. A job that fails says so in the job.
 *
 * No thread lives across a fork(): a pool ends them before it, and starts
 * them again in the parent. In the child a pool has none; it can be stopped,
 * and its rings be worked off by the loop. A pool with over_forks is for jobs
 * that may stand still for long, as on a disk, and hold no lock that a child
 * could want (malloc() takes care of its own): the parent's goes on, and the
 * child must leave the rings alone.
 *
 * Threads: loop thread only, but the functions of struct worker_conf run in
 * the workers.
 */
#ifndef HPN_BASE_WORKER_H
#define HPN_BASE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct ring;
struct worker_pool;

enum { WORKER_RINGS_MAX = 2, WORKER_THREADS_MAX = 64 };

struct worker_conf {
	struct ring *rings[WORKER_RINGS_MAX]; /* borrowed; NULL: no second */
	size_t threads;			      /* how many are wanted */
	bool over_forks;		      /* they go on in the parent */
	/* Does a job. *local is the thread's own, NULL at first: a cipher
	 * context, made when a job first needs it. */
	void (*run)(void *job, void **local);
	/* Frees what is at *local when the thread ends; may be NULL. */
	void (*end)(void *local);
	/* Wakes the loop: called by a worker when it finished the job that
	 * ring_await() announced. Must be safe in any thread. */
	void (*wake)(void *arg);
	void *arg;
};

/*
 * ERR_SYSTEM with errno, and nothing left running, if not a single thread
 * could be started; then the caller does without. With some of them it is
 * content.
 */
int worker_start(struct worker_pool **out,
    const struct worker_conf *conf) must_check;
/* Lets the jobs in hand be finished, not those that are ready; joins. */
void worker_stop(struct worker_pool *p);
size_t worker_count(const struct worker_pool *p); /* that run now */
/* Processors that this process may use; at least 1. */
size_t worker_cpus(void);

/* Tells sleeping workers of jobs that were posted; once for several. */
void worker_kick(struct worker_pool *p);
/* Has the loop thread do one ready job of the ring itself. False: none was
 * ready. */
bool worker_help(struct worker_pool *p, struct ring *r);
/* Waits until the oldest job of the ring is done and returns it; NULL if
 * nothing is pending. Meanwhile the loop thread does ready jobs itself, so it
 * is not idle for longer than the jobs in hand take. */
void *worker_wait(struct worker_pool *p, struct ring *r);

#endif
