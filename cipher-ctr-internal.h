/* SPDX-License-Identifier: ISC */
/*
 * Keystream of AES in counter mode that threads precompute, in a ring of
 * chunks; the loop thread only applies it. Included by cipher-ctr*.c and
 * their test.
 *
 * The precomputed keystream is only a cache: what it lacks is encrypted by the
 * loop, so that it cannot make a result wrong. Positions should only grow, as
 * keystream before the last position is thrown away.
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

/* The 128 bit counter of a key's first block. */
struct ctr_start {
	uint64_t high, low;
};

/* Encrypts or decrypts len bytes at p, with the keystream from `block` on. */
int ctr_apply(EVP_CIPHER_CTX *ctx, struct ctr_start start, uint64_t block,
    uint8_t *p, size_t len) must_check;

struct ctr_keystream;

/* Copies model, which has the key. The threads begin at once, with `block`.
 * ERR_SYSTEM: no threads could be started. */
int ctr_keystream_new(struct ctr_keystream **out, const EVP_CIPHER_CTX *model,
    struct ctr_start start, uint64_t block, size_t threads) must_check;
/* Ends the threads and wipes all keystream. */
void ctr_keystream_free(struct ctr_keystream *a);
size_t ctr_keystream_threads(const struct ctr_keystream *a); /* that run now */
/* Encrypts or decrypts len bytes (whole blocks) from `block` on. Waits for
 * chunks that a thread is making. Returns the bytes done, from the first on;
 * the keystream of the others is not in the ring. */
size_t ctr_keystream_apply(struct ctr_keystream *a, uint64_t block, uint8_t *p,
    size_t len);
/* Measures for some 10 us: true if encrypting takes so much longer on this CPU
 * than applying precomputed keystream that threads can relieve the loop. */
bool ctr_keystream_measure(EVP_CIPHER_CTX *ctx);
/* For tests: is given the ring's memory after it was wiped, and before it is
 * freed. */
extern void (*ctr_keystream_wiped_hook)(const uint8_t *bytes, size_t len);

#endif
