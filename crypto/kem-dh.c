/* SPDX-License-Identifier: ISC */
/*
 * Diffie-Hellman modulo a prime: the fixed groups of RFC 3526 (RFC 4253
 * section 8, RFC 8268) and groups from the server (RFC 4419).
 */
#include "crypto/kem-internal.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/kem-group.h"

enum { BITS_MIN = 4 }; /* a public value with fewer bits set is refused */

struct dh {
	BIGNUM *p, *g;	  /* the group */
	BIGNUM *x;	  /* private exponent; NULL until make_key() */
	BIGNUM *x_public; /* g^x mod p */
};

/* Private exponents have twice as many bits as the strength of the group (RFC
 * 7919 appendix A). Longer ones would cost up to ten times as much and add no
 * security. */
static const struct {
	int group_bits, exponent_bits;
} strengths[] = {
	{ 3071, 256 },
	{ 4095, 288 },
	{ 6143, 352 },
	{ DH_MAX_BITS, 416 },
};

static void
dh_free(void *state)
{
	struct dh *dh = state;

	if (dh == NULL)
		return;
	BN_free(dh->p);
	BN_free(dh->g);
	BN_clear_free(dh->x);
	BN_free(dh->x_public);
	free(dh);
}

/* 1 < v < p - 1? This is required of generators and public values, because
 * other values are in a subgroup of one or two elements. */
static bool
is_inside(const BIGNUM *v, const BIGNUM *p)
{
	BIGNUM *last = BN_dup(p);
	bool r;

	r = last != NULL && BN_sub_word(last, 1) == 1 &&
	    !BN_is_negative(v) && BN_cmp(v, BN_value_one()) > 0 &&
	    BN_cmp(v, last) < 0;
	BN_free(last);
	return r;
}

/* Returns false if v has so few bits set that it must be a small power of the
 * generator. Other programs read the line that is logged, so its form stays. */
static bool
has_bits(const BIGNUM *v, const BIGNUM *p)
{
	int all = BN_num_bits(p), n = 0;

	for (int i = 0; i < all; i++)
		n += BN_is_bit_set(v, i);
	log_debug2("bits set: %d/%d", n, all);
	if (n < BITS_MIN)
		log_info("invalid public DH value (%d/%d)", n, all);
	return n >= BITS_MIN;
}

static int
new_group(void **state, struct span prime, struct span generator,
    int min_bits)
{
	struct dh *dh;
	int r;

	*state = NULL;
	if (prime.len > DH_MAX_BITS / 8 || generator.len > prime.len)
		return ERR_KEX_VALUE;
	dh = calloc(1, sizeof *dh);
	if (dh == NULL)
		return ERR_NOMEM;
	r = ERR_NOMEM;
	dh->p = BN_bin2bn(prime.p, (int)prime.len, NULL);
	dh->g = BN_bin2bn(generator.p, (int)generator.len, NULL);
	if (dh->p == NULL || dh->g == NULL)
		goto out;
	r = ERR_KEX_VALUE;
	if (BN_num_bits(dh->p) < min_bits || !BN_is_odd(dh->p) ||
	    !is_inside(dh->g, dh->p))
		goto out;
	*state = dh;
	dh = NULL;
	r = 0;
out:
	dh_free(dh);
	return r;
}

int
dh_new_group(void **state, struct span prime, struct span generator)
{
	return new_group(state, prime, generator, DH_MIN_BITS);
}

/* Makes the fixed group of this many bits. Each fixed group has the generator
 * 2. */
static int
new_fixed(void **state, uint32_t bits)
{
	static const uint8_t two = 2;
	struct buf prime;
	int r;

	buf_init(&prime);
	r = kem_fixed_prime(bits, &prime);
	if (r == 0)
		r = new_group(state,
		    buf_span(&prime),
		    (struct span){ &two, 1 }, DH_OLD_BITS);
	buf_clear(&prime);
	return r;
}

/* Sets out to base^x mod p. The time does not depend on x. */
static int
power(const struct dh *dh, BIGNUM *out, const BIGNUM *base)
{
	BN_CTX *ctx = BN_CTX_secure_new();
	int r = ERR_CRYPTO;

	if (ctx != NULL &&
	    BN_mod_exp_mont_consttime(out, base, dh->x, dh->p, ctx, NULL) == 1)
		r = 0;
	BN_CTX_free(ctx);
	return r;
}

