/* SPDX-License-Identifier: ISC */
#include "base/worker.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/ring.h"
#include "compat/queue.h"

enum {
	STACK_BYTES = 256 * 1024,
	/* How often a worker looks at the rings before it sleeps. Waking it
	 * costs the loop a system call. */
	LOOKS_BEFORE_SLEEP = 32,
};

struct worker_pool {
	struct worker_conf conf;
	TAILQ_ENTRY(worker_pool) entry; /* in pools, for before_fork() */
	void *loop_local;     /* the loop thread's, for worker_help() */
	/* For going to sleep only; never held while a job is done. */
	pthread_mutex_t lock;
	pthread_cond_t work;
	atomic_size_t sleepers;
	atomic_bool stop;
	size_t count; /* threads that run */
	pthread_t threads[];
};

static TAILQ_HEAD(worker_pools, worker_pool) pools; /* loop thread */

static bool
do_job(const struct worker_conf *conf, struct ring *r, void **local,
    bool *awaited)
{
	size_t ticket;
	void *job = r != NULL ? ring_take(r, &ticket) : NULL;

	if (job == NULL)
		return false;
	conf->run(job, local);
	*awaited = ring_finish(r, ticket);
	return true;
}

/* Does one job of any ring; false: there is none. */
static bool
do_any_job(struct worker_pool *p, void **local)
{
	for (size_t i = 0; i < WORKER_RINGS_MAX; i++) {
		bool awaited = false;

		if (!do_job(&p->conf, p->conf.rings[i], local, &awaited))
			continue;
		if (awaited)
			p->conf.wake(p->conf.arg);
		return true;
	}
	return false;
}

static bool
has_work(struct worker_pool *p)
{
	for (size_t i = 0; i < WORKER_RINGS_MAX; i++) {
		struct ring *r = p->conf.rings[i];

		if (r != NULL && ring_has_ready(r))
			return true;
	}
	return atomic_load(&p->stop);
}

static void
wait_for_work(struct worker_pool *p)
{
	for (int i = 0; i < LOOKS_BEFORE_SLEEP; i++) {
		if (has_work(p))
			return;
		sched_yield();
	}
	pthread_mutex_lock(&p->lock);
	/* The thread counts itself as a sleeper before it looks for work once
	 * more; the loop posts work before it looks at the count. So one of
	 * the two sees the other. */
	atomic_fetch_add(&p->sleepers, 1);
	while (!has_work(p))
		pthread_cond_wait(&p->work, &p->lock);
	atomic_fetch_sub(&p->sleepers, 1);
	pthread_mutex_unlock(&p->lock);
}

static void *
worker_main(void *arg)
{
	struct worker_pool *p = arg;
	void *local = NULL;

	while (!atomic_load(&p->stop)) {
		if (!do_any_job(p, &local))
			wait_for_work(p);
	}
	if (local != NULL && p->conf.end != NULL)
		p->conf.end(local);
	return NULL;
}

/* Starts threads until there are enough or one fails; 0 or its errno. */
static int
start_threads(struct worker_pool *p)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int e = pthread_attr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_attr_setstacksize(&attr,
	    MAX((size_t)STACK_BYTES, (size_t)PTHREAD_STACK_MIN));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* the threads inherit it */
	while (e == 0 && p->count < p->conf.threads) {
		e = pthread_create(&p->threads[p->count], &attr, worker_main,
		    p);
		if (e == 0)
			p->count++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return e;
}

static void
stop_threads(struct worker_pool *p)
{
	if (p->count == 0)
		return; /* in a child the lock's holder may be missing */
	/* 1. No thread takes another job. */
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->stop, true);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	/* 2. The threads finish what they hold. */
	for (size_t i = 0; i < p->count; i++)
		pthread_join(p->threads[i], NULL);
	p->count = 0;
	atomic_store(&p->stop, false);
}

static void
stop_all(void)
{
	struct worker_pool *p;

	TAILQ_FOREACH(p, &pools, entry)
		stop_threads(p);
}

/* Ends the threads before a fork(). The child would have locks whose holders do
 * not exist, and jobs that nobody finishes. */
static void
before_fork(void)
{
	struct worker_pool *p;

	TAILQ_FOREACH(p, &pools, entry)
		if (!p->conf.over_forks)
			stop_threads(p);
}

static void
in_parent(void)
{
	struct worker_pool *p;

	TAILQ_FOREACH(p, &pools, entry)
		if (!p->conf.over_forks)
			(void)start_threads(p);
}

static void
in_child(void)
{
	struct worker_pool *p;

	TAILQ_FOREACH(p, &pools, entry)
		p->count = 0;
}

/* Ends the threads at exit() too, as exit() takes down libraries that they may
 * be using. */
static void
register_stops(void)
{
	ENSURE(pthread_atfork(before_fork, in_parent, in_child) == 0);
	ENSURE(atexit(stop_all) == 0);
}

int
worker_start(struct worker_pool **out, const struct worker_conf *conf)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct worker_pool *p;
	int e;

	*out = NULL;
	if (conf->threads == 0 || conf->threads > WORKER_THREADS_MAX)
		return ERR_ARGUMENT;
	p = calloc(1, sizeof *p + conf->threads * sizeof p->threads[0]);
	if (p == NULL)
		return ERR_NOMEM;
	pthread_once(&once, register_stops);
	p->conf = *conf;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	TAILQ_INSERT_HEAD(&pools, p, entry);
	e = start_threads(p);
	if (p->count == 0) {
		worker_stop(p);
		errno = e;
		return ERR_SYSTEM;
	}
	*out = p;
	return 0;
}

void
worker_stop(struct worker_pool *p)
{
	if (p == NULL)
		return;
	stop_threads(p);
	/* Nobody else knows the pool now. */
	TAILQ_REMOVE(&pools, p, entry);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	if (p->loop_local != NULL && p->conf.end != NULL)
		p->conf.end(p->loop_local);
	free(p);
}

size_t
worker_cpus(void)
{
	long n = 0;
#ifdef CPU_COUNT
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = CPU_COUNT(&set);
#endif
	if (n <= 0)
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (size_t)n : 1;
}

size_t
worker_count(const struct worker_pool *p)
{
	return p->count;
}

void
worker_kick(struct worker_pool *p)
{
	if (atomic_load(&p->sleepers) == 0)
		return;
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

bool
worker_help(struct worker_pool *p, struct ring *r)
{
	bool awaited; /* not used: the loop itself does the job */

	return do_job(&p->conf, r, &p->loop_local, &awaited);
}

void *
worker_wait(struct worker_pool *p, struct ring *r)
{
	void *job;

	while ((job = ring_oldest(r)) == NULL && ring_pending(r) > 0) {
		if (!worker_help(p, r))
			sched_yield();
	}
	return job;
}
