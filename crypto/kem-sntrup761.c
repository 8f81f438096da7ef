/* SPDX-License-Identifier: ISC */
/*
 * Streamlined NTRU Prime 761. Polynomials live in Z[x] / (x^P - x - 1),
 * with coefficients modulo Q = 4591 (kept nearest to zero) or modulo 3
 * ("small": -1, 0, 1; "short": small with exactly W that are not 0).
 *
 * Everything that depends on a secret is additions, multiplications, shifts
 * and masks. Loops run over arrays padded to a multiple of the vector length
 * with constant or public trip counts, so that compilers vectorise them.
 * Division is used only in decode(), whose input is a public key or a
 * ciphertext, both public.
 */
#include "crypto/kem-sntrup761.h"

#include <string.h>

#include "base/ct.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"

enum {
	P = 761,		/* degree */
	PAD = 768,		/* P, up to a multiple of the vector length */
	Q = 4591,		/* modulus */
	HALF_Q = (Q - 1) / 2,
	W = 286,		/* weight of short polynomials */
	STEPS = 2 * P - 1,	/* division steps that are always enough */
	CHUNK = 32,		/* elements for each turn of an inner loop */
	SMALL_LEN = (P + 3) / 4, /* bytes of an encoded small polynomial */
	ROUNDED_LEN = 1007,	/* bytes of an encoded rounded polynomial */
	ROUNDED_RANGE = (Q + 2) / 3, /* multiples of 3 in [-HALF_Q, HALF_Q] */
	HASH_LEN = 32,		/* bytes kept of a SHA-512 */
	ENCODE_LIMIT = 16384,	/* ranges below this stay in one word */
	ENCODE_LEVELS = 11,
	/* Offsets of the fields of the secret key, after f. */
	SK_GINV = SMALL_LEN,
	SK_PK = 2 * SMALL_LEN,
	SK_RHO = SK_PK + SNTRUP761_PK_LEN,
	SK_HASH = SK_RHO + SMALL_LEN,
};

/* Purposes of a hash. The purpose is the first byte that is hashed. */
enum {
	HASH_REJECTED = 0,
	HASH_SESSION = 1,
	HASH_CONFIRM = 2,
	HASH_INPUT = 3,
	HASH_KEY = 4,
};

/* The coefficients of a small polynomial; those from P on are 0. */
struct small {
	int8_t c[PAD];
};

struct ring {
	int16_t c[PAD];
};

/* ---- numbers modulo Q and 3 --------------------------------------------- */

/* Reduces a to [-HALF_Q, HALF_Q], for |a| < 2^25. 239492840 = round(2^40 /
 * Q). */
static inline int16_t
mod_q(int32_t a)
{
	int64_t quotient = ((int64_t)a * 239492840 + (1LL << 39)) >> 40;

	return (int16_t)(a - quotient * Q);
}

/* Reduces a to [-1, 1], for |a| < 2^14. 10923 = round(2^15 / 3). */
static inline int8_t
mod_3(int32_t a)
{
	return (int8_t)(a - 3 * ((a * 10923 + (1 << 14)) >> 15));
}

/* 1/a modulo Q, computed as a to the power of Q - 2. */
static int16_t
invert_q(int16_t a)
{
	int16_t r = 1;

	for (int bit = 12; bit >= 0; bit--) {
		r = mod_q((int32_t)r * r);
		if ((Q - 2) >> bit & 1)
			r = mod_q((int32_t)r * a);
	}
	return r;
}

/* ---- product ------------------------------------------------------------ */

/*
 * Computes a * b without reducing the coefficients modulo Q. The products of
 * eight coefficients of b are summed in 16 bits, for which |a| <= HALF_Q and
 * |b| <= 1 are small enough.
 */
