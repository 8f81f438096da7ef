/* SPDX-License-Identifier: ISC */
/*
 * ML-KEM-768 as FIPS 203 describes it; names follow the standard.
 *
 * Polynomials have 256 coefficients modulo Q, kept as signed 16-bit numbers
 * of small magnitude. The loops over them have constant trip counts, so that
 * compilers turn them into vector code.
 *
 * Everything that depends on a secret is additions, multiplications, shifts
 * and masks. Division is by multiplication with a reciprocal, as a compiler
 * may choose the division instruction, whose time varies. Branches and
 * variable indices occur only in sampling the matrix, which is public.
 */
#include "crypto/fallback/mlkem-own.h"

#include <stdbool.h>
#include <string.h>

#include "base/ct.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/fallback/keccak.h"

enum {
	N = 256,	/* coefficients */
	Q = 3329,	/* modulus */
	K = 3,		/* length of vectors */
	DU = 10, DV = 4, /* bits of a coefficient of u, and of v, in a
			  * ciphertext */
	POLY12_LEN = 384, /* bytes of a polynomial of 12-bit numbers */
	U_LEN = 320,	/* bytes of one polynomial of u */
	V_LEN = 128,	/* bytes of v */
	NOISE_LEN = 128, /* bytes of random for a small polynomial */
	SYM_LEN = 32,	/* bytes of seeds, hashes and messages */
	DK_EK = K * POLY12_LEN,		   /* offset of ek in dk */
	DK_HASH = DK_EK + MLKEM_EK_LEN,	   /* offset of H(ek) in dk */
	DK_Z = DK_HASH + SYM_LEN,	   /* offset of z in dk */
};

struct poly {
	int16_t c[N];
};

struct polyvec {
	struct poly v[K];
};

/* 17^bitrev7(i) mod Q (appendix A), each in the form that is nearest to
 * zero. */
static const int16_t zeta[128] = {
	1, -1600, -749, -40, -687, 630, -1432, 848, 1062, -1410, 193, 797,
	-543, -69, 569, -1583, 296, -882, 1339, 1476, -283, 56, -1089, 1333,
	1426, -1235, 535, -447, -936, -450, -1355, 821, 289, 331, -76, -1573,
	1197, -1025, -1052, -1274, 650, -1352, -816, 632, -464, 33, 1320,
	-1414, -1010, 1435, 807, 452, 1438, -461, 1534, -927, -682, -712,
	1481, 648, -855, -219, 1227, 910, 17, -568, 583, -680, 1637, 723,
	-1041, 1100, 1409, -667, -48, 233, 756, -1173, -314, -279, -1626,
	1651, -540, -1540, -1482, 952, 1461, -642, 939, -1021, -892, -941,
	733, -992, 268, 641, 1584, -1031, -1292, -109, 375, -780, -1239, 1645,
	1063, 319, -556, 757, -1230, 561, -863, -735, -525, 1092, 403, 1026,
	1143, -1179, -554, 886, -1607, 1212, -1455, 1029, -1219, -394, 885,
	-1175,
};
/* For each zeta: round(2^16 * zeta / Q), which mul_by() needs. */
static const int16_t zeta_ratio[128] = {
	20, -31498, -14745, -787, -13525, 12402, -28191, 16694, 20907, -27758,
	3799, 15690, -10690, -1358, 11202, -31164, 5827, -17363, 26360, 29057,
	-5571, 1102, -21438, 26242, 28073, -24313, 10532, -8800, -18426,
	-8859, -26675, 16163, 5689, 6516, -1496, -30967, 23565, -20179,
	-20710, -25080, 12796, -26616, -16064, 12442, -9134, 650, 25986,
	-27837, -19883, 28250, 15887, 8898, 28309, -9075, 30199, -18249,
	-13426, -14017, 29156, 12757, -16832, -4311, 24155, 17915, 335,
	-11182, 11477, -13387, 32227, 14233, -20494, 21655, 27738, -13131,
	-945, 4587, 14883, -23092, -6182, -5493, -32010, 32502, -10631,
	-30317, -29175, 18741, 28762, -12639, 18486, -20100, -17560, -18525,
	14430, -19529, 5276, 12619, 31183, -20297, -25435, -2146, 7382,
	-15355, -24391, 32384, 20927, 6280, -10946, 14903, -24214, 11044,
	-16989, -14469, -10335, 21498, 7934, 20198, 22502, -23210, -10906,
	17442, -31636, 23860, -28644, 20257, -23998, -7756, 17422, -23132,
};
/* 1/128 mod Q, the factor at the end of the inverse transform, and its ratio as
 * in zeta_ratio. */
