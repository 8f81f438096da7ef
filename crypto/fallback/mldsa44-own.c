/* SPDX-License-Identifier: ISC */
/*
 * ML-DSA-44 as FIPS 204 describes it; names follow the standard.
 *
 * Everything that depends on a secret is additions, multiplications, shifts
 * and masks; division is by multiplication with a reciprocal. Branches and
 * indices may depend only on what ct_reveal() names:
 * - rho, from which the public matrix is made;
 * - which candidates were thrown away when the secret vectors were sampled:
 *   those that are kept do not depend on them;
 * - the challenge, and whether a candidate for a signature was rejected: a
 *   rejected one is independent of the key, which is what the scheme rests on;
 * - the signature that is given out.
 */
#include "crypto/fallback/mldsa44-own.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/fallback/keccak.h"
#include "crypto/fallback/mldsa44-internal.h"

enum {
	ETA = 2,     /* the largest coefficient of a secret */
	TAU = 39,    /* coefficients of a challenge that are not 0 */
	BETA = TAU * ETA,
	GAMMA1 = 1 << 17,
	GAMMA2 = (Q - 1) / 88,
	OMEGA = 80, /* hints that are not 0, at most */
	D = 13,	    /* bits dropped from t */
	HIGH_COUNT = (Q - 1) / (2 * GAMMA2),

	SEED_LEN = MLDSA44_SEED_LEN,
	CRH_LEN = 64,	/* of rho', tr and mu */
	CHALLENGE_LEN = 32,
	T1_LEN = 320,	/* bytes of a polynomial of 10-bit numbers */
	Z_LEN = 576,	/* bytes of a polynomial of 18-bit numbers */
	W1_LEN = 192,	/* bytes of a polynomial of 6-bit numbers */
	ROUNDS_MAX = 1000, /* the standard asks for 814 or more; the chance to
			    * need as many is below 2^-256 */
};

/* ---- numbers ------------------------------------------------------------ */

/* Algorithm 35: splits a in [0, Q) into high * 2^D + low. Returns high. */
static inline int32_t
power2round(int32_t *low, int32_t a)
{
	int32_t high = (a + (1 << (D - 1)) - 1) >> D;

	*low = a - (high << D);
	return high;
}

/* Algorithm 36: splits a in [0, Q) into high * 2 * GAMMA2 + low. Returns high.
 * The reciprocal with 2^48 makes the quotient exact for all a. */
static inline int32_t
decompose(int32_t *low, int32_t a)
{
	uint64_t n = (uint64_t)a + GAMMA2 - 1;
	int32_t high = (int32_t)(n * 1477838210 >> 48);

	/* A high of HIGH_COUNT becomes 0, and low one less (modulo Q). */
	high &= (int32_t)ct_mask_top((uint32_t)(high - HIGH_COUNT));
	a -= high * 2 * GAMMA2;
	*low = a - (Q & (int32_t)ct_mask_positive(a - Q / 2));
	return high;
}

/* ---- bytes -------------------------------------------------------------- */

/* Packs four numbers of `bits` bits each, the lowest bits first. */
static void
pack4(uint8_t *out, const uint32_t in[4], unsigned bits)
{
	uint64_t low = in[0] | (uint64_t)in[1] << bits;
	uint64_t high = in[2] | (uint64_t)in[3] << bits;
	unsigned half = 2 * bits;

	low |= high << half;
	high >>= 64 - half;
	for (unsigned i = 0; i < bits / 2; i++)
		out[i] = (uint8_t)(i < 8 ? low >> 8 * i : high >> 8 * (i - 8));
}

static void
unpack4(uint32_t out[4], const uint8_t *in, unsigned bits)
{
	uint64_t low = 0, high = 0, mask = ((uint64_t)1 << bits) - 1;
	unsigned half = 2 * bits;

	for (unsigned i = 0; i < bits / 2; i++) {
		if (i < 8)
			low |= (uint64_t)in[i] << 8 * i;
		else
			high |= (uint64_t)in[i] << 8 * (i - 8);
	}
	high = high << (64 - half) | low >> half;
	out[0] = (uint32_t)(low & mask);
	out[1] = (uint32_t)(low >> bits & mask);
	out[2] = (uint32_t)(high & mask);
	out[3] = (uint32_t)(high >> bits & mask);
}