static void
multiply(int32_t out[P], const struct ring *a, const struct small *b)
{
	enum { ROWS = 8, SPAN = PAD + ROWS };
	struct {
		int16_t a[ROWS + SPAN];
		int32_t sum[PAD + SPAN];
	} w;
	const int16_t *x = w.a + ROWS;

	memset(&w, 0, sizeof w);
	memcpy(w.a + ROWS, a->c, sizeof a->c);
	for (int i = 0; i < PAD; i += ROWS) {
		const int8_t *y = b->c + i;
		int32_t *sum = w.sum + i;

		for (int j = 0; j < SPAN; j++) {
			int16_t s = (int16_t)(x[j] * y[0] + x[j - 1] * y[1] +
			    x[j - 2] * y[2] + x[j - 3] * y[3] +
			    x[j - 4] * y[4] + x[j - 5] * y[5] +
			    x[j - 6] * y[6] + x[j - 7] * y[7]);

			sum[j] += s;
		}
	}
	/* Reduces modulo x^P - x - 1, by which x^P is x + 1. */
	out[0] = w.sum[0] + w.sum[P];
	for (int i = 1; i < P; i++)
		out[i] = w.sum[i] + w.sum[P + i] + w.sum[P + i - 1];
	explicit_bzero(&w, sizeof w);
}

static void
multiply_q(struct ring *out, const struct ring *a, const struct small *b)
{
	int32_t sum[P];

	multiply(sum, a, b);
	for (int i = 0; i < P; i++)
		out->c[i] = mod_q(sum[i]);
	memset(out->c + P, 0, sizeof out->c - P * sizeof out->c[0]);
	explicit_bzero(sum, sizeof sum);
}

/* ---- inverse modulo Q --------------------------------------------------- */

/*
 * Both inverses use the division steps of Bernstein and Yang, "Fast
 * constant-time gcd computation and modular inversion" (2019): f and g hold
 * the reversed modulus and input, v and r the cofactors. A step swaps the
 * pairs if delta > 0 and g(0) != 0, cancels g(0) by means of f(0), and
 * divides g by x. After 2P - 1 steps f is a constant, delta is 0, and the
 * reversed v is the inverse times that constant.
 */

static int
swap_mask(int delta, int g0)
{
	return (int)(ct_mask_positive(delta) & ct_mask_nonzero((uint32_t)g0));
}

/* What decides one division step, and its factors. */
struct divstep_q {
	int16_t swap;		   /* mask */
	int16_t f0, g0;		   /* after the swap, reduced to [-HALF_Q,
				    * HALF_Q] */
	int16_t f0_ratio, g0_ratio; /* round(2^16 * f0 / Q), and of g0 */
};

static inline int16_t
ratio_q(int16_t x)
{
	return (int16_t)(((int64_t)x * 935519 + (1 << 15)) >> 16);
}

/* f0 * b - g0 * a modulo Q, with quotients estimated from the high halves. For
 * |a|, |b| < 2^13 the magnitude of the result is below 1.2 Q. */
static inline int16_t
eliminate(const struct divstep_q *s, int16_t a, int16_t b)
{
	int32_t qb = (int32_t)b * s->f0_ratio >> 16;
	int32_t qa = (int32_t)a * s->g0_ratio >> 16;

	return (int16_t)(b * s->f0 - a * s->g0 - (qb - qa) * Q);
}

static inline void
chunk_vr(const struct divstep_q *s, int16_t *restrict v, int16_t *restrict r)
{
	for (int i = 0; i < CHUNK; i++) {
		int16_t t = (int16_t)(s->swap & (v[i] ^ r[i]));
		int16_t a = (int16_t)(v[i] ^ t), b = (int16_t)(r[i] ^ t);

		v[i] = a;
		r[i] = eliminate(s, a, b);
	}
}

/* As chunk_vr() for f and g, and divides g by x: the result for g[i] is written
 * to g[i - 1]. */
static inline void
chunk_fg(const struct divstep_q *s, int16_t *restrict f, int16_t *restrict g)
{
	for (int i = 0; i < CHUNK; i++) {
		int16_t t = (int16_t)(s->swap & (f[i] ^ g[i]));
		int16_t a = (int16_t)(f[i] ^ t), b = (int16_t)(g[i] ^ t);

		f[i] = a;
		g[i - 1] = eliminate(s, a, b);
	}
}

/* out = 1 / (3 * in). The inverse always exists, because the modulus is
 * irreducible. */
