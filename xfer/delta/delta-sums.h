/* SPDX-License-Identifier: ISC */
/*
 * The sums of one file's blocks (xfer/block-sum.h), to be looked up by their
 * weak sums. They come from a server that may lie: their number is known
 * before, memory depends on that alone, and a look-up takes a bounded number
 * of steps whatever they are.
 *
 * Threads: one at a time; many may look up at once.
 */
#ifndef HPN_XFER_DELTA_DELTA_SUMS_H
#define HPN_XFER_DELTA_DELTA_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xfer/block-sum.h"

enum {
	DELTA_BLOCKS_MAX = 128 * 1024,
	DELTA_CHAIN_MAX = 8, /* sums that a look-up goes through */
};
#define DELTA_NONE UINT32_MAX

struct delta_sums {
	uint8_t seed[BLOCK_SUM_SEED];
	uint32_t factor;
	uint32_t block; /* bytes */
	uint32_t count, filled;
	uint32_t *weak;
	uint8_t (*strong)[BLOCK_SUM_STRONG];
	/* The chain of a number that is the top bits of weak sums: its first
	 * block, and the next one of each block. Of blocks that are equal only
	 * the first is in a chain; `same` leads from each to the next of them,
	 * in a ring. */
	uint32_t *heads, *next, *same;
	uint8_t *bitmap; /* asked before heads, as it is smaller: by more bits
			  * of the weak sum, is there a chain at all? */
	unsigned heads_shift, bitmap_shift;
};

/* Bytes of a block with which the sums of a file of that size are few, and
 * blocks small. 0: it is too large. */
uint32_t delta_block_for(uint64_t size);
/* Makes room for the sums of the whole blocks in size bytes. NULL: there are
 * none or too many, or no memory. */
struct delta_sums *delta_sums_new(const uint8_t seed[BLOCK_SUM_SEED],
    uint32_t block, uint64_t size);
void delta_sums_free(struct delta_sums *s); /* NULL: nothing */
/* Takes n sums, as they are on the wire, from the block `first` on. */
void delta_sums_put(struct delta_sums *s, uint32_t first, const uint8_t *wire,
    uint32_t n);
/* All sums are there: they can be looked up. False: no memory. */
bool delta_sums_index(struct delta_sums *s) must_check;

/* May there be a block with that weak sum? */
static inline bool
delta_sums_may_have(const struct delta_sums *s, uint32_t weak)
{
	uint32_t bit = weak >> s->bitmap_shift;

	return s->bitmap[bit >> 3] >> (bit & 7) & 1;
}

/* The first block in the chain of that weak sum, from `from` on, that has it;
 * each step adds 1 to *steps. DELTA_NONE: there is none. */
uint32_t delta_sums_find(const struct delta_sums *s, uint32_t weak,
    uint32_t from, uint64_t *steps);
/* Where the chain of that weak sum begins. */
static inline uint32_t
delta_sums_chain(const struct delta_sums *s, uint32_t weak)
{
	return s->heads[weak >> s->heads_shift];
}

#endif