/* Packs coefficients in [0, 2^bits), which those of t1 and w1 are. */
static void
encode(uint8_t *out, const struct poly *p, unsigned bits)
{
	for (int i = 0; i < N; i += 4, out += bits / 2) {
		uint32_t n[4];

		for (int j = 0; j < 4; j++)
			n[j] = (uint32_t)p->c[i + j];
		pack4(out, n, bits);
	}
}

static void
decode_t1(struct poly *p, const uint8_t *in)
{
	for (int i = 0; i < N; i += 4, in += 5) {
		uint32_t n[4];

		unpack4(n, in, 10);
		for (int j = 0; j < 4; j++)
			p->c[i + j] = (int32_t)n[j];
	}
}

/* Packs GAMMA1 minus each coefficient. */
static void
encode_z(uint8_t *out, const struct poly *p)
{
	for (int i = 0; i < N; i += 4, out += 9) {
		uint32_t n[4];

		for (int j = 0; j < 4; j++)
			n[j] = (uint32_t)(GAMMA1 - to_centered(p->c[i + j]));
		pack4(out, n, 18);
	}
}

static void
decode_z(struct poly *p, const uint8_t *in)
{
	for (int i = 0; i < N; i += 4, in += 9) {
		uint32_t n[4];

		unpack4(n, in, 18);
		for (int j = 0; j < 4; j++)
			p->c[i + j] = GAMMA1 - (int32_t)n[j];
	}
}

/* Algorithm 20: writes the indices of the hints that are 1, and behind them for
 * each polynomial where its indices end. */
static void
encode_hints(uint8_t out[OMEGA + K], const struct polyvec *h)
{
	unsigned n = 0;

	memset(out, 0, OMEGA + K);
	for (int k = 0; k < K; k++) {
		for (int i = 0; i < N; i++) {
			if (h->v[k].c[i] != 0)
				out[n++] = (uint8_t)i;
		}
		out[OMEGA + k] = (uint8_t)n;
	}
}

/* Algorithm 21. False if in is not the only allowed encoding of its hints: the
 * indices of a polynomial must rise, and unused bytes must be zero. */
static bool
decode_hints(struct polyvec *h, const uint8_t in[OMEGA + K])
{
	unsigned n = 0;

	memset(h, 0, sizeof *h);
	for (int k = 0; k < K; k++) {
		unsigned first = n, end = in[OMEGA + k];

		if (end < n || end > OMEGA)
			return false;
		for (; n < end; n++) {
			if (n > first && in[n - 1] >= in[n])
				return false;
			h->v[k].c[in[n]] = 1;
		}
	}
	for (; n < OMEGA; n++) {
		if (in[n] != 0)
			return false;
	}
	return true;
}

/* ---- sampling ----------------------------------------------------------- */

/* Begins a stream of SHAKE-256 over a seed and the number n in two bytes. */
static void
begin_numbered(struct keccak *xof, const uint8_t seed[CRH_LEN], unsigned n)
{
	const uint8_t number[2] = { (uint8_t)n, (uint8_t)(n >> 8) };

	shake_begin_at(xof, SHAKE256_RATE, seed, CRH_LEN, number);
}

/* Algorithm 30: uniform coefficients, by rejection, from the public seed
 * rho. */
static void
sample_uniform(struct poly *p, const uint8_t rho[SEED_LEN], uint8_t column,
    uint8_t row)
{
	const uint8_t at[2] = { column, row };
	uint8_t block[SHAKE128_RATE];
	struct keccak xof;
	int n = 0;

	shake_begin_at(&xof, SHAKE128_RATE, rho, SEED_LEN, at);
	while (n < N) {
		shake_squeeze(&xof, block, sizeof block);
		for (size_t i = 0; i < sizeof block && n < N; i += 3) {
			const uint8_t *b = block + i;
			int32_t a = b[0] | b[1] << 8 | (b[2] & 0x7f) << 16;

			if (a < Q)
				p->c[n++] = a;
		}
	}
}