static void
invert_3_q(struct ring *out, const struct small *in)
{
	struct {
		int16_t f[PAD + CHUNK], g[PAD + CHUNK], r[PAD + CHUNK];
		int16_t v[STEPS + PAD + CHUNK]; /* the pointer moves */
	} w;
	int16_t *v = w.v + STEPS;
	struct divstep_q s;
	int delta = 1;
	int16_t scale;

	memset(&w, 0, sizeof w);
	w.f[0] = 1;
	w.f[P - 1] = w.f[P] = -1;
	for (int i = 0; i < P; i++)
		w.g[i] = in->c[P - 1 - i];
	w.r[0] = -(Q - 1) / 3; /* 1/3 mod Q */

	for (int step = 0; step < STEPS; step++) {
		/* vr: how many coefficients of v and r can be other than 0. fg:
		 * how many of f and g later steps still need. */
		int vr = MIN(step + 2, P + 1), fg = MIN(P, STEPS - step);
		int swap = swap_mask(delta, mod_q(w.g[0]));
		int16_t t = (int16_t)(swap & (w.f[0] ^ w.g[0]));

		delta = ((delta ^ swap) - swap) + 1;
		w.f[0] ^= t;
		s.swap = (int16_t)swap;
		s.f0 = mod_q(w.f[0]);
		s.g0 = mod_q((int16_t)(w.g[0] ^ t));
		s.f0_ratio = ratio_q(s.f0);
		s.g0_ratio = ratio_q(s.g0);
		for (int i = 1; i <= fg; i += CHUNK)
			chunk_fg(&s, w.f + i, w.g + i);
		v--;
		for (int i = 0; i < vr; i += CHUNK)
			chunk_vr(&s, v + i, w.r + i);
	}

	scale = invert_q(mod_q(w.f[0]));
	memset(out, 0, sizeof *out);
	for (int i = 0; i < P; i++)
		out->c[i] = mod_q(scale * mod_q(v[P - 1 - i]));
	explicit_bzero(&w, sizeof w);
	explicit_bzero(&s, sizeof s);
}

/* ---- inverse modulo 3 --------------------------------------------------- */

/* Coefficients modulo 3 as two bit planes: bit i of plus is set if coefficient
 * i is 1, bit i of minus if it is -1. */
enum { WORDS = PAD / 64 };

struct trits {
	uint64_t plus[WORDS], minus[WORDS];
};

static void
trits_set(struct trits *t, int i, int v)
{
	t->plus[i / 64] |= (uint64_t)(v & 1 & ~(v >> 1)) << i % 64;
	t->minus[i / 64] |= (uint64_t)(v >> 1 & 1) << i % 64;
}

static int
trits_get(const struct trits *t, int i)
{
	return (int)(t->plus[i / 64] >> i % 64 & 1) -
	    (int)(t->minus[i / 64] >> i % 64 & 1);
}

static void
trits_swap(struct trits *a, struct trits *b, uint64_t mask)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t p = mask & (a->plus[i] ^ b->plus[i]);
		uint64_t m = mask & (a->minus[i] ^ b->minus[i]);

		a->plus[i] ^= p;
		b->plus[i] ^= p;
		a->minus[i] ^= m;
		b->minus[i] ^= m;
	}
}

/* a += c * b. c is 1 if the mask c_plus is all ones, -1 if c_minus is, else
 * 0. */
static void
trits_add_multiple(struct trits *a, const struct trits *b, uint64_t c_plus,
    uint64_t c_minus)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t p = (b->plus[i] & c_plus) | (b->minus[i] & c_minus);
		uint64_t m = (b->minus[i] & c_plus) | (b->plus[i] & c_minus);
		uint64_t t = (a->plus[i] | m) ^ (a->minus[i] | p);

		p |= a->plus[i];
		m |= a->minus[i];
		a->minus[i] = p ^ t;
		a->plus[i] = m ^ t;
	}
}

static void
plane_down(uint64_t p[WORDS])
{
	for (int i = 0; i < WORDS - 1; i++)
		p[i] = p[i] >> 1 | p[i + 1] << 63;
	p[WORDS - 1] >>= 1;
}

static void
plane_up(uint64_t p[WORDS])
{
	for (int i = WORDS - 1; i > 0; i--)
		p[i] = p[i] << 1 | p[i - 1] >> 63;
	p[0] <<= 1;
}

