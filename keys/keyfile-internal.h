/* SPDX-License-Identifier: ISC */
/*
 * Inside of keys/: the file formats behind keyfile.h. Not for other folders.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KEYFILE_INTERNAL_H
#define HPN_KEYS_KEYFILE_INTERNAL_H

#include "keys/keyfile.h"

#define KEYFILE_V1_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define KEYFILE_V1_END "-----END OPENSSH PRIVATE KEY-----"

/* A cipher of openssh-key-v1 (keyfile-cipher.c). */
struct keyfile_cipher {
	const char *name;
	const char *evp; /* OpenSSL's name; NULL for the none cipher */
	size_t key_len, iv_len, block_len, tag_len; /* bytes */
};

enum { KEYFILE_KEY_IV_MAX = 64 + 16 };

const struct keyfile_cipher *keyfile_cipher_find(struct span name);
/* Encrypt and decrypt: append in.len bytes to out. key_iv has the key, then the
 * IV. keyfile_cipher_seal() makes a tag; the other function checks it
 * (ERR_PASSPHRASE: it is wrong). */
int keyfile_cipher_seal(const struct keyfile_cipher *c, const uint8_t *key_iv,
    struct span in, uint8_t *tag, struct buf *out) must_check;
int keyfile_cipher_open(const struct keyfile_cipher *c, const uint8_t *key_iv,
    struct span in, const uint8_t *tag, struct buf *out) must_check;

/* keyfile-v1.c: files of openssh-key-v1, whose content begins with
 * KEYFILE_V1_BEGIN. */
int keyfile_v1_parse(struct span content, const char *pass, struct key **out,
    char **comment) must_check;
int keyfile_v1_parse_public(struct span content, struct key **out) must_check;
int keyfile_v1_format(const struct key *k, const char *pass,
    const char *comment, const char *cipher, uint32_t rounds,
    struct buf *out) must_check;

/* keyfile-pem.c: PEM files (PKCS#1, SEC1, PKCS#8). */
int keyfile_pem_parse(struct span content, const char *pass,
    struct key **out) must_check;
int keyfile_pem_format(const struct key *k, enum keyfile_format format,
    const char *pass, struct buf *out) must_check;

/* Appends the base64 text between the line `begin` and the end line (RFC 4716).
 * text is cut into lines. ERR_FORMAT: there is no such text. */
int keyfile_rfc4716_body(char *text, const char *begin,
    struct buf *out) must_check;

/* Appends text in lines of 70 columns. */
void keyfile_put_folded(struct buf *out, const char *text);

#endif
