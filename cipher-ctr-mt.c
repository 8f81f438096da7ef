/* SPDX-License-Identifier: ISC */
/* Keystream of AES in counter mode, precomputed by worker threads. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "cipher-ctr-internal.h"
#include "compat/bsd-mem.h"

/* Keystream is precomputed if encrypting takes so many times as long as
 * applying keystream. The factor is high, because keystream made by another
 * core has to be fetched from that core's cache: applying it takes several
 * times as long as the measurement says. */
static const double gain_wanted = 8;

struct ctr_keystream {
	EVP_CIPHER_CTX *model; /* owned; only ever copied */
	struct ctr_start start;
	struct ring *ring; /* of struct chunk */
	struct worker_pool *pool;
	uint8_t *bytes; /* of all chunks; secret */
	size_t slots;
	size_t posted;	    /* chunks, in all */
	uint64_t base;	    /* block at which the oldest chunk begins */
	size_t since_wake;	    /* chunks posted since threads were woken */
};

/* A chunk of keystream: a slot of the ring. */
struct chunk {
	struct ctr_keystream *of;
	uint64_t block;
	uint8_t *bytes;
	int err;
};

void (*ctr_keystream_wiped_hook)(const uint8_t *bytes, size_t len);

/* ---- in the threads ---------------------------------------------------- */

static void
fill(void *job, void **local)
{
	struct chunk *c = job;
	EVP_CIPHER_CTX *ctx = *local;

	c->err = ERR_NOMEM;
	if (ctx == NULL) {
		if ((ctx = EVP_CIPHER_CTX_new()) == NULL)
			return;
		*local = ctx;
		if (EVP_CIPHER_CTX_copy(ctx, c->of->model) != 1)
			return;
	}
	memset(c->bytes, 0, CTR_CHUNK);
	c->err = ctr_apply(ctx, c->of->start, c->block, c->bytes, CTR_CHUNK);
}

static void
end(void *local)
{
	EVP_CIPHER_CTX_free(local);
}

static void
no_wake(void *arg)
{
	(void)arg; /* the loop never sleeps until a chunk is done */
}

/* ---- life -------------------------------------------------------------- */

static void
post(struct ctr_keystream *a)
{
	struct chunk *c = ring_next(a->ring);

	ENSURE(c != NULL);
	c->of = a;
	c->block = a->base + ring_pending(a->ring) * CTR_CHUNK_BLOCKS;
	c->bytes = a->bytes + a->posted++ % a->slots * CTR_CHUNK;
	ring_post(a->ring);
	/* Waking them costs a system call. */
	if (++a->since_wake >= a->slots / 4) {
		a->since_wake = 0;
		worker_kick(a->pool);
	}
}

int
ctr_keystream_new(struct ctr_keystream **out, const EVP_CIPHER_CTX *model,
    struct ctr_start start, uint64_t block, size_t threads)
{
	struct ctr_keystream *a = calloc(1, sizeof *a);
	struct worker_conf conf = { .threads = threads,
		.run = fill,
		.end = end,
		.wake = no_wake };
	int r = ERR_NOMEM;

	*out = NULL;
	if (a == NULL)
		return ERR_NOMEM;
	a->start = start;
	a->base = block;
	a->slots = CTR_CHUNKS_MIN;
	while (a->slots < 2 * threads)
		a->slots *= 2;
	a->bytes = malloc(a->slots * CTR_CHUNK);
	a->ring = ring_new(a->slots, sizeof(struct chunk));
	a->model = EVP_CIPHER_CTX_new();
	if (a->bytes != NULL && a->ring != NULL && a->model != NULL &&
	    EVP_CIPHER_CTX_copy(a->model, model) == 1) {
		conf.rings[0] = a->ring;
		r = worker_start(&a->pool, &conf);
	}
	if (r != 0) {
		ctr_keystream_free(a);
		return r;
	}
	for (size_t i = 0; i < a->slots; i++)
		post(a);
	*out = a;
	return 0;
}

void
ctr_keystream_free(struct ctr_keystream *a)
{
	if (a == NULL)
		return;
	worker_stop(a->pool);
	if (a->bytes != NULL) {
		explicit_bzero(a->bytes, a->slots * CTR_CHUNK);
		if (ctr_keystream_wiped_hook != NULL)
			ctr_keystream_wiped_hook(
			    a->bytes, a->slots * CTR_CHUNK);
		free(a->bytes);
	}
	ring_free(a->ring);
	EVP_CIPHER_CTX_free(a->model);
	mem_free_secret(a, sizeof *a);
}

size_t
ctr_keystream_threads(const struct ctr_keystream *a)
{
	return worker_count(a->pool);
}

/* ---- in the loop ------------------------------------------------------- */

/* The vector type for applying keystream: as wide as every x86-64 and ARMv8 CPU
 * has it. A wider one would not be faster, since the keystream comes from
 * another core's cache. */
typedef uint64_t vector __attribute__((vector_size(CTR_BLOCK)));

static void
xor_blocks(uint8_t *restrict p, const uint8_t *restrict stream, size_t len)
{
	for (size_t i = 0; i < len; i += CTR_BLOCK) {
		vector a, b;

		memcpy(&a, p + i, CTR_BLOCK);
		memcpy(&b, stream + i, CTR_BLOCK);
		a ^= b;
		memcpy(p + i, &a, CTR_BLOCK);
	}
}

/* Gives the oldest chunk back, to be filled with new keystream. */
static void
recycle(struct ctr_keystream *a)
{
	ring_release(a->ring);
	a->base += CTR_CHUNK_BLOCKS;
	post(a);
}

size_t
ctr_keystream_apply(
    struct ctr_keystream *a, uint64_t block, uint8_t *p, size_t len)
{
	size_t done = 0, at, n;
	struct chunk *c;

	ENSURE(len % CTR_BLOCK == 0);
	if (block - a->base >= a->slots * CTR_CHUNK_BLOCKS)
		return 0;
	while (done < len) {
		c = worker_wait(a->pool, a->ring);
		at = (size_t)(block - a->base) * CTR_BLOCK;
		if (at >= CTR_CHUNK) {
			recycle(a);
			continue;
		}
		if (c->err != 0)
			break;
		n = MIN(len - done, CTR_CHUNK - at);
		xor_blocks(p + done, c->bytes + at, n);
		done += n;
		block += n / CTR_BLOCK;
	}
	return done;
}

/* ---- is it worth it? --------------------------------------------------- */

bool
ctr_keystream_measure(EVP_CIPHER_CTX *ctx)
{
	enum { ROUNDS = 5, PACKET = 32 * 1024 };
	double aes = 1e9, xor = 1e9, t0, t1, t2;
	const struct ctr_start start = { 0 };
	uint8_t *p = calloc(2, PACKET);
	bool pays = false;

	if (p == NULL)
		return false;
	for (int i = 0; i < ROUNDS; i++) {
		t0 = (double)clock_ns();
		if (ctr_apply(ctx, start, 0, p, PACKET) != 0)
			break;
		t1 = (double)clock_ns();
		xor_blocks(p, p + PACKET, PACKET);
		t2 = (double)clock_ns();
		aes = MIN(aes, t1 - t0);
		xor = MIN(xor, t2 - t1);
		pays = aes > gain_wanted * xor;
	}
	mem_free_secret(p, (size_t)2 * PACKET);
	return pays;
}