enum { INVERSE = -26, INVERSE_RATIO = -512 };

/* ---- numbers modulo Q --------------------------------------------------- */

/* Reduces a modulo Q to [-Q/2, Q/2]. 20159 = round(2^26 / Q). */
static inline int16_t
reduce(int16_t a)
{
	int32_t quotient = (((int32_t)a * 20159 >> 16) + (1 << 9)) >> 10;

	return (int16_t)(a - quotient * Q);
}

/* Reduces a sum of products, |a| < 2^30, to [-Q/2, Q/2]. 645084 = round(2^31 /
 * Q). */
static inline int16_t
reduce_wide(int32_t a)
{
	int64_t quotient = ((int64_t)a * 645084 + (1 << 30)) >> 31;

	return (int16_t)(a - quotient * Q);
}

/* Maps [-Q, Q) to [0, Q). */
static inline uint16_t
to_unsigned(int16_t a)
{
	return (uint16_t)(a + (Q & a >> 15));
}

/* Returns round(2^d * a / Q) mod 2^d for a in [0, Q) and d up to 10. 161271 =
 * ceil(2^29 / Q) makes the quotient exact in this range. */
static inline uint16_t
compress(uint16_t a, unsigned d)
{
	uint64_t n = ((uint64_t)a << d) + Q / 2;

	return (uint16_t)(n * 161271 >> 29 & ((1u << d) - 1));
}

static inline int16_t
decompress(uint16_t a, unsigned d)
{
	return (int16_t)(((uint32_t)a * Q + (1u << (d - 1))) >> d);
}

/* ---- polynomials -------------------------------------------------------- */

static void
poly_reduce(struct poly *p)
{
	for (int i = 0; i < N; i++)
		p->c[i] = reduce(p->c[i]);
}

static void
poly_add(struct poly *p, const struct poly *a)
{
	for (int i = 0; i < N; i++)
		p->c[i] = (int16_t)(p->c[i] + a->c[i]);
}

/* The transform has seven layers, so it ends with pairs of coefficients. Their
 * magnitude is at most Q + 7 * 5Q/4, which is below 2^15. */
#define NUMBER int16_t
#define PRODUCT int32_t
enum { BITS = 16, LAST_HALF = 2 };

#include "crypto/fallback/ntt-internal.h"

/* The transform (algorithm 9), for coefficients of a magnitude below Q. */
static void
ntt(struct poly *p)
{
	transform(p);
}

/* The inverse (algorithm 10), for coefficients of a magnitude up to 5Q/4. */
static void
ntt_inverse(struct poly *p)
{
	transform_back(p);
}

/* The inner product of two transformed vectors (algorithms 11 and 12). Each
 * pair of coefficients is multiplied modulo X^2 - r, where r is a zeta or its
 * negative. */
static void
dot(struct poly *out, const struct polyvec *a, const struct polyvec *b)
{
	for (int i = 0; i < N; i += 2) {
		int32_t low = 0, mid = 0, high = 0;
		int32_t w = zeta[64 + i / 4];

		for (int k = 0; k < K; k++) {
			const int16_t *x = a->v[k].c + i, *y = b->v[k].c + i;

			low += (int32_t)x[0] * y[0];
			mid += (int32_t)x[0] * y[1] + (int32_t)x[1] * y[0];
			high += (int32_t)x[1] * y[1];
		}
		w = i % 4 == 0 ? w : -w;
		out->c[i] = reduce_wide(low + reduce_wide(high) * w);
		out->c[i + 1] = reduce_wide(mid);
	}
}

/* ---- bytes -------------------------------------------------------------- */

static void
encode12(uint8_t *out, const struct poly *p)
{
	for (int i = 0; i < N / 2; i++) {
		unsigned a = to_unsigned(p->c[2 * i]);
		unsigned b = to_unsigned(p->c[2 * i + 1]);

		out[3 * i] = (uint8_t)a;
		out[3 * i + 1] = (uint8_t)(a >> 8 | b << 4);
		out[3 * i + 2] = (uint8_t)(b >> 4);
	}
}

