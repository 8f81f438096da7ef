/* SPDX-License-Identifier: ISC */
#include "pipeline.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"

enum { DIRECTIONS = 2, THREADS_AUTO_MAX = 4 };

/* The keys of a direction. The loop thread writes them only while no job is
 * pending; posting the next job makes them visible to the threads. */
struct dir {
	enum pipeline_dir which;
	uint64_t generation; /* counts the keys; 0: none yet */
	const struct cipher_alg *alg;
	const struct mac_alg *mac;
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];
};

struct pipeline {
	struct dir directions[DIRECTIONS];
	struct ring *rings[DIRECTIONS];
	struct worker_pool *pool; /* NULL: no threads */
	void *loop_local;	  /* contexts of the loop thread */
	void (*wake)(void *arg);
	void *arg;
};

/* A slot of a ring. */
struct slot {
	struct pipeline_job job;
	const struct dir *dir;
};

/* The contexts that a thread keeps between jobs. */
struct contexts {
	struct cipher *cipher[DIRECTIONS];
	uint64_t generation[DIRECTIONS];
};

/* ---- jobs: in the workers, or in the loop ------------------------------- */

static int
context_for(struct contexts *all, const struct dir *d, struct cipher **out)
{
	struct cipher **c = &all->cipher[d->which];
	int r = 0;

	if (all->generation[d->which] != d->generation) {
		cipher_free(*c);
		r = cipher_new(c, d->alg, d->mac, d->which == PIPELINE_ENCRYPT,
		    d->key, d->iv, d->mac_key);
		all->generation[d->which] = r == 0 ? d->generation : 0;
	}
	*out = *c;
	return r;
}

static int
do_packet(struct contexts *all, const struct slot *p)
{
	const struct pipeline_job *j = &p->job;
	struct cipher *c;
	int r;

	if (all == NULL)
		return ERR_NOMEM;
	if ((r = context_for(all, p->dir, &c)) != 0)
		return r;
	return p->dir->which == PIPELINE_ENCRYPT ?
	    cipher_encrypt(c, &j->pos, j->pkt, j->len) :
	    cipher_decrypt(c, &j->pos, j->pkt, j->len);
}

static void
run(void *job, void **local)
{
	struct slot *p = job;

	if (*local == NULL)
		*local = calloc(1, sizeof(struct contexts));
	p->job.err = do_packet(*local, p);
}

static void
end(void *local)
{
	struct contexts *all = local;

	if (all == NULL)
		return;
	for (size_t i = 0; i < DIRECTIONS; i++)
		cipher_free(all->cipher[i]);
	free(all);
}

/* ---- life ---------------------------------------------------------------- */

struct pipeline *
pipeline_new(void (*wake)(void *arg), void *arg)
{
	struct pipeline *pl = calloc(1, sizeof *pl);

	if (pl == NULL)
		return NULL;
	pl->wake = wake;
	pl->arg = arg;
	for (size_t i = 0; i < DIRECTIONS; i++) {
		pl->directions[i].which = (enum pipeline_dir)i;
		pl->rings[i] = ring_new(PIPELINE_SLOTS, sizeof(struct slot));
		if (pl->rings[i] == NULL) {
			pipeline_free(pl);
			return NULL;
		}
	}
	return pl;
}

void
pipeline_free(struct pipeline *pl)
{
	if (pl == NULL)
		return;
	worker_stop(pl->pool);
	end(pl->loop_local);
	for (size_t i = 0; i < DIRECTIONS; i++)
		ring_free(pl->rings[i]);
	mem_free_secret(pl, sizeof *pl);
}

size_t
pipeline_set_threads(struct pipeline *pl, size_t threads)
{
	struct worker_conf conf = {
		.rings = { pl->rings[0], pl->rings[1] },
		.threads = MIN(threads, (size_t)WORKER_THREADS_MAX),
		.run = run,
		.end = end,
		.wake = pl->wake,
		.arg = pl->arg,
	};

	worker_stop(pl->pool);
	pl->pool = NULL;
	if (threads > 0 && worker_start(&pl->pool, &conf) != 0)
		pl->pool = NULL;
	return pipeline_threads(pl);
}

size_t
pipeline_threads(const struct pipeline *pl)
{
	return pl->pool != NULL ? worker_count(pl->pool) : 0;
}

void
pipeline_set_keys(struct pipeline *pl, enum pipeline_dir dir,
    const struct cipher_alg *alg, const struct mac_alg *mac,
    const uint8_t *key, const uint8_t *iv, const uint8_t *mac_key)
{
	struct dir *d = &pl->directions[dir];

	ENSURE(ring_pending(pl->rings[dir]) == 0);
	d->generation++;
	d->alg = alg;
	d->mac = mac;
	memcpy(d->key, key, sizeof d->key);
	memcpy(d->iv, iv, sizeof d->iv);
	memcpy(d->mac_key, mac_key, sizeof d->mac_key);
}

/* ---- use ----------------------------------------------------------------- */

struct pipeline_job *
pipeline_next(struct pipeline *pl, enum pipeline_dir dir)
{
	struct slot *p = ring_next(pl->rings[dir]);

	ENSURE(pl->directions[dir].generation != 0);
	if (p == NULL)
		return NULL;
	p->dir = &pl->directions[dir];
	return &p->job;
}

void
pipeline_post(struct pipeline *pl, enum pipeline_dir dir)
{
	ring_post(pl->rings[dir]);
}

void
pipeline_kick(struct pipeline *pl)
{
	if (pl->pool != NULL)
		worker_kick(pl->pool);
}

const struct pipeline_job *
pipeline_done(struct pipeline *pl, enum pipeline_dir dir)
{
	struct slot *p = ring_oldest(pl->rings[dir]);

	return p != NULL ? &p->job : NULL;
}

void
pipeline_release(struct pipeline *pl, enum pipeline_dir dir)
{
	ring_release(pl->rings[dir]);
}

size_t
pipeline_pending(const struct pipeline *pl, enum pipeline_dir dir)
{
	return ring_pending(pl->rings[dir]);
}

bool
pipeline_help(struct pipeline *pl, enum pipeline_dir dir)
{
	size_t ticket;
	void *job = ring_take(pl->rings[dir], &ticket);

	if (job == NULL)
		return false;
	run(job, &pl->loop_local);
	(void)ring_finish(pl->rings[dir], ticket);
	return true;
}

const struct pipeline_job *
pipeline_wait(struct pipeline *pl, enum pipeline_dir dir)
{
	const struct pipeline_job *j;

	while ((j = pipeline_done(pl, dir)) == NULL &&
	    pipeline_pending(pl, dir) > 0) {
		/* A thread is at this job: it takes some microseconds. */
		if (!pipeline_help(pl, dir))
			sched_yield();
	}
	return j;
}

bool
pipeline_arm_wake(struct pipeline *pl, enum pipeline_dir dir)
{
	return ring_await(pl->rings[dir]);
}

size_t
pipeline_threads_auto(void)
{
	size_t cpus = worker_cpus();

	return MIN(cpus - 1, (size_t)THREADS_AUTO_MAX);
}
