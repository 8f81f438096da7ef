/* SPDX-License-Identifier: ISC */
#include "base/ring.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * DESIGN. Jobs are numbered as they are posted. The slot of a job is its number
 * modulo the number of slots. Three numbers, released <= taken <= posted, tell
 * the states of jobs:
 *
 *	posted    written by the loop; publishes a job to the workers
 *	taken     advanced by whoever takes the next job
 *	released  the loop's own
 *
 * Each slot has a flag that tells that its job is done; the loop looks only at
 * the flag of the oldest job. The numbers may wrap around, since only their
 * equality and their differences are used.
 */

enum { CACHE_LINE = 64 }; /* bytes; two cores should not write into one */

struct slot {
	_Alignas(CACHE_LINE) atomic_bool done;
};

struct ring {
	size_t mask;	 /* slots - 1 */
	size_t job_size; /* bytes, a multiple of the cache line */
	uint8_t *jobs;	 /* owned */
	struct slot *slots; /* owned */
	size_t released;      /* loop */
	_Alignas(CACHE_LINE) atomic_size_t posted;
	_Alignas(CACHE_LINE) atomic_size_t taken;
	/* The job that the loop waits for: 2 * number + 1; 0: for none. */
	_Alignas(CACHE_LINE) atomic_size_t awaited;
};

struct ring *
ring_new(size_t slots, size_t job_size)
{
	struct ring *r;

	ENSURE(slots > 0 && (slots & (slots - 1)) == 0);
	job_size = (job_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	if (job_size == 0 || slots > SIZE_MAX / job_size)
		return NULL;
	r = aligned_alloc(CACHE_LINE, sizeof *r);
	if (r == NULL)
		return NULL;
	memset(r, 0, sizeof *r);
	r->mask = slots - 1;
	r->job_size = job_size;
	r->jobs = aligned_alloc(CACHE_LINE, slots * job_size);
	r->slots = aligned_alloc(CACHE_LINE, slots * sizeof *r->slots);
	if (r->jobs == NULL || r->slots == NULL) {
		free(r->jobs);
		free(r->slots);
		free(r);
		return NULL;
	}
	memset(r->jobs, 0, slots * job_size);
	for (size_t i = 0; i < slots; i++)
		atomic_init(&r->slots[i].done, false);
	return r;
}

void
ring_free(struct ring *r)
{
	if (r == NULL)
		return;
	mem_free_secret(r->jobs, (r->mask + 1) * r->job_size);
	free(r->slots);
	free(r);
}

static struct slot *
slot_of(struct ring *r, size_t number)
{
	return &r->slots[number & r->mask];
}

static void *
job_of(struct ring *r, size_t number)
{
	return r->jobs + (number & r->mask) * r->job_size;
}

/* The number of jobs posted so far. Only the loop changes it. */
static size_t
posted(const struct ring *r)
{
	return atomic_load_explicit(&r->posted, memory_order_relaxed);
}

void *
ring_next(struct ring *r)
{
	size_t number = posted(r);

	return number - r->released <= r->mask ? job_of(r, number) : NULL;
}

void
ring_post(struct ring *r)
{
	size_t number = posted(r);

	atomic_store_explicit(&slot_of(r, number)->done, false,
	    memory_order_relaxed);
	/* Sequentially consistent, as in all pairs of "write mine, then look
	 * at yours": here with a worker that goes to sleep. */
	atomic_store(&r->posted, number + 1);
}

void *
ring_oldest(struct ring *r)
{
	size_t number = r->released;

	if (number == posted(r) ||
	    !atomic_load_explicit(&slot_of(r, number)->done,
		memory_order_acquire))
		return NULL;
	return job_of(r, number);
}

void
ring_release(struct ring *r)
{
	r->released++;
}

size_t
ring_pending(const struct ring *r)
{
	return posted(r) - r->released;
}

bool
ring_await(struct ring *r)
{
	size_t number = r->released;

	if (number == posted(r))
		return false;
	atomic_store(&r->awaited, number << 1 | 1);
	if (!atomic_load(&slot_of(r, number)->done))
		return true;
	atomic_store(&r->awaited, 0);
	return false;
}

void *
ring_take(struct ring *r, size_t *ticket)
{
	/* This load acquires: the worker that took the job before had seen it
	 * posted. Without that the processor may read `posted` before `taken`
	 * (arm64 does), find that the two differ because its `posted` is older,
	 * and take a job that the loop has yet to write. */
	size_t number = atomic_load_explicit(&r->taken, memory_order_acquire);

	do {
		if (number == atomic_load(&r->posted))
			return NULL;
	} while (!atomic_compare_exchange_weak(&r->taken, &number, number + 1));
	*ticket = number;
	return job_of(r, number);
}

bool
ring_finish(struct ring *r, size_t ticket)
{
	size_t mine = ticket << 1 | 1;

	atomic_store(&slot_of(r, ticket)->done, true);
	return atomic_load(&r->awaited) == mine &&
	    atomic_compare_exchange_strong(&r->awaited, &mine, 0);
}

bool
ring_has_ready(struct ring *r)
{
	return atomic_load(&r->taken) != atomic_load(&r->posted);
}
