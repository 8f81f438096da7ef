/* SPDX-License-Identifier: ISC */
/*
 * Masks for code whose timing must not depend on secrets: all ones or zero,
 * in place of a condition.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_CT_H
#define HPN_CRYPTO_CT_H

#include <stdint.h>

/* v, of which the compiler knows nothing any more. Without this it may see
 * through a mask and make a branch, or a choice of addresses, of it. */
static inline uint32_t
ct_opaque(uint32_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

/* All ones if the top bit is set. */
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

/* For numbers of magnitude below 2^31. */
static inline uint32_t
ct_mask_positive(int32_t v)
{
	return ct_mask_top(-(uint32_t)v);
}

/* a where the mask is set, b elsewhere. */
static inline uint32_t
ct_select(uint32_t mask, uint32_t a, uint32_t b)
{
	return b ^ (mask & (a ^ b));
}

#endif
