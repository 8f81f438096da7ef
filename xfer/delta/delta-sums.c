/* SPDX-License-Identifier: ISC */
#include "xfer/delta/delta-sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/wire.h"

enum {
	HEADS_BITS_MIN = 10,
	HEADS_SPARE = 1,  /* bits of the table more than of the number of
			   * blocks: there are at least twice as many chains */
	BITMAP_SPARE = 5, /* bits more than the table's: of 32 or 64 bits of the
			   * map one is set */
	PER_BYTE = 8,	  /* the size of a block is about the root of the file's
			   * size times this */
};

/* Chooses the size of blocks. A sum has 20 bytes, and a change costs a block
 * beside its own bytes, so the root of the file's size is near the optimum,
 * whatever has changed. But a block that is sent costs more than its bytes: it
 * is searched, encrypted and written. So blocks are not larger than most
 * changes need, as long as there are not too many sums. */
uint32_t
delta_block_for(uint64_t size)
{
	uint64_t block = BLOCK_SUM_MIN;

	while (block < 16 * 1024 && block * block * 4 <= size * PER_BYTE)
		block *= 2;
	while (block < BLOCK_SUM_MAX && size / block > DELTA_BLOCKS_MAX)
		block *= 2;
	return size / block > DELTA_BLOCKS_MAX ? 0 : (uint32_t)block;
}

struct delta_sums *
delta_sums_new(const uint8_t seed[BLOCK_SUM_SEED], uint32_t block,
    uint64_t size)
{
	struct delta_sums *s;

	if (!block_sum_size_valid(block) || size < block ||
	    size / block > DELTA_BLOCKS_MAX)
		return NULL;
	s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	memcpy(s->seed, seed, sizeof s->seed);
	s->factor = block_sum_factor(seed);
	s->block = block;
	s->count = (uint32_t)(size / block);
	s->weak = calloc(s->count, sizeof *s->weak);
	s->strong = calloc(s->count, sizeof *s->strong);
	if (s->weak != NULL && s->strong != NULL)
		return s;
	delta_sums_free(s);
	return NULL;
}

void
delta_sums_free(struct delta_sums *s)
{
	if (s == NULL)
		return;
	free(s->weak);
	free(s->strong);
	free(s->heads);
	free(s->next);
	free(s->same);
	free(s->bitmap);
	free(s);
}

void
delta_sums_put(struct delta_sums *s, uint32_t first, const uint8_t *wire,
    uint32_t n)
{
	for (uint32_t i = first; n > 0 && i < s->count; i++, n--) {
		s->weak[i] = wire_get_u32(wire);
		memcpy(s->strong[i], wire + 4, BLOCK_SUM_STRONG);
		wire += BLOCK_SUM_BYTES;
		s->filled++;
	}
}

uint32_t
delta_sums_find(const struct delta_sums *s, uint32_t weak, uint32_t from,
    uint64_t *steps)
{
	uint32_t i = from;

	for (; i != DELTA_NONE; i = s->next[i]) {
		(*steps)++;
		if (s->weak[i] == weak)
			break;
	}
	return i;
}

/* Puts block i into the chain of its weak sum; or, if an equal block is there,
 * behind that one. If the chain is full, block i is never found. */
static void
insert(struct delta_sums *s, uint32_t i)
{
	uint32_t *head = &s->heads[s->weak[i] >> s->heads_shift], n = 0;
	uint32_t bit = s->weak[i] >> s->bitmap_shift;

	for (uint32_t at = *head; at != DELTA_NONE; at = s->next[at], n++) {
		if (s->weak[at] != s->weak[i] ||
		    memcmp(s->strong[at], s->strong[i],
			BLOCK_SUM_STRONG) != 0)
			continue;
		s->same[i] = s->same[at];
		s->same[at] = i;
		return;
	}
	if (n >= DELTA_CHAIN_MAX)
		return;
	s->next[i] = *head;
	*head = i;
	s->bitmap[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

bool
delta_sums_index(struct delta_sums *s)
{
	unsigned bits = HEADS_BITS_MIN;

	while ((UINT32_C(1) << bits) < s->count << HEADS_SPARE)
		bits++;
	s->heads_shift = 32 - bits;
	s->bitmap_shift = s->heads_shift - BITMAP_SPARE;
	s->heads = malloc(sizeof *s->heads << bits);
	s->next = malloc(sizeof *s->next * s->count);
	s->same = malloc(sizeof *s->same * s->count);
	s->bitmap = calloc(1, (size_t)1 << (bits + BITMAP_SPARE - 3));
	if (s->heads == NULL || s->next == NULL || s->same == NULL ||
	    s->bitmap == NULL)
		return false;
	memset(s->heads, 0xff, sizeof *s->heads << bits);
	memset(s->next, 0xff, sizeof *s->next * s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		s->same[i] = i;
		insert(s, i);
	}
	return true;
}
