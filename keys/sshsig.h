/* SPDX-License-Identifier: ISC */
/*
 * SSHSIG: signatures over files, by SSH keys.
 *
 * A signature is "SSHSIG", u32 1, string blob of the key (or certificate),
 * string namespace, string reserved, string name of a hash, string signature;
 * in base64 between two lines. What is signed: "SSHSIG", string namespace,
 * string reserved, string name of the hash, string hash of the message.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_SSHSIG_H
#define HPN_KEYS_SSHSIG_H

#include "crypto/digest.h"
#include "keys/key.h"

struct sshsig {
	struct key *key; /* public, or a certificate */
	char *namespace;
	enum digest_alg hash;
	const char *alg;      /* algorithm of the signature; static */
	struct span reserved, signature; /* parts of blob */
	struct buf blob;
};

/* The hash (enum digest_alg) that a signature names "sha256" or "sha512"; -1:
 * another name. */
int sshsig_hash(const char *name);

/* Parses the text of a signature's file. ERR_FORMAT: the text is no signature.
 * ERR_UNSUPPORTED: its version, hash or algorithm is not accepted; RSA with
 * SHA-1 never is. */
int sshsig_parse(struct span text, struct sshsig *out) must_check;
void sshsig_clear(struct sshsig *s);

/* Verifies the signature; digest is that of the message by s->hash.
 * ERR_SIGNATURE: it is wrong. Whether the key may sign is asked of
 * keys/allowed-signers.h. */
int sshsig_verify(const struct sshsig *s, const char *namespace,
    const uint8_t *digest) must_check;

/* Called to sign: appends the signature of k over data by alg, in its wire
 * form. */
typedef int (*sshsig_sign_fn)(void *arg, const struct key *k, const char *alg,
    struct span data, struct buf *signature);

/* Appends the text of a signature's file. ERR_ARGUMENT: namespace is empty. */
int sshsig_make(const struct key *k, const char *namespace,
    enum digest_alg hash, const uint8_t *digest, sshsig_sign_fn sign,
    void *arg, struct buf *out) must_check;

#endif
