/* SPDX-License-Identifier: ISC */
/*
 * What the key exchange methods share among themselves; others use
 * crypto/kem.h. One const struct kem_ops per family, its rows in kem.c.
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
 * alg->param tells the members of a family apart. The client's init makes
 * *state, which is NULL before; free ends it. The server's reply needs no
 * state. In a group exchange both sides have one: dh_new_group() makes it,
 * with the group, before init or reply.
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

/* Diffie-Hellman in a group from the server; see kem_new_group(). */
enum { DH_MIN_BITS = 2048, DH_MAX_BITS = 8192 };
/* The one group that is smaller: group1, for old devices (RFC 2409 6.2). */
enum { DH_OLD_BITS = 1024 };
int dh_new_group(void **state, struct span prime,
    struct span generator) must_check;

/*
 * Curves themselves, for the hybrids: values and secrets of fixed length. *key
 * is for the derive function and EVP_PKEY_free(). The caller wipes the secret.
 * derive: ERR_KEX_VALUE if the peer's point is of low order, or is none.
 */
enum { X25519_LEN = 32, P256_POINT_LEN = 65, P256_SECRET_LEN = 32 };
int x25519_keygen(EVP_PKEY **key, uint8_t pub[X25519_LEN]) must_check;
int x25519_derive(EVP_PKEY *key, const uint8_t peer[X25519_LEN],
    uint8_t secret[X25519_LEN]) must_check;
int p256_keygen(EVP_PKEY **key, uint8_t pub[P256_POINT_LEN]) must_check;
int p256_derive(EVP_PKEY *key, const uint8_t peer[P256_POINT_LEN],
    uint8_t secret[P256_SECRET_LEN]) must_check;

#endif