static void
decode12(struct poly *p, const uint8_t *in)
{
	for (int i = 0; i < N / 2; i++, in += 3) {
		unsigned a = in[0] | (in[1] & 15u) << 8;
		unsigned b = in[1] >> 4 | (unsigned)in[2] << 4;

		p->c[2 * i] = (int16_t)a;
		p->c[2 * i + 1] = (int16_t)b;
	}
}

/* The modulus check of section 7.2: are all numbers of a decoded public key
 * below Q? */
static bool
is_reduced(const struct polyvec *t)
{
	int16_t largest = 0;

	for (int k = 0; k < K; k++) {
		for (int i = 0; i < N; i++)
			largest = MAX(largest, t->v[k].c[i]);
	}
	return largest < Q;
}

static void
encode_u(uint8_t *out, const struct poly *p)
{
	for (int i = 0; i < N; i += 4, out += 5) {
		uint64_t bits = 0;

		for (int j = 3; j >= 0; j--)
			bits = bits << DU |
			    compress(to_unsigned(p->c[i + j]), DU);
		for (int j = 0; j < 5; j++)
			out[j] = (uint8_t)(bits >> 8 * j);
	}
}

static void
decode_u(struct poly *p, const uint8_t *in)
{
	for (int i = 0; i < N; i += 4, in += 5) {
		uint64_t bits = 0;

		for (int j = 4; j >= 0; j--)
			bits = bits << 8 | in[j];
		for (int j = 0; j < 4; j++)
			p->c[i + j] = decompress(bits >> DU * j & 0x3ff, DU);
	}
}

static void
encode_v(uint8_t *out, const struct poly *p)
{
	for (int i = 0; i < N / 2; i++) {
		unsigned a = compress(to_unsigned(p->c[2 * i]), DV);
		unsigned b = compress(to_unsigned(p->c[2 * i + 1]), DV);

		out[i] = (uint8_t)(a | b << 4);
	}
}

static void
decode_v(struct poly *p, const uint8_t *in)
{
	for (int i = 0; i < N / 2; i++) {
		p->c[2 * i] = decompress(in[i] & 15, DV);
		p->c[2 * i + 1] = decompress(in[i] >> 4, DV);
	}
}

static void
encode_message(uint8_t out[SYM_LEN], const struct poly *p)
{
	for (int i = 0; i < SYM_LEN; i++) {
		unsigned byte = 0;

		for (int j = 0; j < 8; j++)
			byte |= (unsigned)compress(
			    to_unsigned(p->c[8 * i + j]), 1) << j;
		out[i] = (uint8_t)byte;
	}
}

/* Bit i of in becomes coefficient i: 0, or (Q + 1) / 2 if the bit is set. There
 * is no branch, because the bits are secret. */
static void
decode_message(struct poly *p, const uint8_t in[SYM_LEN])
{
	for (int i = 0; i < N; i++)
		p->c[i] = (int16_t)(ct_opaque(in[i / 8] >> i % 8 & 1) *
		    ((Q + 1) / 2));
}

/* ---- sampling ----------------------------------------------------------- */

/* Algorithm 7: uniform coefficients, by rejection, from the public seed rho. */
static void
sample_uniform(struct poly *p, const uint8_t rho[SYM_LEN], uint8_t column,
    uint8_t row)
{
	const uint8_t at[2] = { column, row };
	uint8_t block[SHAKE128_RATE];
	struct keccak xof;
	int n = 0;

	shake_begin_at(&xof, SHAKE128_RATE, rho, SYM_LEN, at);
	while (n < N) {
		shake_squeeze(&xof, block, sizeof block);
		for (size_t i = 0; i < sizeof block && n < N; i += 3) {
			const uint8_t *b = block + i;
			int first = b[0] | (b[1] & 15) << 8;
			int second = b[1] >> 4 | b[2] << 4;

			if (first < Q)
				p->c[n++] = (int16_t)first;
			if (second < Q && n < N)
				p->c[n++] = (int16_t)second;
		}
	}
}

static void
sample_matrix(struct polyvec a[K], const uint8_t rho[SYM_LEN], bool transposed)
{
	for (uint8_t i = 0; i < K; i++) {
		for (uint8_t j = 0; j < K; j++) {
			if (transposed)
				sample_uniform(&a[i].v[j], rho, i, j);
			else
				sample_uniform(&a[i].v[j], rho, j, i);
		}
	}
}

