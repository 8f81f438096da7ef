/* SPDX-License-Identifier: ISC */
/*
 * Masks for code whose timing must not depend on secrets. A mask stands for a
 * condition: all its bits are ones if the condition is true, else zeros.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_CT_H
#define HPN_BASE_CT_H

#include <stdint.h>

/* Marks bytes of a secret on which branches and indices may depend from here
 * on, because the design of the algorithm gives them away. It compiles to
 * nothing; the test that looks for forbidden dependences defines its own. */
#ifndef ct_reveal
#define ct_reveal(p, len) ((void)(p), (void)(len))
#endif

/* Returns v, and hides from the compiler how it was computed. A compiler that
 * recognizes a mask may turn it back into a branch, or into a choice between
 * addresses, whose timing shows the secret. */
static inline uint32_t
ct_opaque(uint32_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

/* All ones if the top bit of v is set. */
static inline uint32_t
ct_mask_top(uint32_t v)
{
	return ct_opaque(-(v >> 31));
}

static inline uint32_t
ct_mask_nonzero(uint32_t v)
{
	return ct_mask_top(v | -v);
}

/* All ones if v > 0. v is not INT32_MIN. */
static inline uint32_t
ct_mask_positive(int32_t v)
{
	return ct_mask_top(-(uint32_t)v);
}

/* The bits of a where the mask has ones, those of b where it has zeros. */
static inline uint32_t
ct_select(uint32_t mask, uint32_t a, uint32_t b)
{
	return b ^ (mask & (a ^ b));
}

#endif
