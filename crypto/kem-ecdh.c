/* SPDX-License-Identifier: ISC */
/*
 * Elliptic curves, by OpenSSL: X25519 (RFC 8731) and the curves of NIST
 * (RFC 5656). The state of an exchange is our key pair, an EVP_PKEY.
 */
#include "crypto/kem-internal.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"

enum { SECRET_MAX = 66 }; /* bytes of a coordinate of P-521, the longest */

static const struct {
	const char *name;
	size_t point_len; /* bytes, uncompressed */
} curves[KEM_CURVE_COUNT] = {
	[KEM_P256] = { "P-256", 65 },
	[KEM_P384] = { "P-384", 97 },
	[KEM_P521] = { "P-521", 133 },
};

static const uint8_t uncompressed = 4; /* first byte of an uncompressed point */

static void
free_key(void *state)
{
	EVP_PKEY_free(state);
}

/* Computes the shared secret. *len is the room at secret before, and the
 * secret's length after. ERR_KEX_VALUE: OpenSSL does not accept the peer's
 * value. */
static int
derive(EVP_PKEY *key, EVP_PKEY *peer, uint8_t *secret, size_t *len)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	int r = ERR_CRYPTO;

	if (ctx == NULL || EVP_PKEY_derive_init(ctx) != 1)
		goto out;
	r = ERR_KEX_VALUE;
	if (EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
	    EVP_PKEY_derive(ctx, secret, len) == 1)
		r = 0;
out:
	EVP_PKEY_CTX_free(ctx);
	return r;
}

/* ---- X25519 ------------------------------------------------------------- */

int
x25519_keygen(EVP_PKEY **key, uint8_t pub[X25519_LEN])
{
	size_t len = X25519_LEN;

	*key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	if (*key == NULL)
		return ERR_CRYPTO;
	if (EVP_PKEY_get_raw_public_key(*key, pub, &len) == 1 &&
	    len == X25519_LEN)
		return 0;
	EVP_PKEY_free(*key);
	*key = NULL;
	return ERR_CRYPTO;
}

int
x25519_derive(EVP_PKEY *key, const uint8_t peer[X25519_LEN],
    uint8_t secret[X25519_LEN])
{
	static const uint8_t zero[X25519_LEN];
	EVP_PKEY *other = EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL,
	    peer, X25519_LEN);
	size_t len = X25519_LEN;
	int r;

	if (other == NULL)
		return ERR_CRYPTO;
	r = derive(key, other, secret, &len);
	EVP_PKEY_free(other);
	/* A point of low order makes the secret all zeros. OpenSSL refuses such
	 * points already, but RFC 8731 requires us to check the secret. */
	if (r == 0 && (len != X25519_LEN ||
	    mem_equal_ct(secret, zero, X25519_LEN)))
		r = ERR_KEX_VALUE;
	return r;
}

static int
x25519_init(const struct kem_alg *alg, void **state, struct buf *out)
{
	uint8_t pub[X25519_LEN];
	EVP_PKEY *key = NULL;
	int r;

	(void)alg;
	if (*state != NULL)
		return ERR_ARGUMENT;
	r = x25519_keygen(&key, pub);
	if (r == 0)
		buf_put(out, pub, sizeof pub);
	*state = key;
	return r;
}

static int
x25519_finish(const struct kem_alg *alg, void *state, struct span reply,
    struct buf *shared)
{
	uint8_t secret[X25519_LEN];
	int r;

	(void)alg;
	if (reply.len != X25519_LEN)
		return ERR_KEX_VALUE;
	r = x25519_derive(state, reply.p, secret);
	if (r == 0)
		buf_put_mpint(shared, secret, sizeof secret);
	explicit_bzero(secret, sizeof secret);
	return r;
}

static int
x25519_reply(const struct kem_alg *alg, void *state, struct span init,
    struct buf *out, struct buf *shared)
{
	void *key = NULL;
	int r;

	(void)state;
	r = x25519_init(alg, &key, out);
	if (r == 0)
		r = x25519_finish(alg, key, init, shared);
	free_key(key);
	return r;
}