static void
sample_matrix(struct polyvec a[K], const uint8_t rho[SEED_LEN])
{
	for (uint8_t i = 0; i < K; i++) {
		for (uint8_t j = 0; j < L; j++)
			sample_uniform(&a[i].v[j], rho, j, i);
	}
}

/* Algorithm 31: coefficients from -ETA to ETA. Each half of a byte that is
 * below 15 makes one. */
static void
sample_secret(struct poly *p, const uint8_t seed[CRH_LEN], unsigned number)
{
	uint8_t block[SHAKE256_RATE];
	struct keccak xof;
	int n = 0;

	begin_numbered(&xof, seed, number);
	while (n < N) {
		shake_squeeze(&xof, block, sizeof block);
		for (size_t i = 0; i < 2 * sizeof block && n < N; i++) {
			uint32_t a = block[i / 2] >> i % 2 * 4 & 15;
			uint32_t kept = ct_mask_top(a - 15);

			ct_reveal(&kept, sizeof kept);
			/* a * 205 / 1024 is a / 5 for a below 15. */
			if (kept != 0)
				p->c[n++] = ETA -
				    (int32_t)(a - (a * 205 >> 10) * 5);
		}
	}
	shake_clear(&xof);
	explicit_bzero(block, sizeof block);
}

/* Algorithm 34 for one polynomial: coefficients uniform in (-GAMMA1,
 * GAMMA1]. */
static void
sample_mask(struct poly *p, const uint8_t seed[CRH_LEN], unsigned number)
{
	uint8_t bytes[Z_LEN];
	struct keccak xof;

	begin_numbered(&xof, seed, number);
	shake_squeeze(&xof, bytes, sizeof bytes);
	decode_z(p, bytes);
	shake_clear(&xof);
	explicit_bzero(bytes, sizeof bytes);
}

/* Algorithm 29: TAU coefficients are 1 or -1, the others 0. */
static void
sample_challenge(struct poly *p, const uint8_t seed[CHALLENGE_LEN])
{
	uint64_t signs = 0;
	uint8_t bytes[8], j;
	struct keccak xof;

	memset(p, 0, sizeof *p);
	shake_init(&xof, SHAKE256_RATE);
	shake_absorb(&xof, seed, CHALLENGE_LEN);
	shake_finish(&xof);
	shake_squeeze(&xof, bytes, sizeof bytes);
	for (int i = 0; i < 8; i++)
		signs |= (uint64_t)bytes[i] << 8 * i;
	for (int i = N - TAU; i < N; i++) {
		do
			shake_squeeze(&xof, &j, 1);
		while (j > i);
		p->c[i] = p->c[j];
		p->c[j] = 1 - 2 * (int32_t)(signs & 1);
		signs >>= 1;
	}
}

/* ---- keys --------------------------------------------------------------- */

/* The private key and the matrix that a seed expands to (algorithm 6). s1, s2
 * and t0 are not transformed by expand_key(). */
struct expanded {
	uint8_t rho[SEED_LEN], key[SEED_LEN], tr[CRH_LEN];
	struct polyvec a[K]; /* transformed; a[i] is row i */
	struct polyvec s1, s2, t0;
};

static void
expand_seed(struct expanded *x, uint8_t secret[CRH_LEN],
    const uint8_t seed[SEED_LEN])
{
	static const uint8_t sizes[2] = { K, L };
	struct keccak h;

	shake_init(&h, SHAKE256_RATE);
	shake_absorb(&h, seed, SEED_LEN);
	shake_absorb(&h, sizes, sizeof sizes);
	shake_finish(&h);
	shake_squeeze(&h, x->rho, sizeof x->rho);
	shake_squeeze(&h, secret, CRH_LEN);
	shake_squeeze(&h, x->key, sizeof x->key);
	shake_clear(&h);
	ct_reveal(x->rho, sizeof x->rho);
}

static void
hash_public(uint8_t tr[CRH_LEN], const uint8_t public[MLDSA44_PUBLIC_LEN])
{
	struct keccak h;

	shake_init(&h, SHAKE256_RATE);
	shake_absorb(&h, public, MLDSA44_PUBLIC_LEN);
	shake_finish(&h);
	shake_squeeze(&h, tr, CRH_LEN);
}