static int
make_key(struct dh *dh)
{
	int group_bits = BN_num_bits(dh->p), r;
	size_t i = 0;

	if (dh->x != NULL)
		return ERR_ARGUMENT;
	while (group_bits > strengths[i].group_bits)
		i++;
	dh->x = BN_secure_new();
	dh->x_public = BN_new();
	if (dh->x == NULL || dh->x_public == NULL)
		return ERR_NOMEM;
	BN_set_flags(dh->x, BN_FLG_CONSTTIME);
	if (BN_priv_rand_ex(dh->x, strengths[i].exponent_bits, BN_RAND_TOP_ONE,
	    BN_RAND_BOTTOM_ANY, 0, NULL) != 1)
		return ERR_CRYPTO;
	if ((r = power(dh, dh->x_public, dh->g)) != 0)
		return r;
	return has_bits(dh->x_public, dh->p) ? 0 : ERR_CRYPTO;
}

/* Appends the content of an mpint: the shortest form, with a leading zero byte
 * if the top bit is set, which would mean a negative number. */
static void
put_value(struct buf *out, const BIGNUM *v)
{
	int bits = BN_num_bits(v), len = bits / 8 + 1;
	uint8_t *to = buf_reserve(out, (size_t)len);

	if (to != NULL && BN_bn2binpad(v, to, len) == len)
		buf_commit(out, (size_t)len);
}

/* Reads the peer's public value. NULL if it is malformed or not acceptable. The
 * caller frees it. */
static BIGNUM *
get_value(const struct dh *dh, struct span in)
{
	BIGNUM *v;

	if (in.len == 0 || in.len > DH_MAX_BITS / 8 + 1 || in.p[0] >= 0x80)
		return NULL;
	if (in.p[0] == 0 && (in.len == 1 || in.p[1] < 0x80))
		return NULL;
	v = BN_bin2bn(in.p, (int)in.len, NULL);
	if (v != NULL && is_inside(v, dh->p) && has_bits(v, dh->p))
		return v;
	BN_free(v);
	return NULL;
}

static int
dh_init(const struct kem_alg *alg, void **state, struct buf *out)
{
	struct dh *dh;
	int r = 0;

	if (*state == NULL && alg->group_exchange)
		return ERR_ARGUMENT;
	if (*state == NULL)
		r = new_fixed(state, (uint32_t)alg->param);
	if (r != 0)
		return r;
	dh = *state;
	r = make_key(dh);
	if (r == 0)
		put_value(out, dh->x_public);
	return r;
}

static int
dh_finish(const struct kem_alg *alg, void *state, struct span reply,
    struct buf *shared)
{
	struct dh *dh = state;
	uint8_t bytes[DH_MAX_BITS / 8];
	int len = BN_num_bytes(dh->p), r;
	BIGNUM *peer, *secret = NULL;

	(void)alg;
	if (dh->x == NULL)
		return ERR_ARGUMENT;
	peer = get_value(dh, reply);
	if (peer == NULL)
		return ERR_KEX_VALUE;
	r = ERR_NOMEM;
	secret = BN_secure_new();
	if (secret == NULL)
		goto out;
	r = power(dh, secret, peer);
	if (r != 0)
		goto out;
	r = ERR_KEX_VALUE;
	if (!is_inside(secret, dh->p))
		goto out;
	r = ERR_CRYPTO;
	if (BN_bn2binpad(secret, bytes, len) != len)
		goto out;
	buf_put_mpint(shared, bytes, (size_t)len);
	r = 0;
out:
	explicit_bzero(bytes, sizeof bytes);
	BN_free(peer);
	BN_clear_free(secret);
	return r;
}

static int
dh_reply(const struct kem_alg *alg, void *state, struct span init,
    struct buf *out, struct buf *shared)
{
	void *used = state;
	int r;

	r = dh_init(alg, &used, out); /* sets used if state is NULL */
	if (r == 0)
		r = dh_finish(alg, used, init, shared);
	if (used != state)
		dh_free(used);
	return r;
}

const struct kem_ops kem_ops_dh = {
	.init = dh_init,
	.finish = dh_finish,
	.reply = dh_reply,
	.free = dh_free,
};