/* out = 1 / in. Returns 0 if the inverse exists, else a mask of all ones. */
static int
invert_3(struct small *out, const struct small *in)
{
	struct {
		struct trits f, g, v, r;
	} w;
	int delta = 1, sign;

	memset(&w, 0, sizeof w);
	trits_set(&w.f, 0, 1);
	trits_set(&w.f, P - 1, -1);
	trits_set(&w.f, P, -1);
	for (int i = 0; i < P; i++)
		trits_set(&w.g, i, in->c[P - 1 - i]);
	trits_set(&w.r, 0, 1);

	for (int step = 0; step < STEPS; step++) {
		int swap = swap_mask(delta, trits_get(&w.g, 0));
		uint64_t mask = (uint64_t)(int64_t)swap, same, other;

		plane_up(w.v.plus);
		plane_up(w.v.minus);
		delta = ((delta ^ swap) - swap) + 1;
		trits_swap(&w.f, &w.g, mask);
		trits_swap(&w.v, &w.r, mask);
		/* If f(0) and g(0) have the same sign, f is subtracted from g,
		 * else added. */
		same = (w.f.plus[0] & w.g.plus[0]) |
		    (w.f.minus[0] & w.g.minus[0]);
		other = (w.f.plus[0] & w.g.minus[0]) |
		    (w.f.minus[0] & w.g.plus[0]);
		same = -(same & 1);
		other = -(other & 1);
		trits_add_multiple(&w.g, &w.f, other, same);
		trits_add_multiple(&w.r, &w.v, other, same);
		plane_down(w.g.plus);
		plane_down(w.g.minus);
	}

	sign = trits_get(&w.f, 0);
	memset(out, 0, sizeof *out);
	for (int i = 0; i < P; i++)
		out->c[i] = (int8_t)(sign * trits_get(&w.v, P - 1 - i));
	explicit_bzero(&w, sizeof w);
	return (int)ct_mask_nonzero((uint32_t)delta);
}

/* ---- sampling ----------------------------------------------------------- */

static inline void
order(uint32_t *a, uint32_t *b)
{
	uint64_t difference = (uint64_t)*b - *a; /* negative: swap */
	uint32_t t = ct_opaque((uint32_t)(difference >> 32)) & (*a ^ *b);

	*a ^= t;
	*b ^= t;
}

/* Batcher's merge exchange sort (Knuth, volume 3, 5.2.2, algorithm M). Which
 * pairs are compared depends only on PAD, so the time reveals nothing. */
static void
sort(uint32_t x[PAD])
{
	enum { TOP = 512 };

	for (int p = TOP; p > 0; p /= 2) {
		int d = p, r = 0;

		for (int q = TOP; q >= p; q /= 2) {
			for (int i = r; i < PAD - d; i += 2 * p) {
				int end = MIN(i + p, PAD - d);

				for (int j = i; j < end; j++)
					order(&x[j], &x[j + d]);
			}
			d = q - p;
			r = p;
		}
	}
}

/* Makes a random short polynomial. W random signs and P - W zeros get a random
 * order by sorting random numbers. The low two bits of each number are the
 * coefficient plus 1. */
static void
random_short(struct small *out, void (*random)(void *p, size_t len))
{
	uint32_t x[PAD];

	random(x, P * sizeof x[0]);
	for (int i = 0; i < W; i++)
		x[i] &= ~UINT32_C(1);
	for (int i = W; i < P; i++)
		x[i] = (x[i] & ~UINT32_C(3)) | 1;
	for (int i = P; i < PAD; i++)
		x[i] = UINT32_MAX; /* sorts to the end */
	sort(x);
	memset(out, 0, sizeof *out);
	for (int i = 0; i < P; i++)
		out->c[i] = (int8_t)((int)(x[i] & 3) - 1);
	explicit_bzero(x, sizeof x);
}

static void
random_small(struct small *out, void (*random)(void *p, size_t len))
{
	uint32_t x[P];

	random(x, sizeof x);
	memset(out, 0, sizeof *out);
	for (int i = 0; i < P; i++)
		out->c[i] = (int8_t)((int)((x[i] & 0x3fffffff) * 3 >> 30) - 1);
	explicit_bzero(x, sizeof x);
}

/* ---- bytes -------------------------------------------------------------- */

