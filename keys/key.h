/* SPDX-License-Identifier: ISC */
/*
 * Public and private keys: types in one table (RFC 4253 section 6.6, 5656,
 * 8332, 8709), wire blobs, signatures, fingerprints, text lines.
 *
 * Threads: any; a struct key belongs to one thread at a time.
 */
#ifndef HPN_KEYS_KEY_H
#define HPN_KEYS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "crypto/digest.h"

struct key;

/*
 * What a security key (FIDO) has besides its public numbers. A private key of
 * this kind has no secret: its authenticator is asked for signatures, by means
 * of the handle (keys/sk-client.h).
 */
struct key_sk {
	char *application; /* "ssh:" and what the user appended */
	/* flags (KEY_SK_*), and the handle that the authenticator gave: of a
	 * private key only. */
	uint8_t flags;
	struct buf handle, reserved;
};

enum {
	/* the authenticator has to be touched for each signature */
	KEY_SK_TOUCH = 0x01,
	/* the authenticator verifies its user for each signature (by a PIN, a
	 * finger) */
	KEY_SK_VERIFY = 0x04,
	KEY_SK_FORCE = 0x10,    /* for a new key: it may replace another */
	KEY_SK_RESIDENT = 0x20, /* the authenticator keeps the handle as well */
};

/* What an authenticator says happened when it signed. */
struct key_sk_seen {
	bool touched, user_verified;
	uint32_t counter;
};

/* A signature algorithm; several may share a key type (rsa). */
struct key_alg {
	const char *name;     /* signature algorithm on the wire */
	const char *key_type; /* "ssh-rsa", "ssh-ed25519", ... in the blob */
	const char *short_name; /* "RSA", "ECDSA", "ED25519": for texts */
	/* name, key_type and short_name of a key that comes as a certificate.
	 * Its signatures have the plain `name`. */
	const char *cert_name, *cert_type, *cert_short_name;
	bool offered; /* part of the default lists (ssh-rsa SHA-1 is not) */
	const void *ops; /* private to keys/ */
	int param;
};

/* The row of an algorithm, by name or by cert_name. NULL: unknown. */
const struct key_alg *key_alg_by_name(const char *name);
const struct key_alg *key_alg_by_cert_name(const char *name);
const struct key_alg *key_alg_at(size_t index);		 /* NULL at the end */
size_t key_alg_count(void);
/* Comma lists of the offered algorithms, in default order: with certificates,
 * which come first, and of plain keys alone. Static. */
const char *key_alg_default_list(void);
const char *key_alg_default_plain_list(void);
/* The names that the signatures of these algorithms carry, each once: those of
 * certificates lose their "-cert-" (server-sig-algs, RFC 8308). Caller frees;
 * NULL when memory is out. */
char *key_algs_of_signatures(const char *algorithms);

/* Free a key, wiping it; copy its public half. */
void key_free(struct key *k); /* wipes */
int key_public_of(const struct key *k, struct key **out) must_check;
/* Makes a new key. type: "rsa", "ecdsa", "ed25519" or "mldsa44-ed25519". bits
 * 0: the default (rsa 3072, ecdsa 256). */
int key_generate(const char *type, unsigned bits, struct key **out) must_check;

/* Read and append the wire blob of a public key (RFC 4253 section 6.6) or of a
 * certificate (keys/cert.h). ERR_KEY_TYPE: the type is not in the table;
 * ERR_KEY_LENGTH: an RSA key has fewer than 1024 or more than 16384 bits;
 * ERR_SIGNATURE: the authority of a certificate has not signed it. */
int key_from_blob(struct span blob, struct key **out) must_check;
int key_to_blob(const struct key *k, struct buf *out) must_check; /* appends */
/* Read and append the text form "ssh-ed25519 AAAA... comment". key_parse_line()
 * reads the type and the base64 word, and moves *s behind them.
 * key_format_line(): comment may be NULL. */
int key_parse_line(const char **s, struct key **out) must_check;
int key_format_line(const struct key *k, const char *comment,
    struct buf *out) must_check;

/* What a key is. The texts are static; key_type() is "ssh-rsa" and the like. */
const char *key_type(const struct key *k); /* "ssh-rsa", ... */
const char *key_short_name(const struct key *k);
unsigned key_bits(const struct key *k);
/* The fields of a security key, borrowed from k; NULL: k is none. */
const struct key_sk *key_sk(const struct key *k);
/* Sets the flags of k, which must be the private half of a security key. */
void key_sk_set_flags(struct key *k, uint8_t flags);
/* True if there is a form of this key for PEM files: there is none for security
 * keys and those with ML-DSA. */
bool key_has_pem(const struct key *k);
bool key_is_private(const struct key *k);
bool key_is_cert(const struct key *k);
/* Are the public halves the same, byte for byte? */
bool key_equal_public(const struct key *a, const struct key *b);

/*
 * Identity: the key by which somebody is recognized. That of a plain key is the
 * key itself; that of a certificate is the key that it certifies: so whoever is
 * known, or revoked, by a key stays so when using a certificate for it.
 * Borrowed from k. Fingerprints are those of the identity.
 */
const struct key *key_identity(const struct key *k);
bool key_same_identity(const struct key *a, const struct key *b);
/* Appends the blob of the identity to out; for a plain key these are the bytes
 * of blob. */
int key_identity_of_blob(struct span blob, struct buf *out) must_check;
/* Have two blobs the same identity? False, too, if one cannot be read. */
bool key_blobs_same_identity(struct span a, struct span b);

/* key_serves(): can this key sign by alg? A certificate serves only the
 * algorithms with "-cert-" in their names. key_check_length(): is an RSA key
 * long enough? */
bool key_serves(const struct key *k, const char *alg);
int key_check_length(const struct key *k, unsigned min_rsa_bits) must_check;
/* The fingerprint: "SHA256:..." or "MD5:aa:bb...". The caller frees it; NULL:
 * out of memory. */
char *key_fingerprint(const struct key *k, enum digest_alg alg);
/* The SHA-1 of the identity as words that can be spoken ("bubble babble", A.
 * Huima); caller frees; NULL when memory is out. */
char *key_bubblebabble(const struct key *k);
/* Can fingerprints be made with this algorithm? */
bool key_fingerprint_hash_ok(enum digest_alg alg);
/* A picture of the fingerprint: several lines, the last one without its line
 * end. The caller frees it; NULL: out of memory. */
char *key_randomart(const struct key *k, enum digest_alg alg);

/* Signs data, and appends the signature in its wire form: string alg, string
 * data. */
int key_sign(const struct key *k, const char *alg, struct span data,
    struct buf *signature) must_check;
/* Verifies a signature. ERR_SIGNATURE: it is wrong, or its algorithm is not
 * alg. */
int key_verify(const struct key *k, const char *alg, struct span data,
    struct span signature) must_check;
/* As key_verify(). *seen is filled for a security key, else it is zeroed. */
int key_verify_seen(const struct key *k, const char *alg, struct span data,
    struct span signature, struct key_sk_seen *seen) must_check;

/* Append and read a private key in the form of openssh-key-v1 files and of the
 * agent protocol. That of a certificate is the certificate, and the fields of
 * its key that are not public. */
int key_private_to_wire(const struct key *k, struct buf *out) must_check;
int key_private_from_wire(struct rd *r, struct key **out) must_check;
/* Makes a private key of a certificate and of priv, the private half of the key
 * that it certifies, as agents want it. ERR_ARGUMENT: priv is another key. */
int key_private_cert(const struct key *cert, const struct key *priv,
    struct key **out) must_check;

#endif
