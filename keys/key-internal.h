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

/* A certificate is a key with cert and certified; its pkey is NULL, and all
 * that is to be computed is computed with certified. */
struct key {
	const struct key_alg *kind; /* first row of its key type */
	EVP_PKEY *pkey;		    /* owned; never changed, so shareable;
				     * NULL where mldsa is the key */
	bool is_private;
	struct key_sk *sk;     /* owned; NULL: this is no security key */
	struct key_mldsa *mldsa; /* owned; NULL: pkey is the key */
	struct key *certified; /* owned; NULL: this is no certificate */
	struct cert *cert;     /* owned; NULL: this is no certificate */
};

/*
 * One family. param is that of the table's row: the curve's bits for ecdsa,
 * the digest of the signature for rsa. The get_ functions read the fields
 * behind the type name and check them; the put_ functions append them.
 */
struct key_ops {
	/* The key is in an authenticator: behind the fields of the functions
	 * below come those of key-sk.c, and there is no private half. */
	bool is_sk, webauthn;
	/* Two keys in one: the functions of key-mldsa.c are called in place of
	 * those below, except for bits. */
	bool is_mldsa;
	/* Is this OpenSSL key one of the row's key type? */
	bool (*owns)(const EVP_PKEY *pkey, int param);
	/* ERR_KEY_LENGTH if this row does not make keys of so many bits;
	 * 0 asks for the default. */
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
	/* Raw signature, without algorithm name. */
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
/* Makes a key and takes ownership of pkey, also when it fails. For the
 * functions below, and for keys that are no security keys. */
int key_make(const struct key_alg *kind, EVP_PKEY *pkey, bool is_private,
    struct key **out) must_check;

/* The fields of a plain key behind its type's name. */
int key_get_public_fields(const struct key_alg *kind, struct rd *r,
    struct key **out) must_check;
int key_put_public_fields(const struct key *k, struct buf *out) must_check;
/* The same key once more. */
int key_dup(const struct key *k, struct key **out) must_check;

/* key-sk.c: what security keys have besides. get_private adds to what
 * get_public has made. */
void key_sk_free(struct key_sk *sk);
int key_sk_dup(const struct key_sk *sk, struct key_sk **out) must_check;
int key_sk_get_public(struct rd *r, struct key_sk **out) must_check;
int key_sk_put_public(const struct key_sk *sk, struct buf *out) must_check;
int key_sk_get_private(struct rd *r, struct key_sk *sk) must_check;
int key_sk_put_private(const struct key_sk *sk, struct buf *out) must_check;
/* raw is the signature proper, rest what follows it. */
typedef int (*key_sk_verify_fn)(const struct key *k, struct span data,
    struct span raw);
int key_sk_verify(const struct key *k, bool webauthn, key_sk_verify_fn verify,
    struct span message, struct span raw, struct rd *rest,
    struct key_sk_seen *seen) must_check;

/* key-mldsa.c: keys of ML-DSA-44 and Ed25519. get_private checks that both
 * halves belong together. */
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
/* The raw signature, as of struct key_ops. */
int key_mldsa_sign(const struct key_mldsa *m, struct span data,
    struct buf *out) must_check;
int key_mldsa_verify(const struct key_mldsa *m, struct span data,
    struct span signature) must_check;

/* What keys/cert.c knows of certificates. read: r stands behind the type name
 * of blob. */
int cert_read(const struct key_alg *kind, struct span blob, struct rd r,
    struct key **out) must_check;
void cert_free(struct cert *c);
int cert_put_blob(const struct cert *c, struct buf *out) must_check;

/* Makes one of our keys from pkey, and checks it as if it had been received. */
int key_from_pkey(const EVP_PKEY *pkey, bool is_private,
    struct key **out) must_check;

/* Common steps over EVP. */

/* Makes a key of the fields in bld, which it wipes and frees. */
int key_evp_build(const char *type, int selection, OSSL_PARAM_BLD *bld,
    EVP_PKEY **out) must_check;
/* Appends a number of the key as mpint. No copy of it stays in memory. */
int key_evp_put_number(const EVP_PKEY *pkey, const char *param,
    struct buf *out) must_check;
/* digest NULL: the algorithm has its own. */
int key_evp_sign(EVP_PKEY *pkey, const char *digest, struct span data,
    uint8_t **signature, size_t *len) must_check;
int key_evp_put_signature(EVP_PKEY *pkey, const char *digest,
    struct span data, struct buf *out) must_check;
int key_evp_verify(EVP_PKEY *pkey, const char *digest, struct span data,
    struct span signature) must_check;
/* ERR_CRYPTO; empties OpenSSL's error queue. */
int key_evp_failed(void);

#endif