static void
expand_key(struct expanded *x, uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[SEED_LEN])
{
	struct {
		uint8_t secret[CRH_LEN];
		struct polyvec s1;
		struct poly t;
	} w;

	expand_seed(x, w.secret, seed);
	sample_matrix(x->a, x->rho);
	for (unsigned i = 0; i < L; i++) {
		sample_secret(&x->s1.v[i], w.secret, i);
		w.s1.v[i] = x->s1.v[i];
		ntt(&w.s1.v[i]);
	}
	memcpy(public, x->rho, SEED_LEN);
	for (unsigned i = 0; i < K; i++) {
		sample_secret(&x->s2.v[i], w.secret, L + i);
		dot(&w.t, &x->a[i], &w.s1);
		ntt_inverse(&w.t);
		poly_add(&w.t, &x->s2.v[i]);
		poly_to_unsigned(&w.t);
		for (int j = 0; j < N; j++)
			w.t.c[j] = power2round(&x->t0.v[i].c[j], w.t.c[j]);
		encode(public + SEED_LEN + i * T1_LEN, &w.t, 10);
	}
	hash_public(x->tr, public);
	explicit_bzero(&w, sizeof w);
}

void
mldsa44_own_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN])
{
	struct expanded x;

	expand_key(&x, public, seed);
	explicit_bzero(&x, sizeof x);
}

/* ---- signatures --------------------------------------------------------- */

/* Computes mu, the hash of the public key's hash tr and of the message, which
 * is what is signed (algorithms 2 and 7). ERR_ARGUMENT: the context is too
 * long. */
static int
hash_message(uint8_t mu[CRH_LEN], const uint8_t tr[CRH_LEN],
    const struct mldsa44_message *m)
{
	const uint8_t head[2] = { 0, (uint8_t)m->context.len };
	struct keccak h;

	if (m->context.len > MLDSA44_CONTEXT_MAX)
		return ERR_ARGUMENT;
	shake_init(&h, SHAKE256_RATE);
	shake_absorb(&h, tr, CRH_LEN);
	shake_absorb(&h, head, sizeof head);
	shake_absorb(&h, m->context.p, m->context.len);
	shake_absorb(&h, m->data.p, m->data.len);
	shake_finish(&h);
	shake_squeeze(&h, mu, CRH_LEN);
	return 0;
}

/* Hashes mu and the high bits w1 to the bytes of the challenge. */
static void
hash_commitment(uint8_t challenge[CHALLENGE_LEN], const uint8_t mu[CRH_LEN],
    const struct polyvec *w1)
{
	uint8_t bytes[K * W1_LEN];
	struct keccak h;

	for (int i = 0; i < K; i++)
		encode(bytes + i * W1_LEN, &w1->v[i], 6);
	shake_init(&h, SHAKE256_RATE);
	shake_absorb(&h, mu, CRH_LEN);
	shake_absorb(&h, bytes, sizeof bytes);
	shake_finish(&h);
	shake_squeeze(&h, challenge, CHALLENGE_LEN);
	shake_clear(&h);
	explicit_bzero(bytes, sizeof bytes);
}

/* One attempt at a signature; names are the standard's. */
struct attempt {
	uint8_t challenge[CHALLENGE_LEN];
	struct poly c, product;
	struct polyvec y, y_ntt; /* y is the mask, y_ntt its transform */
	struct polyvec w, w1;
	struct polyvec z, h;
};

static void
commit(struct attempt *t, const struct expanded *x, const uint8_t mu[CRH_LEN],
    const uint8_t mask_seed[CRH_LEN], unsigned number)
{
	int32_t low;

	for (unsigned i = 0; i < L; i++) {
		sample_mask(&t->y.v[i], mask_seed, number + i);
		t->y_ntt.v[i] = t->y.v[i];
		ntt(&t->y_ntt.v[i]);
	}
	for (unsigned i = 0; i < K; i++) {
		struct poly *w = &t->w.v[i];

		dot(w, &x->a[i], &t->y_ntt);
		ntt_inverse(w);
		poly_to_unsigned(w);
		for (int j = 0; j < N; j++)
			t->w1.v[i].c[j] = decompose(&low, w->c[j]);
	}
	hash_commitment(t->challenge, mu, &t->w1);
	ct_reveal(t->challenge, sizeof t->challenge);
	sample_challenge(&t->c, t->challenge);
	ntt(&t->c);
}

