/* SPDX-License-Identifier: ISC */
/*
 * The sums of one file's blocks (xfer/block-sum.h), for look-ups by weak sum.
 * They come from a server that may lie: their number is known before, memory
 * depends on that number alone, and a look-up takes a limited number of steps
 * whatever they are.
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
	DELTA_CHAIN_MAX = 8, /* sums that one look-up goes through at most */
};
#define DELTA_NONE UINT32_MAX

struct delta_sums {
	uint8_t seed[BLOCK_SUM_SEED];
	uint32_t factor;
	uint32_t block; /* bytes */
	uint32_t count, filled;
	uint32_t *weak;
	uint8_t (*strong)[BLOCK_SUM_STRONG];
	/* Chains by the top bits of weak sums: `heads` has the first block of
	 * each chain, `next` the following one of each block. Of equal blocks
	 * only the first is in a chain; `same` leads from each to the next
	 * equal one, in a ring. */
	uint32_t *heads, *next, *same;
	uint8_t *bitmap; /* tells, by more bits of the weak sum, whether a chain
			  * can have it; asked before heads, because it is
			  * smaller */
	unsigned heads_shift, bitmap_shift;
};

/* The size of blocks for a file, with which sums are few and blocks small. 0:
 * the file is too large. */
uint32_t delta_block_for(uint64_t size);
/* Makes room for the sums of the whole blocks in size bytes. NULL: there is no
 * whole block, or too many, or no memory. */
struct delta_sums *delta_sums_new(const uint8_t seed[BLOCK_SUM_SEED],
    uint32_t block, uint64_t size);
void delta_sums_free(struct delta_sums *s); /* NULL: nothing */
/* Takes n sums, in the form of the wire, for the blocks from `first` on. */
void delta_sums_put(struct delta_sums *s, uint32_t first, const uint8_t *wire,
    uint32_t n);
/* Builds the chains once all sums are there. False: no memory. */
bool delta_sums_index(struct delta_sums *s) must_check;

/* False if no block has that weak sum. */
static inline bool
delta_sums_may_have(const struct delta_sums *s, uint32_t weak)
{
	uint32_t bit = weak >> s->bitmap_shift;

	return s->bitmap[bit >> 3] >> (bit & 7) & 1;
}

/* The first block with that weak sum in its chain, from block `from` on; each
 * step adds 1 to *steps. DELTA_NONE: there is none. */
uint32_t delta_sums_find(const struct delta_sums *s, uint32_t weak,
    uint32_t from, uint64_t *steps);
/* The first block of the chain for that weak sum. */
static inline uint32_t
delta_sums_chain(const struct delta_sums *s, uint32_t weak)
{
	return s->heads[weak >> s->heads_shift];
}

#endif