/* Packs four coefficients into each byte. */
static void
encode_small(uint8_t out[SMALL_LEN], const struct small *in)
{
	for (int i = 0; i < SMALL_LEN; i++) {
		unsigned byte = 0;

		for (int j = 0; j < 4 && 4 * i + j < P; j++)
			byte |= (unsigned)(in->c[4 * i + j] + 1) << 2 * j;
		out[i] = (uint8_t)byte;
	}
}

static void
decode_small(struct small *out, const uint8_t in[SMALL_LEN])
{
	memset(out, 0, sizeof *out);
	for (int i = 0; i < P; i++)
		out->c[i] = (int8_t)((in[i / 4] >> 2 * (i % 4) & 3) - 1);
}

/*
 * Encodes P numbers below `range`. Two neighbours are joined to one number
 * below the product of their ranges. Its low bytes are written out until its
 * range is below ENCODE_LIMIT. The joined numbers are then joined in the same
 * way, until one is left.
 */
static void
encode(uint8_t *out, uint16_t r[P], uint16_t range)
{
	uint16_t m[P];
	int n = P;

	for (int i = 0; i < n; i++)
		m[i] = range;
	while (n > 1) {
		for (int i = 0; i < n / 2; i++) {
			uint32_t v = r[2 * i] + (uint32_t)r[2 * i + 1] *
			    m[2 * i];
			uint32_t limit = (uint32_t)m[2 * i] * m[2 * i + 1];

			for (; limit >= ENCODE_LIMIT;
			    limit = (limit + 255) >> 8) {
				*out++ = (uint8_t)v;
				v >>= 8;
			}
			r[i] = (uint16_t)v;
			m[i] = (uint16_t)limit;
		}
		if (n % 2 != 0) {
			r[n / 2] = r[n - 1];
			m[n / 2] = m[n - 1];
		}
		n = (n + 1) / 2;
	}
	for (uint32_t limit = m[0]; limit > 1; limit = (limit + 255) >> 8) {
		*out++ = (uint8_t)r[0];
		r[0] >>= 8;
	}
}

/* What decode() needs of one level of joining: the ranges of its numbers, and
 * the bytes that were written out. */
struct level {
	int n;
	uint16_t m[P];
	uint16_t low[P / 2];   /* low bytes of a joined pair */
	/* 256 to the power of the number of these bytes */
	uint32_t shift[P / 2];
};

static const uint8_t *
read_level(struct level *next, struct level *l, const uint8_t *in)
{
	int n = l->n;

	for (int i = 0; i < n / 2; i++) {
		uint32_t limit = (uint32_t)l->m[2 * i] * l->m[2 * i + 1];

		l->low[i] = 0;
		l->shift[i] = 1;
		for (; limit >= ENCODE_LIMIT; limit = (limit + 255) >> 8) {
			l->low[i] = (uint16_t)(l->low[i] +
			    *in++ * l->shift[i]);
			l->shift[i] <<= 8;
		}
		next->m[i] = (uint16_t)limit;
	}
	if (n % 2 != 0)
		next->m[n / 2] = l->m[n - 1];
	next->n = (n + 1) / 2;
	return in;
}

/* Reverses encode(). It divides, so in must be public. Any bytes decode to
 * numbers below range. */
static void
decode(uint16_t r[P], const uint8_t *in, uint16_t range)
{
	struct level levels[ENCODE_LEVELS];
	struct level *l = levels;
	uint32_t last = 0;
	int shift = 0;

	l->n = P;
	for (int i = 0; i < P; i++)
		l->m[i] = range;
	for (; l->n > 1; l++)
		in = read_level(l + 1, l, in);
	for (uint32_t limit = l->m[0]; limit > 1; limit = (limit + 255) >> 8) {
		last |= (uint32_t)*in++ << shift;
		shift += 8;
	}
	r[0] = (uint16_t)(last % l->m[0]);

	while (l-- > levels) {
		if (l->n % 2 != 0)
			r[l->n - 1] = r[l->n / 2];
		for (int i = l->n / 2 - 1; i >= 0; i--) {
			uint32_t v = l->low[i] + r[i] * l->shift[i];

			r[2 * i] = (uint16_t)(v % l->m[2 * i]);
			r[2 * i + 1] =
			    (uint16_t)(v / l->m[2 * i] % l->m[2 * i + 1]);
		}
	}
}

