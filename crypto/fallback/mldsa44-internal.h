/* SPDX-License-Identifier: ISC */
/*
 * Polynomials of ML-DSA-44: 256 coefficients modulo Q, kept as signed 32-bit
 * numbers of small magnitude. The loops over them have constant trip counts, so
 * that compilers turn them into vector code. No branch or index depends on a
 * coefficient.
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

/* Reduces a modulo Q to (-Q, Q), for |a| < 2^31 - 2^22. */
static inline int32_t
reduce(int32_t a)
{
	return a - ((a + (1 << 22)) >> 23) * Q;
}

/* Maps (-Q, Q) to [0, Q). */
static inline int32_t
to_unsigned(int32_t a)
{
	return a + (Q & (int32_t)ct_mask_top((uint32_t)a));
}

/* Reduces a modulo Q to [-Q/2, Q/2]. */
static inline int32_t
to_centered(int32_t a)
{
	a = to_unsigned(reduce(a));
	return a - (Q & (int32_t)ct_mask_positive(a - Q / 2));
}

/* The functions below take coefficients in (-Q, Q), unless they say
 * otherwise. */
void poly_add(struct poly *p, const struct poly *a);
void poly_sub(struct poly *p, const struct poly *a);
/* Reduces the coefficients to [0, Q). It takes what reduce() takes. */
void poly_to_unsigned(struct poly *p);
/* All ones if a coefficient has the magnitude bound or a larger one, else 0. */
uint32_t poly_reaches(const struct poly *p, int32_t bound);

/* The transform and its inverse (algorithms 41 and 42). Products by dot() and
 * multiply() have a factor of 2^-32 too much. ntt_inverse() removes that
 * factor, so it may only be used for such products and their sums. */
void ntt(struct poly *p);
void ntt_inverse(struct poly *p);
/* The inner product of two vectors, and the product of two polynomials, all of
 * them transformed. */
void dot(struct poly *out, const struct polyvec *a, const struct polyvec *b);
void multiply(struct poly *out, const struct poly *a, const struct poly *b);

#endif