/* PRF and algorithm 8: coefficients from -2 to 2. Each is the difference of two
 * sums of two random bits. */
static void
sample_small(struct poly *p, const uint8_t seed[SYM_LEN], uint8_t counter)
{
	uint8_t bytes[NOISE_LEN];
	struct keccak prf;

	shake_init(&prf, SHAKE256_RATE);
	shake_absorb(&prf, seed, SYM_LEN);
	shake_absorb(&prf, &counter, 1);
	shake_finish(&prf);
	shake_squeeze(&prf, bytes, sizeof bytes);
	for (int i = 0; i < NOISE_LEN; i++) {
		int pairs = (bytes[i] & 0x55) + (bytes[i] >> 1 & 0x55);

		p->c[2 * i] = (int16_t)((pairs & 3) - (pairs >> 2 & 3));
		p->c[2 * i + 1] =
		    (int16_t)((pairs >> 4 & 3) - (pairs >> 6 & 3));
	}
	shake_clear(&prf);
	explicit_bzero(bytes, sizeof bytes);
}

/* ---- K-PKE, section 5 --------------------------------------------------- */

/* Algorithm 13, from rho and sigma on, to which d was expanded. dk gets only
 * the secret vector. */
static void
pke_keygen(uint8_t ek[MLKEM_EK_LEN], uint8_t dk[DK_EK],
    const uint8_t rho[SYM_LEN], const uint8_t sigma[SYM_LEN])
{
	struct {
		struct polyvec a[K], s;
		struct poly t, e;
	} w;

	sample_matrix(w.a, rho, false);
	for (uint8_t i = 0; i < K; i++) {
		sample_small(&w.s.v[i], sigma, i);
		ntt(&w.s.v[i]);
		encode12(dk + i * POLY12_LEN, &w.s.v[i]);
	}
	for (uint8_t i = 0; i < K; i++) {
		sample_small(&w.e, sigma, K + i);
		ntt(&w.e);
		dot(&w.t, &w.a[i], &w.s);
		poly_add(&w.t, &w.e);
		poly_reduce(&w.t);
		encode12(ek + i * POLY12_LEN, &w.t);
	}
	memcpy(ek + K * POLY12_LEN, rho, SYM_LEN);
	explicit_bzero(&w, sizeof w);
}

/* Encrypts m with the random bytes coins (algorithm 14). ERR_KEX_VALUE: a
 * number in ek is not below Q. */
static int
pke_encrypt(uint8_t ct[MLKEM_CT_LEN], const uint8_t ek[MLKEM_EK_LEN],
    const uint8_t m[SYM_LEN], const uint8_t coins[SYM_LEN])
{
	struct {
		struct polyvec a[K], t, y;
		struct poly e, sum;
	} w;

	for (int i = 0; i < K; i++)
		decode12(&w.t.v[i], ek + i * POLY12_LEN);
	if (!is_reduced(&w.t))
		return ERR_KEX_VALUE;
	sample_matrix(w.a, ek + K * POLY12_LEN, true);
	for (uint8_t i = 0; i < K; i++) {
		sample_small(&w.y.v[i], coins, i);
		ntt(&w.y.v[i]);
	}
	for (uint8_t i = 0; i < K; i++) {
		sample_small(&w.e, coins, K + i);
		dot(&w.sum, &w.a[i], &w.y);
		ntt_inverse(&w.sum);
		poly_add(&w.sum, &w.e);
		poly_reduce(&w.sum);
		encode_u(ct + i * U_LEN, &w.sum);
	}
	sample_small(&w.e, coins, 2 * K);
	dot(&w.sum, &w.t, &w.y);
	ntt_inverse(&w.sum);
	poly_add(&w.sum, &w.e);
	decode_message(&w.e, m);
	poly_add(&w.sum, &w.e);
	poly_reduce(&w.sum);
	encode_v(ct + K * U_LEN, &w.sum);
	explicit_bzero(&w, sizeof w);
	return 0;
}