static void
encode_key(uint8_t out[SNTRUP761_PK_LEN], const struct ring *h)
{
	uint16_t r[P];

	for (int i = 0; i < P; i++)
		r[i] = (uint16_t)(h->c[i] + HALF_Q);
	encode(out, r, Q);
}

static void
decode_key(struct ring *h, const uint8_t in[SNTRUP761_PK_LEN])
{
	uint16_t r[P];

	decode(r, in, Q);
	memset(h, 0, sizeof *h);
	for (int i = 0; i < P; i++)
		h->c[i] = (int16_t)(r[i] - HALF_Q);
}

/* Encodes a polynomial whose coefficients are multiples of 3. */
static void
encode_rounded(uint8_t out[ROUNDED_LEN], const struct ring *a)
{
	uint16_t r[P];

	for (int i = 0; i < P; i++)
		r[i] = (uint16_t)((a->c[i] + HALF_Q) * 10923 >> 15);
	encode(out, r, ROUNDED_RANGE);
	explicit_bzero(r, sizeof r);
}

static void
decode_rounded(struct ring *a, const uint8_t in[ROUNDED_LEN])
{
	uint16_t r[P];

	decode(r, in, ROUNDED_RANGE);
	memset(a, 0, sizeof *a);
	for (int i = 0; i < P; i++)
		a->c[i] = (int16_t)(r[i] * 3 - HALF_Q);
}

/* ---- hashes ------------------------------------------------------------- */

/* The first half of SHA-512 over the purpose, a and b; b may be empty. */
static int
hash(uint8_t out[HASH_LEN], uint8_t purpose, const uint8_t *a, size_t a_len,
    const uint8_t *b, size_t b_len)
{
	uint8_t in[1 + HASH_LEN + SNTRUP761_PK_LEN], full[DIGEST_MAX_LEN];
	int r;

	ENSURE(a_len + b_len < sizeof in);
	in[0] = purpose;
	memcpy(in + 1, a, a_len);
	if (b_len > 0)
		memcpy(in + 1 + a_len, b, b_len);
	r = digest_once(DIGEST_SHA512, in, 1 + a_len + b_len, full);
	if (r == 0)
		memcpy(out, full, HASH_LEN);
	explicit_bzero(in, sizeof in);
	explicit_bzero(full, sizeof full);
	return r;
}

/* ---- the method --------------------------------------------------------- */

/* Encrypts the short polynomial r, whose encoding is r_bytes, with the public
 * key pk. Gives the ciphertext ct and r_hash, from which the shared secret is
 * made. */
static int
hide(uint8_t ct[SNTRUP761_CT_LEN], uint8_t r_hash[HASH_LEN],
    const struct small *r, const uint8_t r_bytes[SMALL_LEN],
    const uint8_t pk[SNTRUP761_PK_LEN], const uint8_t pk_hash[HASH_LEN])
{
	struct ring h;
	int ret;

	decode_key(&h, pk);
	multiply_q(&h, &h, r);
	for (int i = 0; i < P; i++)
		h.c[i] = (int16_t)(h.c[i] - mod_3(h.c[i]));
	encode_rounded(ct, &h);
	explicit_bzero(&h, sizeof h);
	ret = hash(r_hash, HASH_INPUT, r_bytes, SMALL_LEN, NULL, 0);
	if (ret == 0)
		ret = hash(ct + ROUNDED_LEN, HASH_CONFIRM, r_hash, HASH_LEN,
		    pk_hash, HASH_LEN);
	return ret;
}

/* Decrypts r from ct. If the result does not have weight W, r becomes 1 in its
 * first W coefficients. The caller encrypts r again, gets another ciphertext
 * than ct, and so notices the failure. */
static void
reveal(struct small *r, const uint8_t ct[ROUNDED_LEN],
    const uint8_t sk[SK_PK])
{
	struct {
		struct ring c;
		struct small f, ginv;
		int32_t product[P];
	} w;
	uint32_t wrong;
	int weight = 0;

	decode_rounded(&w.c, ct);
	decode_small(&w.f, sk);
	decode_small(&w.ginv, sk + SK_GINV);
	multiply_q(&w.c, &w.c, &w.f);
	for (int i = 0; i < P; i++)
		w.c.c[i] = mod_3(mod_q(3 * w.c.c[i]));
	multiply(w.product, &w.c, &w.ginv);
	memset(r, 0, sizeof *r);
	for (int i = 0; i < P; i++) {
		r->c[i] = mod_3(w.product[i]);
		weight += r->c[i] & 1;
	}
	wrong = ct_mask_nonzero((uint32_t)(weight - W));
	for (int i = 0; i < P; i++)
		r->c[i] = (int8_t)ct_select(wrong, i < W, (uint32_t)r->c[i]);
	explicit_bzero(&w, sizeof w);
}

