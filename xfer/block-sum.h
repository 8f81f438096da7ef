/* SPDX-License-Identifier: ISC */
/*
 * Sums of blocks of a file, by which a block is found again at another offset
 * of another file: a weak one, which moves along a file byte by byte, and a
 * strong one, which says that it is that block. Both depend on a seed that only
 * the two programs know, so nobody who writes files can prepare blocks whose
 * sums are equal. docs/SFTP.md (block-sums@hpnssh.org) has both as formulas,
 * docs/SYNC.md why a sum with a key is enough.
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
	BLOCK_SUM_BYTES = 4 + BLOCK_SUM_STRONG, /* of a block, on the wire */
	BLOCK_SUM_COPY = 32, /* bytes; of the sums of what is copied */
	BLOCK_SUM_MIN = 2 * 1024, /* bytes of a block */
	BLOCK_SUM_MAX = 1024 * 1024,
	BLOCK_SUM_RANGE_MAX = 1024 * 1024 * 1024, /* bytes of a request */
};

/* A power of two within the bounds? */
bool block_sum_size_valid(uint32_t block);
/* The factor of weak sums: its lowest three bits are 101, so that its powers
 * repeat as late as they can. */
uint32_t block_sum_factor(const uint8_t seed[BLOCK_SUM_SEED]);
/* The weak sum of len bytes that follow those with the sum `before` (0: none
 * do). */
uint32_t block_sum_weak(uint32_t factor, uint32_t before, const uint8_t *p,
    size_t len);
int block_sum_strong(struct poly1305 *poly, const uint8_t seed[BLOCK_SUM_SEED],
    const uint8_t *p, size_t len, uint8_t out[BLOCK_SUM_STRONG]) must_check;

#endif