/* Decrypts m from ct (algorithm 15). */
static void
pke_decrypt(uint8_t m[SYM_LEN], const uint8_t ct[MLKEM_CT_LEN],
    const uint8_t dk[DK_EK])
{
	struct {
		struct polyvec u, s;
		struct poly v, sum;
	} w;

	for (int i = 0; i < K; i++) {
		decode_u(&w.u.v[i], ct + i * U_LEN);
		ntt(&w.u.v[i]);
		decode12(&w.s.v[i], dk + i * POLY12_LEN);
	}
	decode_v(&w.v, ct + K * U_LEN);
	dot(&w.sum, &w.s, &w.u);
	ntt_inverse(&w.sum);
	for (int i = 0; i < N; i++)
		w.v.c[i] = reduce((int16_t)(w.v.c[i] - w.sum.c[i]));
	encode_message(m, &w.v);
	explicit_bzero(&w, sizeof w);
}

/* ---- ML-KEM, section 6 -------------------------------------------------- */

/* The hash G of m and of the hash of ek: the shared secret, and the random
 * bytes for pke_encrypt(). */
static void
derive(uint8_t out[SHA3_512_LEN], const uint8_t m[SYM_LEN],
    const uint8_t ek_hash[SYM_LEN])
{
	uint8_t in[2 * SYM_LEN];

	memcpy(in, m, SYM_LEN);
	memcpy(in + SYM_LEN, ek_hash, SYM_LEN);
	sha3_512(out, in, sizeof in);
	explicit_bzero(in, sizeof in);
}

void
mlkem_own_keygen(uint8_t ek[MLKEM_EK_LEN], uint8_t dk[MLKEM_DK_LEN],
    const uint8_t d[MLKEM_SEED_LEN], const uint8_t z[MLKEM_SEED_LEN])
{
	uint8_t in[SYM_LEN + 1], seeds[SHA3_512_LEN];

	memcpy(in, d, SYM_LEN);
	in[SYM_LEN] = K;
	sha3_512(seeds, in, sizeof in);
	pke_keygen(ek, dk, seeds, seeds + SYM_LEN);
	memcpy(dk + DK_EK, ek, MLKEM_EK_LEN);
	sha3_256(dk + DK_HASH, ek, MLKEM_EK_LEN);
	memcpy(dk + DK_Z, z, SYM_LEN);
	explicit_bzero(in, sizeof in);
	explicit_bzero(seeds, sizeof seeds);
}

int
mlkem_own_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN], const uint8_t m[MLKEM_SEED_LEN])
{
	uint8_t hash[SHA3_256_LEN], derived[SHA3_512_LEN];
	int r;

	sha3_256(hash, ek, MLKEM_EK_LEN);
	derive(derived, m, hash);
	r = pke_encrypt(ct, ek, m, derived + SYM_LEN);
	if (r == 0)
		memcpy(ss, derived, MLKEM_SS_LEN);
	explicit_bzero(derived, sizeof derived);
	return r;
}

void
mlkem_own_decaps(uint8_t ss[MLKEM_SS_LEN], const uint8_t ct[MLKEM_CT_LEN],
    const uint8_t dk[MLKEM_DK_LEN])
{
	uint8_t m[SYM_LEN], derived[SHA3_512_LEN], rejected[MLKEM_SS_LEN];
	uint8_t again[MLKEM_CT_LEN];
	struct keccak j;
	uint32_t wrong, diff = 0;

	pke_decrypt(m, ct, dk);
	derive(derived, m, dk + DK_HASH);

	shake_init(&j, SHAKE256_RATE);
	shake_absorb(&j, dk + DK_Z, SYM_LEN);
	shake_absorb(&j, ct, MLKEM_CT_LEN);
	shake_finish(&j);
	shake_squeeze(&j, rejected, sizeof rejected);

	/* This cannot fail: the numbers of our own ek are below Q. */
	if (pke_encrypt(again, dk + DK_EK, m, derived + SYM_LEN) != 0)
		memset(again, 0, sizeof again);
	for (int i = 0; i < MLKEM_CT_LEN; i++)
		diff |= (uint32_t)(ct[i] ^ again[i]);
	wrong = ct_mask_nonzero(diff);
	for (int i = 0; i < MLKEM_SS_LEN; i++)
		ss[i] = (uint8_t)ct_select(wrong, rejected[i], derived[i]);
	explicit_bzero(m, sizeof m);
	explicit_bzero(derived, sizeof derived);
	explicit_bzero(rejected, sizeof rejected);
	explicit_bzero(again, sizeof again);
	shake_clear(&j);
}
