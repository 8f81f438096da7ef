/* SPDX-License-Identifier: ISC */
/* Ed25519: RFC 8709 on the wire, RFC 8032 inside. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "keys/key-internal.h"

enum { PUBLIC_LEN = 32, SEED_LEN = 32, SIGNATURE_LEN = 64 };

static bool
owns(const EVP_PKEY *pkey, int param)
{
	(void)param;
	return EVP_PKEY_is_a(pkey, "ED25519") == 1;
}

static int
generate(int param, unsigned bits, EVP_PKEY **out)
{
	(void)param;
	(void)bits; /* ssh-keygen -b is ignored: there is only one size */
	*out = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return *out != NULL ? 0 : key_evp_failed();
}

static int
get_public(int param, struct rd *r, EVP_PKEY **out)
{
	struct span point = rd_string(r);

	(void)param;
	if (rd_err(r) != 0)
		return rd_err(r);
	if (point.len != PUBLIC_LEN)
		return ERR_FORMAT;
	*out = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, point.p,
	    point.len);
	return *out != NULL ? 0 : key_evp_failed();
}

static int
put_public(int param, const EVP_PKEY *pkey, struct buf *out)
{
	uint8_t point[PUBLIC_LEN];
	size_t len = sizeof point;

	(void)param;
	if (EVP_PKEY_get_raw_public_key(pkey, point, &len) != 1)
		return key_evp_failed();
	buf_put_string(out, point, len);
	return buf_err(out);
}

/* A private key is two strings: the public key, and the seed with the public
 * key behind it. */
static int
get_private(int param, struct rd *r, EVP_PKEY **out)
{
	struct span point = rd_string(r), both = rd_string(r);
	uint8_t derived[PUBLIC_LEN];
	size_t len = sizeof derived;
	EVP_PKEY *pkey;

	(void)param;
	if (rd_err(r) != 0)
		return rd_err(r);
	if (point.len != PUBLIC_LEN || both.len != SEED_LEN + PUBLIC_LEN)
		return ERR_FORMAT;
	pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, both.p,
	    SEED_LEN);
	if (pkey == NULL)
		return key_evp_failed();
	/* Both copies of the public key must belong to the seed: signing with
	 * another public key would reveal the private one. */
	if (EVP_PKEY_get_raw_public_key(pkey, derived, &len) != 1 ||
	    memcmp(derived, point.p, PUBLIC_LEN) != 0 ||
	    memcmp(derived, both.p + SEED_LEN, PUBLIC_LEN) != 0) {
		EVP_PKEY_free(pkey);
		return ERR_FORMAT;
	}
	*out = pkey;
	return 0;
}

static int
put_private(int param, const EVP_PKEY *pkey, struct buf *out)
{
	uint8_t both[SEED_LEN + PUBLIC_LEN];
	size_t seed_len = SEED_LEN, point_len = PUBLIC_LEN;
	int r = 0;

	(void)param;
	if (EVP_PKEY_get_raw_private_key(pkey, both, &seed_len) != 1 ||
	    EVP_PKEY_get_raw_public_key(pkey, both + SEED_LEN,
		&point_len) != 1) {
		r = key_evp_failed();
	} else {
		buf_put_string(out, both + SEED_LEN, PUBLIC_LEN);
		buf_put_string(out, both, sizeof both);
		r = buf_err(out);
	}
	explicit_bzero(both, sizeof both);
	return r;
}

static int
sign(int param, EVP_PKEY *pkey, struct span data, struct buf *out)
{
	(void)param;
	return key_evp_put_signature(pkey, NULL, data, out);
}

static int
verify(int param, EVP_PKEY *pkey, struct span data, struct span signature)
{
	(void)param;
	if (signature.len != SIGNATURE_LEN)
		return ERR_SIGNATURE;
	return key_evp_verify(pkey, NULL, data, signature);
}

static unsigned
bits(int param, const EVP_PKEY *pkey)
{
	(void)param;
	(void)pkey;
	return 256;
}

/* The vtable of security keys, whose private half is in an authenticator: it
 * cannot sign. */
const struct key_ops key_ops_sk_ed25519 = {
	.is_sk = true,
	.get_public = get_public,
	.put_public = put_public,
	.verify = verify,
	.bits = bits,
};

const struct key_ops key_ops_ed25519 = {
	.owns = owns,
	.generate = generate,
	.get_public = get_public,
	.put_public = put_public,
	.get_private = get_private,
	.put_private = put_private,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
