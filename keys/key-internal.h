/* SPDX-License-Identifier: ISC */
/*
 * Inside of keys/: what a key is made of, and the operations that each
 * family (ed25519, ecdsa, rsa...) gives to its rows of the table in
 * key-table.c. Not for other folders.
 *
 * Threads: as key.h.
 */
#ifndef HPN_KEYS_KEY_INTERNAL_H
#define HPN_KEYS_KEY_INTERNAL_H

#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "keys/key.h"

struct cert;

/* A key. One that has cert and certified is a certificate: its pkey is NULL,
 * and certified, the plain key, is what signatures are made and verified
 * with. */
struct key {
	const struct key_alg *kind; /* first row of its key type */
	/* owned; never changed, so that copies share it; NULL if mldsa is the
	 * key */
	EVP_PKEY *pkey;
	bool is_private;
	struct key_sk *sk;     /* owned; NULL: this is no security key */
	struct key_mldsa *mldsa; /* owned; NULL: pkey is the key */
	struct key *certified; /* owned; NULL: this is no certificate */
	struct cert *cert;     /* owned; NULL: this is no certificate */
};

/* The operations of a family of keys. param is a column of the table in
 * key-table.c: for ecdsa the bits of the curve, for rsa the digest of the
 * signature. The functions get_*() read the fields behind the name of the type
 * and check them; put_*() append them. */
struct key_ops {
	/* The key is in an authenticator: behind the fields of the functions
	 * below come those of key-sk.c, and there is no private half. */
	bool is_sk, webauthn;
	/* The key is made of two (ML-DSA and Ed25519): key.c calls the
	 * functions of key-mldsa.c in place of those below, except for
	 * bits(). */
	bool is_mldsa;
	/* Is this OpenSSL key one of the row's key type? */
	bool (*owns)(const EVP_PKEY *pkey, int param);
	/* Makes a new key. bits 0: the default. ERR_KEY_LENGTH: there are no
	 * keys of so many bits. */
	int (*generate)(int param, unsigned bits, EVP_PKEY **out) must_check;
	int (*get_public)(int param, struct rd *r, EVP_PKEY **out) must_check;
	int (*put_public)(int param, const EVP_PKEY *pkey,
	    struct buf *out) must_check;
	int (*get_private)(int param, struct rd *r, EVP_PKEY **out) must_check;
	int (*put_private)(int param, const EVP_PKEY *pkey,
	    struct buf *out) must_check;
	/* Appends the fields with which the private form begins and which a
	 * certificate holds already. NULL: there are none. */
	int (*put_lead)(int param, const EVP_PKEY *pkey,
	    struct buf *out) must_check;
	/* Makes a signature without the name of its algorithm in front. */
	int (*sign)(int param, EVP_PKEY *pkey, struct span data,
	    struct buf *out) must_check;
	int (*verify)(int param, EVP_PKEY *pkey, struct span data,
	    struct span signature) must_check;
	unsigned (*bits)(int param, const EVP_PKEY *pkey);
};

extern const struct key_ops key_ops_ed25519;
extern const struct key_ops key_ops_ecdsa;
extern const struct key_ops key_ops_rsa;
extern const struct key_ops key_ops_sk_ed25519, key_ops_sk_ecdsa,
    key_ops_sk_webauthn;
extern const struct key_ops key_ops_mldsa44_ed25519;

/* First row of a key type, plain or of its certificates; NULL if it is not
 * known. */
const struct key_alg *key_kind_by_type(struct span key_type,
    bool *certificate);
/* Makes a key of pkey, which it takes, also on an error. For
 * key_get_public_fields(), and for keys that are no security keys. */
int key_make(const struct key_alg *kind, EVP_PKEY *pkey, bool is_private,
    struct key **out) must_check;

/* Read and append the fields of a plain key that follow the name of its
 * type. */
int key_get_public_fields(const struct key_alg *kind, struct rd *r,
    struct key **out) must_check;
int key_put_public_fields(const struct key *k, struct buf *out) must_check;
/* Makes a copy of k. */
int key_dup(const struct key *k, struct key **out) must_check;

/* key-sk.c: the fields that only security keys have. key_sk_get_private() adds
 * the private ones to what key_sk_get_public() has made. */
void key_sk_free(struct key_sk *sk);
int key_sk_dup(const struct key_sk *sk, struct key_sk **out) must_check;
int key_sk_get_public(struct rd *r, struct key_sk **out) must_check;
int key_sk_put_public(const struct key_sk *sk, struct buf *out) must_check;
int key_sk_get_private(struct rd *r, struct key_sk *sk) must_check;
int key_sk_put_private(const struct key_sk *sk, struct buf *out) must_check;
/* Verify a signature by a security key: `verify` checks the signature raw as
 * that of an ordinary key; rest are the fields that follow it. */
typedef int (*key_sk_verify_fn)(const struct key *k, struct span data,
    struct span raw);
int key_sk_verify(const struct key *k, bool webauthn, key_sk_verify_fn verify,
    struct span message, struct span raw, struct rd *rest,
    struct key_sk_seen *seen) must_check;

/* key-mldsa.c: keys of ML-DSA-44 and Ed25519. key_mldsa_get_private() checks
 * that the private half belongs to the public one. */
void key_mldsa_free(struct key_mldsa *m); /* wipes */
int key_mldsa_dup(const struct key_mldsa *m,
    struct key_mldsa **out) must_check;
int key_mldsa_generate(struct key_mldsa **out) must_check;
int key_mldsa_get_public(struct rd *r, struct key_mldsa **out) must_check;
int key_mldsa_put_public(const struct key_mldsa *m,
    struct buf *out) must_check;
int key_mldsa_get_private(struct rd *r, struct key_mldsa **out) must_check;
int key_mldsa_put_private(const struct key_mldsa *m,
    struct buf *out) must_check;
/* Make and verify a signature as sign() and verify() of struct key_ops do. */
int key_mldsa_sign(const struct key_mldsa *m, struct span data,
    struct buf *out) must_check;
int key_mldsa_verify(const struct key_mldsa *m, struct span data,
    struct span signature) must_check;

/* keys/cert.c: read, free and write certificates. cert_read(): r is a cursor in
 * blob, behind the name of the type. */
int cert_read(const struct key_alg *kind, struct span blob, struct rd r,
    struct key **out) must_check;
void cert_free(struct cert *c);
int cert_put_blob(const struct cert *c, struct buf *out) must_check;

/* Makes one of our keys from pkey, and checks it as if it had been received. */
int key_from_pkey(const EVP_PKEY *pkey, bool is_private,
    struct key **out) must_check;

/* Steps that several families need, by EVP of OpenSSL. */

/* Makes a key of the fields in bld, which is wiped and freed. */
int key_evp_build(const char *type, int selection, OSSL_PARAM_BLD *bld,
    EVP_PKEY **out) must_check;
/* Appends the number `param` of the key as mpint. No copy of it stays in
 * memory. */
int key_evp_put_number(const EVP_PKEY *pkey, const char *param,
    struct buf *out) must_check;
/* Sign and verify data. digest NULL: the algorithm prescribes its own. */
int key_evp_sign(EVP_PKEY *pkey, const char *digest, struct span data,
    uint8_t **signature, size_t *len) must_check;
int key_evp_put_signature(EVP_PKEY *pkey, const char *digest,
    struct span data, struct buf *out) must_check;
int key_evp_verify(EVP_PKEY *pkey, const char *digest, struct span data,
    struct span signature) must_check;
/* Returns ERR_CRYPTO, and empties the error queue of OpenSSL. */
int key_evp_failed(void);

#endif
