/* SPDX-License-Identifier: ISC */
/* RSA: RFC 4253 section 6.6 (blobs), RFC 8332 (SHA-2 signatures). */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "crypto/digest.h"
#include "keys/key-internal.h"

enum {
	BITS_MIN = 1024,
	BITS_MAX = 16384, /* longer keys cost too much CPU time */
	BITS_DEFAULT = 3072,
	EXPONENT_BITS_MAX = 64,
};

/* The numbers of a key. A public key has only n and e; the rest is NULL. */
struct numbers {
	BIGNUM *n, *e, *d, *iqmp, *p, *q, *dmp1, *dmq1;
};

static void
numbers_clear(struct numbers *k)
{
	BN_free(k->n);
	BN_free(k->e);
	BN_clear_free(k->d);
	BN_clear_free(k->iqmp);
	BN_clear_free(k->p);
	BN_clear_free(k->q);
	BN_clear_free(k->dmp1);
	BN_clear_free(k->dmq1);
}

static BIGNUM *
get_number(struct rd *r)
{
	struct span s = rd_mpint(r);
	BIGNUM *n = NULL;

	if (s.len > BITS_MAX / 8)
		rd_fail(r, ERR_KEY_LENGTH);
	if (rd_err(r) != 0)
		return NULL;
	n = BN_bin2bn(s.p, (int)s.len, NULL);
	if (n == NULL)
		rd_fail(r, ERR_NOMEM);
	return n;
}

static int
check_public(const BIGNUM *n, const BIGNUM *e)
{
	int n_bits = BN_num_bits(n);

	if (n_bits < BITS_MIN || n_bits > BITS_MAX)
		return ERR_KEY_LENGTH;
	if (!BN_is_odd(n) || !BN_is_odd(e) || BN_is_one(e) ||
	    BN_num_bits(e) > EXPONENT_BITS_MAX)
		return ERR_FORMAT;
	return 0;
}

/*
 * Computes dmp1 and dmq1, which the openssh-key-v1 format does not hold.
 * Returns ERR_FORMAT if the numbers do not belong together: a signature that is
 * made with CRT values of another key would reveal the primes.
 */
static int
complete(struct numbers *k)
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *p1 = BN_new(), *q1 = BN_new(), *t = BN_new();
	int r = ERR_FORMAT;

	k->dmp1 = BN_new();
	k->dmq1 = BN_new();
	if (ctx == NULL || p1 == NULL || q1 == NULL || t == NULL ||
	    k->dmp1 == NULL || k->dmq1 == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	BN_set_flags(k->d, BN_FLG_CONSTTIME);
	BN_set_flags(k->p, BN_FLG_CONSTTIME);
	BN_set_flags(k->q, BN_FLG_CONSTTIME);
	BN_set_flags(p1, BN_FLG_CONSTTIME);
	BN_set_flags(q1, BN_FLG_CONSTTIME);
	if (!BN_is_odd(k->p) || !BN_is_odd(k->q) || BN_is_one(k->p) ||
	    BN_is_one(k->q) || !BN_mul(t, k->p, k->q, ctx) ||
	    BN_cmp(t, k->n) != 0)
		goto out;
	if (!BN_sub(p1, k->p, BN_value_one()) ||
	    !BN_sub(q1, k->q, BN_value_one()) ||
	    !BN_mod(k->dmp1, k->d, p1, ctx) ||
	    !BN_mod(k->dmq1, k->d, q1, ctx))
		goto out;
	if (!BN_mod_mul(t, k->dmp1, k->e, p1, ctx) || !BN_is_one(t) ||
	    !BN_mod_mul(t, k->dmq1, k->e, q1, ctx) || !BN_is_one(t) ||
	    BN_cmp(k->iqmp, k->p) >= 0 ||
	    !BN_mod_mul(t, k->iqmp, k->q, k->p, ctx) || !BN_is_one(t))
		goto out;
	r = 0;
out:
	BN_clear_free(t);
	BN_clear_free(q1);
	BN_clear_free(p1);
	BN_CTX_free(ctx);
	if (r != 0)
		(void)key_evp_failed();
	return r;
}

static int
build(const struct numbers *k, EVP_PKEY **out)
{
	const struct {
		const char *name;
		const BIGNUM *n;
	} fields[] = {
		{ OSSL_PKEY_PARAM_RSA_N, k->n },
		{ OSSL_PKEY_PARAM_RSA_E, k->e },
		{ OSSL_PKEY_PARAM_RSA_D, k->d },
		{ OSSL_PKEY_PARAM_RSA_FACTOR1, k->p },
		{ OSSL_PKEY_PARAM_RSA_FACTOR2, k->q },
		{ OSSL_PKEY_PARAM_RSA_EXPONENT1, k->dmp1 },
		{ OSSL_PKEY_PARAM_RSA_EXPONENT2, k->dmq1 },
		{ OSSL_PKEY_PARAM_RSA_COEFFICIENT1, k->iqmp },
	};
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();

	if (bld == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].n != NULL &&
		    OSSL_PARAM_BLD_push_BN(bld, fields[i].name,
			fields[i].n) != 1) {
			OSSL_PARAM_BLD_free(bld);
			return key_evp_failed();
		}
	}
	return key_evp_build("RSA",
	    k->d != NULL ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, bld, out);
}

