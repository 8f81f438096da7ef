/* SPDX-License-Identifier: ISC */
/*
 * Worker threads that do the jobs of one or two rings (base/ring.h). The
 * loop thread fills the rings and collects from them; a worker owns nothing
 * but the job that it has in hand and what it keeps for itself between jobs.
 *
 * Workers do not log, fork, or end the process; all signals are blocked in
 * them. A job that fails says so in the job.
 *
 * No thread lives across a fork(): a pool ends its threads before it, and
 * starts them again in the parent. In the child the pool has no threads; it can
 * be stopped, and the loop can do the jobs of its rings. A pool with over_forks
 * is for jobs that may wait for long, for instance for a disk, and that hold no
 * lock which a child could want (malloc() takes care of its own locks): its
 * threads go on in the parent, and the child must leave the rings alone.
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
	size_t threads;			      /* how many threads are wanted */
	/* after a fork the threads of the parent go on */
	bool over_forks;
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

/* Starts a pool. ERR_SYSTEM with errno: not a single thread could be started,
 * so the caller does the jobs itself. A pool may have fewer threads than are
 * wanted. */
int worker_start(struct worker_pool **out,
    const struct worker_conf *conf) must_check;
/* Stops the pool: jobs that a thread has taken are finished, jobs that are
 * ready are left. Returns when all threads have ended. */
void worker_stop(struct worker_pool *p);
size_t worker_count(const struct worker_pool *p); /* threads that run now */
/* Processors that this process may use; at least 1. */
size_t worker_cpus(void);

/* Tells sleeping workers of jobs that were posted; once for several. */
void worker_kick(struct worker_pool *p);
/* Does one ready job of the ring in the calling thread, that of the loop.
 * False: no job was ready. */
bool worker_help(struct worker_pool *p, struct ring *r);
/* Waits until the oldest job of the ring is done and returns it; NULL if
 * nothing is pending. Meanwhile the loop thread does ready jobs itself, so it
 * is not idle for longer than the jobs in hand take. */
void *worker_wait(struct worker_pool *p, struct ring *r);

#endif