int
sntrup761_keygen(uint8_t pk[SNTRUP761_PK_LEN], uint8_t sk[SNTRUP761_SK_LEN],
    void (*random)(void *p, size_t len))
{
	struct {
		struct small f, g, ginv;
		struct ring h;
	} w;

	do
		random_small(&w.g, random);
	while (invert_3(&w.ginv, &w.g) != 0);
	random_short(&w.f, random);
	invert_3_q(&w.h, &w.f);
	multiply_q(&w.h, &w.h, &w.g);

	encode_key(pk, &w.h);
	encode_small(sk, &w.f);
	encode_small(sk + SK_GINV, &w.ginv);
	memcpy(sk + SK_PK, pk, SNTRUP761_PK_LEN);
	random(sk + SK_RHO, SMALL_LEN);
	explicit_bzero(&w, sizeof w);
	return hash(sk + SK_HASH, HASH_KEY, pk, SNTRUP761_PK_LEN, NULL, 0);
}

int
sntrup761_encaps(uint8_t ct[SNTRUP761_CT_LEN], uint8_t ss[SNTRUP761_SS_LEN],
    const uint8_t pk[SNTRUP761_PK_LEN], void (*random)(void *p, size_t len))
{
	uint8_t bytes[SMALL_LEN], pk_hash[HASH_LEN], r_hash[HASH_LEN];
	struct small r;
	int ret;

	ret = hash(pk_hash, HASH_KEY, pk, SNTRUP761_PK_LEN, NULL, 0);
	if (ret != 0)
		return ret;
	random_short(&r, random);
	encode_small(bytes, &r);
	ret = hide(ct, r_hash, &r, bytes, pk, pk_hash);
	if (ret == 0)
		ret = hash(ss, HASH_SESSION, r_hash, HASH_LEN, ct,
		    SNTRUP761_CT_LEN);
	explicit_bzero(&r, sizeof r);
	explicit_bzero(bytes, sizeof bytes);
	explicit_bzero(r_hash, sizeof r_hash);
	return ret;
}

int
sntrup761_decaps(uint8_t ss[SNTRUP761_SS_LEN],
    const uint8_t ct[SNTRUP761_CT_LEN], const uint8_t sk[SNTRUP761_SK_LEN])
{
	uint8_t again[SNTRUP761_CT_LEN], bytes[SMALL_LEN], r_hash[HASH_LEN];
	struct small r;
	uint32_t wrong, diff = 0;
	int ret;

	reveal(&r, ct, sk);
	encode_small(bytes, &r);
	ret = hide(again, r_hash, &r, bytes, sk + SK_PK, sk + SK_HASH);
	if (ret != 0)
		goto out;
	for (int i = 0; i < SNTRUP761_CT_LEN; i++)
		diff |= (uint32_t)(ct[i] ^ again[i]);
	/* If r does not encrypt to ct, the secret is made from rho instead of
	 * r. Nobody else knows rho, so nobody else can compute this secret. */
	wrong = ct_mask_nonzero(diff);
	for (int i = 0; i < SMALL_LEN; i++)
		bytes[i] = (uint8_t)ct_select(wrong, sk[SK_RHO + i], bytes[i]);
	ret = hash(r_hash, HASH_INPUT, bytes, SMALL_LEN, NULL, 0);
	if (ret == 0)
		ret = hash(ss,
		    (uint8_t)ct_select(wrong, HASH_REJECTED, HASH_SESSION),
		    r_hash, HASH_LEN, ct, SNTRUP761_CT_LEN);
out:
	explicit_bzero(&r, sizeof r);
	explicit_bzero(bytes, sizeof bytes);
	explicit_bzero(r_hash, sizeof r_hash);
	explicit_bzero(again, sizeof again);
	return ret;
}
