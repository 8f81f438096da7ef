/* SPDX-License-Identifier: ISC */
/*
 * Keystream of AES in counter mode that threads precompute, in a ring of
 * chunks; the loop thread only applies it. Included by cipher-ctr*.c and
 * their test.
 *
 * Precomputed keystream is only a cache: on a miss the loop encrypts directly,
 * so the cache cannot affect correctness. Positions should only grow, as the
 * keystream in front of the last one is gone.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CIPHER_CTR_INTERNAL_H
#define HPN_CIPHER_CTR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "base/err.h"

enum {
	CTR_BLOCK = 16,
	CTR_CHUNK = 128 * 1024, /* bytes: one job of a thread */
	CTR_CHUNK_BLOCKS = CTR_CHUNK / CTR_BLOCK,
	CTR_CHUNKS_MIN = 8, /* of a ring; a power of two */
};

/* The counter of a key's first block. */
struct ctr_start {
	uint64_t high, low;
};

/* The keystream from the given block on, applied to len bytes at p. */
int ctr_apply(EVP_CIPHER_CTX *ctx, struct ctr_start start, uint64_t block,
    uint8_t *p, size_t len) must_check;

struct ctr_keystream;

/* model has the key; it is copied. The threads begin at once, with the given
 * block. ERR_SYSTEM if there are no threads to be had. */
int ctr_keystream_new(struct ctr_keystream **out, const EVP_CIPHER_CTX *model,
    struct ctr_start start, uint64_t block, size_t threads) must_check;
/* Ends the threads and wipes all keystream. */
void ctr_keystream_free(struct ctr_keystream *a);
size_t ctr_keystream_threads(const struct ctr_keystream *a); /* that run now */
/* Applies len bytes, whole blocks, from block on, and waits for chunks that a
 * thread is at work on. The bytes done; the rest is not in the ring. */
size_t ctr_keystream_apply(struct ctr_keystream *a, uint64_t block, uint8_t *p,
    size_t len);
/* Measures, in some 10 us: true if encrypting takes this CPU so much longer
 * than applying precomputed keystream that threads can relieve the loop. */
bool ctr_keystream_measure(EVP_CIPHER_CTX *ctx);
/* For tests: the ring's memory, which is wiped and then passed to the hook
 * before it is freed. */
extern void (*ctr_keystream_wiped_hook)(const uint8_t *bytes, size_t len);

#endif
