/* SPDX-License-Identifier: ISC */
/*
 * Sums of a file's blocks, by which a block is found again at another offset of
 * another file: a weak sum, which moves along a file byte by byte, and a strong
 * sum, which proves that it is the same block. Both depend on a seed that only
 * the two programs know, so nobody who writes files can prepare different
 * blocks with equal sums. docs/SFTP.md (block-sums@hpnssh.org) defines both,
 * docs/SYNC.md tells why a sum with a key is enough.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_BLOCK_SUM_H
#define HPN_XFER_BLOCK_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "crypto/poly1305.h"

enum {
	BLOCK_SUM_SEED = POLY1305_KEY_LEN,   /* bytes */
	BLOCK_SUM_STRONG = POLY1305_TAG_LEN, /* bytes */
	BLOCK_SUM_BYTES = 4 + BLOCK_SUM_STRONG, /* bytes of a block's sums on
						 * the wire */
	BLOCK_SUM_COPY = 32, /* bytes of the digest over the strong sums of
			      * copied blocks */
	BLOCK_SUM_MIN = 2 * 1024, /* bytes of a block */
	BLOCK_SUM_MAX = 1024 * 1024,
	BLOCK_SUM_RANGE_MAX = 1024 * 1024 * 1024, /* bytes of a request */
};

/* True if the size is a power of two within the bounds. */
bool block_sum_size_valid(uint32_t block);
/* The factor of weak sums, made from the seed. Its lowest three bits are 101,
 * so that its powers repeat as late as possible. */
uint32_t block_sum_factor(const uint8_t seed[BLOCK_SUM_SEED]);
/* The weak sum of len bytes at p, behind bytes with the sum `before` (0: there
 * are none). */
uint32_t block_sum_weak(uint32_t factor, uint32_t before, const uint8_t *p,
    size_t len);
int block_sum_strong(struct poly1305 *poly, const uint8_t seed[BLOCK_SUM_SEED],
    const uint8_t *p, size_t len, uint8_t out[BLOCK_SUM_STRONG]) must_check;

#endif
