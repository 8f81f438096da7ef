/* SPDX-License-Identifier: ISC */
#include "xfer/delta/delta-search.h"

#include <stdlib.h>
#include <string.h>

enum {
	CREDIT_BLOCKS = 16, /* credit at the beginning, in blocks */
	STEP_COST = 8,	    /* what looking at one sum costs, in bytes hashed */
	AT_ONCE = 4,	    /* positions that the fast loop checks at a time */
};

struct delta_search *
delta_search_new(const struct delta_sums *sums)
{
	struct delta_search *search = calloc(1, sizeof *search);
	uint32_t power = 1;

	if (search == NULL)
		return NULL;
	if (poly1305_new(&search->poly) != 0) {
		free(search);
		return NULL;
	}
	for (uint32_t i = 0; i < sums->block; i++)
		power *= sums->factor;
	for (uint32_t b = 0; b < 256; b++)
		search->leaves[b] = b * power;
	search->sums = sums;
	search->expected = DELTA_NONE;
	search->credit = (uint64_t)CREDIT_BLOCKS * sums->block;
	return search;
}

void
delta_search_free(struct delta_search *search)
{
	if (search == NULL)
		return;
	poly1305_free(search->poly);
	free(search);
}

/* Takes the cost of hashing that may be in vain out of the credit. False: there
 * is not enough. */
static bool
pay(struct delta_search *search, uint64_t bytes)
{
	if (search->credit < bytes)
		return false;
	search->credit -= bytes;
	return true;
}

static bool
hash(struct delta_search *search, const uint8_t *p,
    uint8_t strong[BLOCK_SUM_STRONG])
{
	const struct delta_sums *sums = search->sums;

	if (!pay(search, sums->block))
		return false;
	search->hashed += sums->block;
	return block_sum_strong(search->poly, sums->seed, p, sums->block,
		   strong) == 0;
}

static bool
is_block(const struct delta_sums *sums, uint32_t i,
    const uint8_t strong[BLOCK_SUM_STRONG])
{
	return memcmp(sums->strong[i], strong, BLOCK_SUM_STRONG) == 0;
}

/* Finds the block at p by its weak sum, and proves it by the strong one.
 * DELTA_NONE: there is none, or the credit is used up. */
static uint32_t
look_up(struct delta_search *search, const uint8_t *p)
{
	const struct delta_sums *sums = search->sums;
	uint8_t strong[BLOCK_SUM_STRONG];
	uint64_t steps = 0;
	uint32_t i;

	if (!pay(search, (uint64_t)DELTA_CHAIN_MAX * STEP_COST))
		return DELTA_NONE;
	i = delta_sums_find(sums, search->weak,
	    delta_sums_chain(sums, search->weak), &steps);
	if (i != DELTA_NONE && hash(search, p, strong))
		while (i != DELTA_NONE && !is_block(sums, i, strong))
			i = delta_sums_find(sums, search->weak, sums->next[i],
			    &steps);
	else
		i = DELTA_NONE;
	search->steps += steps;
	search->credit += (DELTA_CHAIN_MAX - steps) * STEP_COST;
	return i;
}

/* Notes that the block i lies at the present position. The files mostly go on
 * alike, so the block behind i is expected there next, and checked by the
 * strong sum alone. */
static void
found(struct delta_search *search, uint32_t i)
{
	struct delta_run *r = &search->run[search->runs];
	uint32_t block = search->sums->block;

	if (search->runs > 0 && r[-1].block + r[-1].count == i &&
	    r[-1].at + (uint64_t)r[-1].count * block == search->at) {
		r[-1].count++;
	} else {
		*r = (struct delta_run){ search->at, i, 1 };
		search->runs++;
	}
	search->credit += block; /* the cost of hashing this block was not in
				  * vain */
	search->at += block;
	search->weak_known = false;
	search->expected = i + 1 < search->sums->count ? i + 1 : DELTA_NONE;
}

/* True if the expected block is at p. */
static bool
goes_on(struct delta_search *search, const uint8_t *p)
{
	uint8_t strong[BLOCK_SUM_STRONG];
	uint32_t i = search->expected;

	search->expected = DELTA_NONE;
	if (i == DELTA_NONE || !hash(search, p, strong))
		return false;
	if (is_block(search->sums, i, strong)) {
		found(search, i);
		return true;
	}
	return false;
}

/* Moves the weak sum along while no block can be there, by at most `most`
 * positions: four at a time, each computed from the sum before the four, so
 * that the products do not wait for each other. The last byte read is p[most +
 * block - 1]. Returns the number of positions. */
static size_t
roll(struct delta_search *search, const uint8_t *p, size_t most)
{
	const struct delta_sums *sums = search->sums;
	const uint32_t f1 = sums->factor, f2 = f1 * f1, f3 = f2 * f1,
	    f4 = f2 * f2;
	const uint32_t *leaves = search->leaves;
	const uint8_t *in = p + sums->block;
	uint32_t weak = search->weak;
	size_t i = 0;

	while (most - i >= AT_ONCE) {
		uint32_t e0 = in[i] - leaves[p[i]];
		uint32_t e1 = e0 * f1 + in[i + 1] - leaves[p[i + 1]];
		uint32_t e2 = e1 * f1 + in[i + 2] - leaves[p[i + 2]];
		uint32_t e3 = e2 * f1 + in[i + 3] - leaves[p[i + 3]];

		if ((int)delta_sums_may_have(sums, weak * f1 + e0) |
		    (int)delta_sums_may_have(sums, weak * f2 + e1) |
		    (int)delta_sums_may_have(sums, weak * f3 + e2) |
		    (int)delta_sums_may_have(sums, weak * f4 + e3))
			break;
		weak = weak * f4 + e3;
		i += AT_ONCE;
	}
	/* Goes one by one: one of the next positions may have a block, or few
	 * are left. */
	while (i < most) {
		weak = weak * f1 + in[i] - leaves[p[i]];
		i++;
		if (delta_sums_may_have(sums, weak))
			break;
	}
	search->weak = weak;
	search->rolled += i;
	search->credit += i;
	return i;
}

size_t
delta_search_scan(struct delta_search *search, const uint8_t *p, size_t len)
{
	uint32_t block = search->sums->block, i;
	uint64_t from = search->at;
	size_t done = 0;

	while (len - done >= block && search->runs < DELTA_RUNS_MAX) {
		const uint8_t *here = p + done;

		if (!search->weak_known && goes_on(search, here)) {
			done = (size_t)(search->at - from);
			continue;
		}
		if (!search->weak_known)
			search->weak = block_sum_weak(search->sums->factor, 0,
			    here, block);
		i = DELTA_NONE;
		if (delta_sums_may_have(search->sums, search->weak))
			i = look_up(search, here);
		search->weak_known = true;
		if (i != DELTA_NONE)
			found(search, i);
		else if (len - done > block)
			search->at += roll(search, here, len - done - block);
		else
			break;
		done = (size_t)(search->at - from);
	}
	return done;
}
