/* SPDX-License-Identifier: ISC */
/*
 * Shared by the files of the key exchange methods; other code uses
 * crypto/kem.h. Each family of methods has one const struct kem_ops. Its
 * methods are rows in kem.c.
 *
 * Threads: any; a state belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_KEM_INTERNAL_H
#define HPN_CRYPTO_KEM_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "base/buf.h"
#include "base/wire.h"
#include "crypto/kem.h"

/*
 * alg->param is the member of the family. *state is NULL before the client's
 * init(), which makes it; free() frees it. The server's reply() needs no state.
 * Group exchange is different: on both sides dh_new_group() makes the state,
 * with the group in it, before init() or reply().
 */
struct kem_ops {
	int (*init)(const struct kem_alg *alg, void **state, struct buf *out);
	int (*finish)(const struct kem_alg *alg, void *state,
	    struct span reply, struct buf *shared);
	int (*reply)(const struct kem_alg *alg, void *state, struct span init,
	    struct buf *out, struct buf *shared);
	void (*free)(void *state); /* wipes; NULL is fine */
};

extern const struct kem_ops kem_ops_x25519; /* no param */
extern const struct kem_ops kem_ops_ecdh;   /* param: enum kem_curve */
extern const struct kem_ops kem_ops_dh;	    /* param: bits; 0: group exchange */
extern const struct kem_ops kem_ops_hybrid; /* param: enum kem_hybrid */

enum kem_curve { KEM_P256, KEM_P384, KEM_P521, KEM_CURVE_COUNT };
enum kem_hybrid {
	KEM_MLKEM768_X25519,
	KEM_MLKEM768_P256,
	KEM_SNTRUP761_X25519,
	KEM_HYBRID_COUNT,
};

/* Makes the state of a Diffie-Hellman exchange in a group that the server
 * chose; see kem_new_group(). */
enum { DH_MIN_BITS = 2048, DH_MAX_BITS = 8192 };
/* Bits of the only smaller group: group1 of RFC 2409 section 6.2, for old
 * devices. */
enum { DH_OLD_BITS = 1024 };
int dh_new_group(void **state, struct span prime,
    struct span generator) must_check;

/*
 * Elliptic curves for the hybrid methods, with values and secrets of fixed
 * length. keygen makes *key, which the caller frees with EVP_PKEY_free(). The
 * caller wipes the secret. derive returns ERR_KEX_VALUE if the peer's value is
 * no point of the curve or has low order.
 */
enum { X25519_LEN = 32, P256_POINT_LEN = 65, P256_SECRET_LEN = 32 };
int x25519_keygen(EVP_PKEY **key, uint8_t pub[X25519_LEN]) must_check;
int x25519_derive(EVP_PKEY *key, const uint8_t peer[X25519_LEN],
    uint8_t secret[X25519_LEN]) must_check;
int p256_keygen(EVP_PKEY **key, uint8_t pub[P256_POINT_LEN]) must_check;
int p256_derive(EVP_PKEY *key, const uint8_t peer[P256_POINT_LEN],
    uint8_t secret[P256_SECRET_LEN]) must_check;

#endif
