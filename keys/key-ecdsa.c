/* SPDX-License-Identifier: ISC */
/* ECDSA over the NIST curves: RFC 5656 section 3. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/key-internal.h"

static const struct curve {
	int bits;
	const char *name;      /* in key blobs */
	const char *evp_group; /* OpenSSL's name of the curve */
	const char *digest;    /* for signatures: RFC 5656 section 6.2.1 */
} curves[] = {
	{ 256, "nistp256", "prime256v1", "SHA256" },
	{ 384, "nistp384", "secp384r1", "SHA384" },
	{ 521, "nistp521", "secp521r1", "SHA512" },
};

enum { FIELD_MAX = 66, POINT_MAX = 1 + 2 * FIELD_MAX };

static const struct curve *
curve_of(int param)
{
	for (size_t i = 0; i < ARRAY_LEN(curves); i++) {
		if (curves[i].bits == param)
			return &curves[i];
	}
	mem_ensure_failed("curve is in the table", __FILE__, __LINE__);
}

static size_t
field_len(const struct curve *c)
{
	return ((size_t)c->bits + 7) / 8;
}

static bool
owns(const EVP_PKEY *pkey, int param)
{
	char group[32];
	size_t len;

	return EVP_PKEY_is_a(pkey, "EC") == 1 &&
	    EVP_PKEY_get_group_name(pkey, group, sizeof group, &len) == 1 &&
	    strcmp(group, curve_of(param)->evp_group) == 0;
}

static int
generate(int param, unsigned bits, EVP_PKEY **out)
{
	if (bits != (unsigned)param && !(bits == 0 && param == 256))
		return ERR_KEY_LENGTH;
	*out = EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve_of(param)->evp_group);
	return *out != NULL ? 0 : key_evp_failed();
}

/* ERR_FORMAT unless the point of the public key is on the curve and is not the
 * point at infinity. */
static int
check_public(EVP_PKEY *pkey)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
	int r = 0;

	if (ctx == NULL)
		return ERR_NOMEM;
	if (EVP_PKEY_public_check_quick(ctx) != 1) {
		(void)key_evp_failed();
		r = ERR_FORMAT;
	}
	EVP_PKEY_CTX_free(ctx);
	return r;
}

static int
check_pair(EVP_PKEY *pkey)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
	int r = 0;

	if (ctx == NULL)
		return ERR_NOMEM;
	if (EVP_PKEY_private_check(ctx) != 1 ||
	    EVP_PKEY_pairwise_check(ctx) != 1) {
		(void)key_evp_failed();
		r = ERR_FORMAT;
	}
	EVP_PKEY_CTX_free(ctx);
	return r;
}

/* Reads the curve name and the point, with which public and private keys
 * begin. */
static struct span
get_point(const struct curve *c, struct rd *r)
{
	struct span name = rd_string(r), point = rd_string(r);

	if (rd_err(r) == 0 &&
	    (!span_equals(name, c->name) ||
		point.len != 1 + 2 * field_len(c) ||
		point.p[0] != POINT_CONVERSION_UNCOMPRESSED))
		rd_fail(r, ERR_FORMAT);
	return point;
}

/* Makes a key of the point and the private number d. A d of NULL makes a public
 * key. Bad numbers are ERR_FORMAT. */
static int
build(const struct curve *c, struct span point, const BIGNUM *d,
    EVP_PKEY **out)
{
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY *pkey = NULL;
	int r;

	if (bld == NULL)
		return ERR_NOMEM;
	if (OSSL_PARAM_BLD_push_utf8_string(bld, OSSL_PKEY_PARAM_GROUP_NAME,
		c->evp_group, 0) != 1 ||
	    OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY,
		point.p, point.len) != 1 ||
	    (d != NULL &&
		OSSL_PARAM_BLD_push_BN_pad(bld, OSSL_PKEY_PARAM_PRIV_KEY, d,
		    field_len(c)) != 1)) {
		OSSL_PARAM_BLD_free(bld);
		return key_evp_failed();
	}
	r = key_evp_build("EC", d != NULL ? EVP_PKEY_KEYPAIR :
					    EVP_PKEY_PUBLIC_KEY, bld, &pkey);
	if (r != 0)
		return r == ERR_CRYPTO ? ERR_FORMAT : r;
	r = d != NULL ? check_pair(pkey) : check_public(pkey);
	if (r == 0)
		*out = pkey;
	else
		EVP_PKEY_free(pkey);
	return r;
}

static int
get_public(int param, struct rd *r, EVP_PKEY **out)
{
	const struct curve *c = curve_of(param);
	struct span point = get_point(c, r);

	if (rd_err(r) != 0)
		return rd_err(r);
	return build(c, point, NULL, out);
}

