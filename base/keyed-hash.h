/* SPDX-License-Identifier: ISC */
/*
 * A hash of two numbers that a peer chooses, for tables whose size is a power
 * of two. Without the key nobody can choose numbers that fall into the same
 * place: the multipliers are random, and the place is taken from the highest
 * bits of the sum, which depend on all bits of both numbers. The sum is mixed
 * once more, so that numbers at equal distances do not get places at equal
 * distances.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_KEYED_HASH_H
#define HPN_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Random bytes. */
struct keyed_hash {
	uint64_t by[2];
};

/* The place of the pair a, b in a table; size: a power of two up to 2^32. */
static inline size_t
keyed_hash_place(const struct keyed_hash *k, uint64_t a, uint64_t b,
    size_t size)
{
	uint64_t sum = a * (k->by[0] | 1) + b * (k->by[1] | 1);

	sum = (sum ^ sum >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)((sum >> 32) * size >> 32);
}

#endif