const struct kem_ops kem_ops_x25519 = {
	.init = x25519_init,
	.finish = x25519_finish,
	.reply = x25519_reply,
	.free = free_key,
};

/* ---- NIST curves -------------------------------------------------------- */

/* Makes a key pair on a curve of curves[]. pub must have room for a point. */
static int
ecdh_keygen(int curve, EVP_PKEY **key, uint8_t *pub)
{
	unsigned char *point = NULL;
	size_t len;
	int r = ERR_CRYPTO;

	*key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", curves[curve].name);
	if (*key == NULL)
		return ERR_CRYPTO;
	len = EVP_PKEY_get1_encoded_public_key(*key, &point);
	if (len == curves[curve].point_len && point[0] == uncompressed) {
		memcpy(pub, point, len);
		r = 0;
	} else {
		EVP_PKEY_free(*key);
		*key = NULL;
	}
	OPENSSL_free(point);
	return r;
}

/* Computes the shared secret from the peer's point. *len is the room at secret
 * before, and the secret's length after. */
static int
ecdh_derive(int curve, EVP_PKEY *key, const uint8_t *point, uint8_t *secret,
    size_t *len)
{
	EVP_PKEY *peer;
	int r = ERR_CRYPTO;

	if (point[0] != uncompressed)
		return ERR_KEX_VALUE;
	peer = EVP_PKEY_new();
	if (peer == NULL)
		return ERR_NOMEM;
	if (EVP_PKEY_copy_parameters(peer, key) != 1)
		goto out;
	r = ERR_KEX_VALUE; /* the point is not on the curve */
	if (EVP_PKEY_set1_encoded_public_key(peer, point,
		curves[curve].point_len) == 1)
		r = derive(key, peer, secret, len);
out:
	EVP_PKEY_free(peer);
	return r;
}

int
p256_keygen(EVP_PKEY **key, uint8_t pub[P256_POINT_LEN])
{
	return ecdh_keygen(KEM_P256, key, pub);
}

int
p256_derive(EVP_PKEY *key, const uint8_t peer[P256_POINT_LEN],
    uint8_t secret[P256_SECRET_LEN])
{
	size_t len = P256_SECRET_LEN;
	int r = ecdh_derive(KEM_P256, key, peer, secret, &len);

	return r == 0 && len != P256_SECRET_LEN ? ERR_CRYPTO : r;
}

static int
ecdh_init(const struct kem_alg *alg, void **state, struct buf *out)
{
	size_t len = curves[alg->param].point_len;
	uint8_t *to = buf_reserve(out, len);
	EVP_PKEY *key = NULL;
	int r;

	if (*state != NULL)
		return ERR_ARGUMENT;
	if (to == NULL)
		return buf_err(out);
	r = ecdh_keygen(alg->param, &key, to);
	if (r == 0)
		buf_commit(out, len);
	*state = key;
	return r;
}

static int
ecdh_finish(const struct kem_alg *alg, void *state, struct span reply,
    struct buf *shared)
{
	uint8_t secret[SECRET_MAX];
	size_t len = sizeof secret;
	int r;

	if (reply.len != curves[alg->param].point_len)
		return ERR_KEX_VALUE;
	r = ecdh_derive(alg->param, state, reply.p, secret, &len);
	if (r == 0)
		buf_put_mpint(shared, secret, len);
	explicit_bzero(secret, sizeof secret);
	return r;
}

static int
ecdh_reply(const struct kem_alg *alg, void *state, struct span init,
    struct buf *out, struct buf *shared)
{
	void *key = NULL;
	int r;

	(void)state;
	r = ecdh_init(alg, &key, out);
	if (r == 0)
		r = ecdh_finish(alg, key, init, shared);
	free_key(key);
	return r;
}

const struct kem_ops kem_ops_ecdh = {
	.init = ecdh_init,
	.finish = ecdh_finish,
	.reply = ecdh_reply,
	.free = free_key,
};