/* Multiplies the challenge by a polynomial of the private key, which is
 * transformed. The result is t->product. */
static const struct poly *
times_challenge(struct attempt *t, const struct poly *secret_ntt)
{
	multiply(&t->product, &t->c, secret_ntt);
	ntt_inverse(&t->product);
	return &t->product;
}

/* Computes the response z. Returns all ones if a coefficient is so large that z
 * would reveal something about s1, and must not be given out. */
static uint32_t
respond(struct attempt *t, const struct expanded *x)
{
	uint32_t bad = 0;

	for (int i = 0; i < L; i++) {
		t->z.v[i] = t->y.v[i];
		poly_add(&t->z.v[i], times_challenge(t, &x->s1.v[i]));
		bad |= poly_reaches(&t->z.v[i], GAMMA1 - BETA);
	}
	return bad;
}

/* Subtracts c * s2 from w. Returns all ones if the low bits of w then are so
 * large that the signature would reveal something about s2. */
static uint32_t
check_low(struct attempt *t, const struct expanded *x)
{
	uint32_t bad = 0;

	for (int i = 0; i < K; i++) {
		struct poly *w = &t->w.v[i], low;

		poly_sub(w, times_challenge(t, &x->s2.v[i]));
		poly_to_unsigned(w);
		for (int j = 0; j < N; j++)
			(void)decompose(&low.c[j], w->c[j]);
		bad |= poly_reaches(&low, GAMMA2 - BETA);
		explicit_bzero(&low, sizeof low);
	}
	return bad;
}

/* Computes the hints, by which a verifier, who does not know t0, gets the same
 * high bits (algorithm 39). Returns all ones if there are too many hints, or c
 * * t0 is too large. */
static uint32_t
make_hints(struct attempt *t, const struct expanded *x)
{
	uint32_t bad = 0, count = 0;
	int32_t low;

	for (int i = 0; i < K; i++) {
		struct poly without = t->w.v[i];

		times_challenge(t, &x->t0.v[i]);
		bad |= poly_reaches(&t->product, GAMMA2);
		poly_add(&without, &t->product);
		poly_to_unsigned(&without);
		for (int j = 0; j < N; j++) {
			uint32_t a, b;

			a = (uint32_t)decompose(&low, without.c[j]);
			b = (uint32_t)decompose(&low, t->w.v[i].c[j]);
			t->h.v[i].c[j] = ct_mask_nonzero(a ^ b) & 1;
			count += (uint32_t)t->h.v[i].c[j];
		}
		explicit_bzero(&without, sizeof without);
	}
	return bad | ct_mask_top(OMEGA - count);
}

/* Makes one attempt at a signature. True if it may be given out. */
static bool
attempt_signature(struct attempt *t, const struct expanded *x,
    const uint8_t mu[CRH_LEN], const uint8_t mask_seed[CRH_LEN],
    unsigned number)
{
	uint32_t bad;

	commit(t, x, mu, mask_seed, number);
	bad = respond(t, x) | check_low(t, x);
	ct_reveal(&bad, sizeof bad);
	if (bad != 0)
		return false;
	bad = make_hints(t, x);
	ct_reveal(&bad, sizeof bad);
	return bad == 0;
}

static void
put_signature(uint8_t out[MLDSA44_SIGNATURE_LEN], struct attempt *t)
{
	ct_reveal(&t->h, sizeof t->h);
	memcpy(out, t->challenge, CHALLENGE_LEN);
	for (int i = 0; i < L; i++)
		encode_z(out + CHALLENGE_LEN + i * Z_LEN, &t->z.v[i]);
	encode_hints(out + CHALLENGE_LEN + L * Z_LEN, &t->h);
	ct_reveal(out, MLDSA44_SIGNATURE_LEN);
}