static bool
owns(const EVP_PKEY *pkey, int param)
{
	(void)param;
	return EVP_PKEY_is_a(pkey, "RSA") == 1;
}

static int
generate(int param, unsigned bits, EVP_PKEY **out)
{
	(void)param;
	if (bits == 0)
		bits = BITS_DEFAULT;
	if (bits < BITS_MIN || bits > BITS_MAX)
		return ERR_KEY_LENGTH;
	*out = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
	return *out != NULL ? 0 : key_evp_failed();
}

static int
get_public(int param, struct rd *r, EVP_PKEY **out)
{
	struct numbers k = { 0 };
	int res;

	(void)param;
	k.e = get_number(r);
	k.n = get_number(r);
	res = rd_err(r);
	if (res == 0)
		res = check_public(k.n, k.e);
	if (res == 0)
		res = build(&k, out);
	numbers_clear(&k);
	return res;
}

static int
put_public(int param, const EVP_PKEY *pkey, struct buf *out)
{
	int r;

	(void)param;
	r = key_evp_put_number(pkey, OSSL_PKEY_PARAM_RSA_E, out);
	if (r == 0)
		r = key_evp_put_number(pkey, OSSL_PKEY_PARAM_RSA_N, out);
	return r;
}

static int
put_lead(int param, const EVP_PKEY *pkey, struct buf *out)
{
	int r;

	(void)param;
	r = key_evp_put_number(pkey, OSSL_PKEY_PARAM_RSA_N, out);
	if (r == 0)
		r = key_evp_put_number(pkey, OSSL_PKEY_PARAM_RSA_E, out);
	return r;
}

static int
get_private(int param, struct rd *r, EVP_PKEY **out)
{
	struct numbers k = { 0 };
	int res;

	(void)param;
	k.n = get_number(r);
	k.e = get_number(r);
	k.d = get_number(r);
	k.iqmp = get_number(r);
	k.p = get_number(r);
	k.q = get_number(r);
	res = rd_err(r);
	if (res == 0)
		res = check_public(k.n, k.e);
	if (res == 0)
		res = complete(&k);
	if (res == 0)
		res = build(&k, out);
	numbers_clear(&k);
	return res;
}

static int
put_private(int param, const EVP_PKEY *pkey, struct buf *out)
{
	static const char *const fields[] = {
		OSSL_PKEY_PARAM_RSA_N,
		OSSL_PKEY_PARAM_RSA_E,
		OSSL_PKEY_PARAM_RSA_D,
		OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
		OSSL_PKEY_PARAM_RSA_FACTOR1,
		OSSL_PKEY_PARAM_RSA_FACTOR2,
	};
	int r = 0;

	(void)param;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fields); i++)
		r = key_evp_put_number(pkey, fields[i], out);
	return r;
}

static int
sign(int param, EVP_PKEY *pkey, struct span data, struct buf *out)
{
	return key_evp_put_signature(pkey,
	    digest_name((enum digest_alg)param), data, out);
}

static int
verify(int param, EVP_PKEY *pkey, struct span data, struct span signature)
{
	const char *digest = digest_name((enum digest_alg)param);
	size_t want = (size_t)EVP_PKEY_get_size(pkey);
	uint8_t *padded;
	int r;

	if (signature.len == 0 || signature.len > want)
		return ERR_SIGNATURE;
	if (signature.len == want)
		return key_evp_verify(pkey, digest, data, signature);
	/* Some peers omit the leading zeros of a signature. OpenSSL wants all
	 * bytes. */
	padded = calloc(1, want);
	if (padded == NULL)
		return ERR_NOMEM;
	memcpy(padded + want - signature.len, signature.p, signature.len);
	r = key_evp_verify(pkey, digest, data, (struct span){ padded, want });
	free(padded);
	return r;
}

static unsigned
bits(int param, const EVP_PKEY *pkey)
{
	(void)param;
	return (unsigned)EVP_PKEY_get_bits(pkey);
}

const struct key_ops key_ops_rsa = {
	.owns = owns,
	.generate = generate,
	.get_public = get_public,
	.put_public = put_public,
	.get_private = get_private,
	.put_private = put_private,
	.put_lead = put_lead,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