static int
put_public(int param, const EVP_PKEY *pkey, struct buf *out)
{
	const struct curve *c = curve_of(param);
	int len = (int)field_len(c), r = 0;
	uint8_t point[POINT_MAX];
	BIGNUM *x = NULL, *y = NULL;

	/* We encode the point ourselves, because OpenSSL would repeat the
	 * compressed form if the key came from a file that had it. */
	point[0] = POINT_CONVERSION_UNCOMPRESSED;
	if (EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_EC_PUB_X, &x) != 1 ||
	    EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_EC_PUB_Y, &y) != 1 ||
	    BN_bn2binpad(x, point + 1, len) != len ||
	    BN_bn2binpad(y, point + 1 + len, len) != len) {
		r = key_evp_failed();
	} else {
		buf_put_cstring(out, c->name);
		buf_put_string(out, point, 1 + 2 * (size_t)len);
		r = buf_err(out);
	}
	BN_free(x);
	BN_free(y);
	return r;
}

static int
get_private(int param, struct rd *r, EVP_PKEY **out)
{
	const struct curve *c = curve_of(param);
	struct span point = get_point(c, r), number = rd_mpint(r);
	BIGNUM *d;
	int res;

	if (rd_err(r) != 0)
		return rd_err(r);
	if (number.len == 0 || number.len > field_len(c))
		return ERR_FORMAT;
	d = BN_bin2bn(number.p, (int)number.len, NULL);
	if (d == NULL)
		return ERR_NOMEM;
	res = build(c, point, d, out);
	BN_clear_free(d);
	return res;
}

static int
put_private(int param, const EVP_PKEY *pkey, struct buf *out)
{
	int r = put_public(param, pkey, out);

	if (r == 0)
		r = key_evp_put_number(pkey, OSSL_PKEY_PARAM_PRIV_KEY, out);
	return r;
}

static void
put_bn(struct buf *out, const BIGNUM *n)
{
	uint8_t be[FIELD_MAX];

	buf_put_mpint(out, be, (size_t)BN_bn2bin(n, be));
}

static int
sign(int param, EVP_PKEY *pkey, struct span data, struct buf *out)
{
	const uint8_t *p;
	uint8_t *der = NULL;
	size_t len = 0;
	ECDSA_SIG *sig = NULL;
	int r;

	r = key_evp_sign(pkey, curve_of(param)->digest, data, &der, &len);
	if (r != 0)
		return r;
	p = der;
	sig = d2i_ECDSA_SIG(NULL, &p, (long)len);
	if (sig == NULL) {
		r = key_evp_failed();
	} else {
		put_bn(out, ECDSA_SIG_get0_r(sig));
		put_bn(out, ECDSA_SIG_get0_s(sig));
		r = buf_err(out);
	}
	ECDSA_SIG_free(sig);
	free(der);
	return r;
}

static int
verify(int param, EVP_PKEY *pkey, struct span data, struct span signature)
{
	const struct curve *c = curve_of(param);
	struct rd rd = rd_from_span(signature);
	struct span r_num = rd_mpint(&rd), s_num = rd_mpint(&rd);
	ECDSA_SIG *sig = NULL;
	BIGNUM *r_bn = NULL, *s_bn = NULL;
	uint8_t *der = NULL;
	int len, r = ERR_NOMEM;

	if (rd_end(&rd) != 0 || r_num.len == 0 || s_num.len == 0 ||
	    r_num.len > field_len(c) || s_num.len > field_len(c))
		return ERR_SIGNATURE;
	sig = ECDSA_SIG_new();
	r_bn = BN_bin2bn(r_num.p, (int)r_num.len, NULL);
	s_bn = BN_bin2bn(s_num.p, (int)s_num.len, NULL);
	if (sig == NULL || r_bn == NULL || s_bn == NULL ||
	    ECDSA_SIG_set0(sig, r_bn, s_bn) != 1)
		goto out;
	r_bn = s_bn = NULL; /* sig owns them now */
	len = i2d_ECDSA_SIG(sig, &der);
	if (len <= 0)
		goto out;
	r = key_evp_verify(pkey, c->digest, data,
	    (struct span){ der, (size_t)len });
out:
	OPENSSL_free(der);
	BN_free(r_bn);
	BN_free(s_bn);
	ECDSA_SIG_free(sig);
	return r;
}

static unsigned
bits(int param, const EVP_PKEY *pkey)
{
	(void)pkey;
	return (unsigned)param;
}

/* The vtables of security keys: the private half is in an authenticator, so
 * they cannot sign here. is_webauthn: the signature is one that a browser
 * requested. */
#define SK(name, is_webauthn)                                                 \
	const struct key_ops name = {                                         \
		.is_sk = true,                                                \
		.webauthn = is_webauthn,                                      \
		.get_public = get_public,                                     \
		.put_public = put_public,                                     \
		.put_lead = put_public,                                       \
		.verify = verify,                                             \
		.bits = bits,                                                 \
	}

SK(key_ops_sk_ecdsa, false);
SK(key_ops_sk_webauthn, true);

const struct key_ops key_ops_ecdsa = {
	.owns = owns,
	.generate = generate,
	.get_public = get_public,
	.put_public = put_public,
	.get_private = get_private,
	.put_private = put_private,
	.put_lead = put_public,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