/* Computes rho'', the seed of all masks of a signature. */
static void
make_mask_seed(uint8_t out[CRH_LEN], const struct expanded *x,
    const uint8_t random[MLDSA44_RANDOM_LEN], const uint8_t mu[CRH_LEN])
{
	struct keccak h;

	shake_init(&h, SHAKE256_RATE);
	shake_absorb(&h, x->key, sizeof x->key);
	shake_absorb(&h, random, MLDSA44_RANDOM_LEN);
	shake_absorb(&h, mu, CRH_LEN);
	shake_finish(&h);
	shake_squeeze(&h, out, CRH_LEN);
	shake_clear(&h);
}

int
mldsa44_own_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN], const struct mldsa44_message *m,
    const uint8_t random[MLDSA44_RANDOM_LEN])
{
	struct {
		uint8_t public[MLDSA44_PUBLIC_LEN], mu[CRH_LEN];
		uint8_t mask_seed[CRH_LEN];
		struct expanded x;
		struct attempt t;
	} w;
	unsigned round = 0;
	int r;

	expand_key(&w.x, w.public, seed);
	r = hash_message(w.mu, w.x.tr, m);
	if (r == 0) {
		make_mask_seed(w.mask_seed, &w.x, random, w.mu);
		for (int i = 0; i < K; i++) {
			ntt(&w.x.s1.v[i]);
			ntt(&w.x.s2.v[i]);
			ntt(&w.x.t0.v[i]);
		}
		while (round < ROUNDS_MAX &&
		    !attempt_signature(&w.t, &w.x, w.mu, w.mask_seed,
			L * round))
			round++;
		if (round < ROUNDS_MAX)
			put_signature(signature, &w.t);
		else
			r = ERR_CRYPTO;
	}
	explicit_bzero(&w, sizeof w);
	return r;
}

/* ---- verification: all is public ---------------------------------------- */

/* Algorithm 40: the high bits of a, corrected by one if hint is 1. */
static int32_t
use_hint(int32_t hint, int32_t a)
{
	int32_t low, high = decompose(&low, a);

	if (hint == 0)
		return high;
	return (high + (low > 0 ? 1 : HIGH_COUNT - 1)) % HIGH_COUNT;
}

/* Computes w1 as the signer had it: the high bits of A z - c t1 2^D, corrected
 * by the hints h. */
static void
recover_commitment(struct polyvec *w1, const struct polyvec *z,
    const struct poly *c, const struct polyvec *h,
    const uint8_t public[MLDSA44_PUBLIC_LEN])
{
	struct polyvec a[K];
	struct poly t, product;

	sample_matrix(a, public);
	for (int i = 0; i < K; i++) {
		decode_t1(&t, public + SEED_LEN + i * T1_LEN);
		for (int j = 0; j < N; j++)
			t.c[j] <<= D;
		ntt(&t);
		multiply(&product, c, &t);
		dot(&t, &a[i], z);
		poly_sub(&t, &product);
		for (int j = 0; j < N; j++)
			t.c[j] = reduce(t.c[j]);
		ntt_inverse(&t);
		poly_to_unsigned(&t);
		for (int j = 0; j < N; j++)
			w1->v[i].c[j] = use_hint(h->v[i].c[j], t.c[j]);
	}
}

int
mldsa44_own_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN], const struct mldsa44_message *m)
{
	uint8_t tr[CRH_LEN], mu[CRH_LEN], challenge[CHALLENGE_LEN];
	struct polyvec z, h, w1;
	struct poly c;
	int r;

	hash_public(tr, public);
	r = hash_message(mu, tr, m);
	if (r != 0)
		return r;
	if (!decode_hints(&h, signature + CHALLENGE_LEN + L * Z_LEN))
		return ERR_SIGNATURE;
	for (int i = 0; i < L; i++) {
		decode_z(&z.v[i], signature + CHALLENGE_LEN + i * Z_LEN);
		if (poly_reaches(&z.v[i], GAMMA1 - BETA) != 0)
			return ERR_SIGNATURE;
		ntt(&z.v[i]);
	}
	sample_challenge(&c, signature);
	ntt(&c);
	recover_commitment(&w1, &z, &c, &h, public);
	hash_commitment(challenge, mu, &w1);
	return memcmp(challenge, signature, CHALLENGE_LEN) == 0 ?
	    0 :
	    ERR_SIGNATURE;
}
