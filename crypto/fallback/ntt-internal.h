/* SPDX-License-Identifier: ISC */
/*
 * The number-theoretic transform for both ML-KEM and ML-DSA, which differ in
 * the modulus, the width of a coefficient and the number of layers. Before a
 * source includes this file, it defines:
 * - NUMBER, the type of a coefficient, which has BITS bits, and PRODUCT, twice
 *   as wide;
 * - N and Q, struct poly, reduce();
 * - zeta[], powers of the root in bit-reversed order, nearest to zero, and
 *   zeta_ratio[], round(2^BITS * zeta / Q) of each;
 * - LAST_HALF, half the coefficients of a block of the last layer;
 * - INVERSE, the factor at the end of the inverse, and INVERSE_RATIO.
 *
 * Loops have constant trip counts, so that compilers turn them into vector
 * code. No branch or index depends on a coefficient.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_FALLBACK_NTT_INTERNAL_H
#define HPN_CRYPTO_FALLBACK_NTT_INTERNAL_H

/*
 * a * w mod Q for a known w, given ratio = round(2^BITS * w / Q): the quotient
 * is estimated from the high half of one product. For any a the result lies
 * between -Q/4 and 5Q/4.
 */
static inline NUMBER
mul_by(NUMBER a, NUMBER w, NUMBER ratio)
{
	NUMBER quotient = (NUMBER)((PRODUCT)a * ratio >> BITS);

	return (NUMBER)((uint32_t)a * (uint32_t)w -
	    (uint32_t)quotient * (uint32_t)Q);
}

/* One block of one layer of the transform, which is `half` butterflies. */
static inline void
ntt_block(NUMBER *lo, NUMBER *hi, int half, NUMBER w, NUMBER ratio)
{
	for (int i = 0; i < half; i++) {
		NUMBER t = mul_by(hi[i], w, ratio);

		hi[i] = (NUMBER)(lo[i] - t);
		lo[i] = (NUMBER)(lo[i] + t);
	}
}

static inline void
inverse_block(NUMBER *lo, NUMBER *hi, int half, NUMBER w, NUMBER ratio)
{
	for (int i = 0; i < half; i++) {
		NUMBER t = lo[i];

		lo[i] = reduce((NUMBER)(t + hi[i]));
		hi[i] = mul_by((NUMBER)(hi[i] - t), w, ratio);
	}
}

static inline void
ntt_layer(struct poly *p, int half)
{
	for (int b = 0; b < N / (2 * half); b++) {
		NUMBER *lo = p->c + 2 * half * b;
		int i = N / (2 * half) + b;

		ntt_block(lo, lo + half, half, zeta[i], zeta_ratio[i]);
	}
}

/* One layer of the inverse. It uses the powers in zeta[] from the end, where
 * those of -1/zeta are. */
static inline void
inverse_layer(struct poly *p, int half)
{
	for (int b = 0; b < N / (2 * half); b++) {
		NUMBER *lo = p->c + 2 * half * b;
		int i = N / half - 1 - b;

		inverse_block(lo, lo + half, half, zeta[i], zeta_ratio[i]);
	}
}

/* Transforms p, for coefficients of a magnitude below Q. Each layer adds at
 * most 5Q/4, for which NUMBER has room, so only the end result is reduced. */
static inline void
transform(struct poly *p)
{
	ntt_layer(p, 128);
	ntt_layer(p, 64);
	ntt_layer(p, 32);
	ntt_layer(p, 16);
	ntt_layer(p, 8);
	ntt_layer(p, 4);
	ntt_layer(p, 2);
	if (LAST_HALF == 1)
		ntt_layer(p, 1);
	for (int i = 0; i < N; i++)
		p->c[i] = reduce(p->c[i]);
}

/* Reverses transform(), for coefficients of a magnitude up to 5Q/4. */
static inline void
transform_back(struct poly *p)
{
	if (LAST_HALF == 1)
		inverse_layer(p, 1);
	inverse_layer(p, 2);
	inverse_layer(p, 4);
	inverse_layer(p, 8);
	inverse_layer(p, 16);
	inverse_layer(p, 32);
	inverse_layer(p, 64);
	inverse_layer(p, 128);
	for (int i = 0; i < N; i++)
		p->c[i] = reduce(mul_by(p->c[i], INVERSE, INVERSE_RATIO));
}

#endif
