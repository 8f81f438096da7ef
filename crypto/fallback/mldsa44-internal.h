/* SPDX-License-Identifier: ISC */
/*
 * Inside of ML-DSA-44: polynomials of 256 coefficients modulo Q, kept as
 * signed 32-bit numbers of small magnitude. The loops over them have constant
 * trip counts, so that compilers turn them into vector code; no branch or index
 * depends on a coefficient.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_FALLBACK_MLDSA44_INTERNAL_H
#define HPN_CRYPTO_FALLBACK_MLDSA44_INTERNAL_H

#include <stdint.h>

#include "base/ct.h"

enum {
	N = 256,     /* coefficients */
	Q = 8380417, /* modulus */
	K = 4,	     /* rows of the matrix: length of t, s2, w */
	L = 4,	     /* columns: length of s1, y, z */
};

struct poly {
	int32_t c[N];
};

struct polyvec {
	struct poly v[K]; /* K and L are the same */
};

/* To (-Q, Q), for |a| < 2^31 - 2^22. */
static inline int32_t
reduce(int32_t a)
{
	return a - ((a + (1 << 22)) >> 23) * Q;
}

/* From (-Q, Q) to [0, Q). */
static inline int32_t
to_unsigned(int32_t a)
{
	return a + (Q & (int32_t)ct_mask_top((uint32_t)a));
}

/* To [-Q/2, Q/2]. */
static inline int32_t
to_centered(int32_t a)
{
	a = to_unsigned(reduce(a));
	return a - (Q & (int32_t)ct_mask_positive(a - Q / 2));
}

/* What follows takes coefficients in (-Q, Q), unless it says otherwise. */
void poly_add(struct poly *p, const struct poly *a);
void poly_sub(struct poly *p, const struct poly *a);
/* To [0, Q), from anything that reduce() takes. */
void poly_to_unsigned(struct poly *p);
/* Is a coefficient of this magnitude, or of a larger one? All ones if so. */
uint32_t poly_reaches(const struct poly *p, int32_t bound);

/* Algorithms 41 and 42. dot() and multiply() leave a factor of 2^-32 behind,
 * which the inverse puts right: it is for their results and sums of them. */
void ntt(struct poly *p);
void ntt_inverse(struct poly *p);
/* The inner product of two transformed vectors, and a product. */
void dot(struct poly *out, const struct polyvec *a, const struct polyvec *b);
void multiply(struct poly *out, const struct poly *a, const struct poly *b);

#endif
