/* SPDX-License-Identifier: ISC */
/*
 * Key files: openssh-key-v1 (bcrypt KDF, aes256-ctr...), PEM and PKCS#8
 * through OpenSSL, public key lines.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KEYFILE_H
#define HPN_KEYS_KEYFILE_H

#include "keys/key.h"

enum keyfile_format { KEYFILE_OPENSSH, KEYFILE_PEM, KEYFILE_PKCS8 };

/* Parses the content of a private key file. pass NULL or "": there is no
 * passphrase. ERR_PASSPHRASE: it is wrong, or missing. ERR_UNSUPPORTED: the
 * file has several keys. *comment, which the caller frees, is NULL for PEM;
 * comment may be NULL. */
int keyfile_parse_private(struct span content, const char *pass,
    struct key **out, char **comment) must_check;
/* Reads the public half of a private key file, if that is possible without a
 * passphrase. */
int keyfile_parse_public_half(struct span content,
    struct key **out) must_check;
/* Appends the content of a private key file. cipher (NULL: the default) and
 * rounds (0: the default) are for KEYFILE_OPENSSH only. An ed25519 key has no
 * PEM form, and is written as KEYFILE_OPENSSH instead. A passphrase for PEM and
 * PKCS8 needs at least 4 bytes. */
int keyfile_format_private(const struct key *k, enum keyfile_format format,
    const char *pass, const char *comment, const char *cipher,
    uint32_t rounds, struct buf *out) must_check;

/* Can only the owner read the file? A key of the superuser may also be readable
 * by the group ssh_keys (mode 640 or less): on some systems that is the group
 * of setgid programs that sign, and has no members. */
struct stat;
bool keyfile_is_private(const struct stat *st);

/* keyfile_load_private(): ERR_PERMISSION with check_mode, if the file is this
 * user's and others can read it. keyfile_load_public() reads the file at path
 * if that is a public key line, else path.pub, else the public half of the
 * private file (ERR_PASSPHRASE: that is encrypted). */
int keyfile_load_private(const char *path, const char *pass, bool check_mode,
    struct key **out, char **comment) must_check;
int keyfile_load_public(const char *path, struct key **out,
    char **comment) must_check;
/* The length of the part of a public file's path that is the usual path of its
 * private file: all but .pub or -cert.pub. */
size_t keyfile_private_len(const char *public_path);
int keyfile_save_private(const char *path, const struct key *k,
    enum keyfile_format format, const char *pass, const char *comment,
    const char *cipher, uint32_t rounds) must_check;
int keyfile_save_public(const char *path, const struct key *k,
    const char *comment) must_check;

/* The forms in which other programs keep public keys: RFC 4716,
 * SubjectPublicKeyInfo in PEM, and PKCS#1 in PEM. The latter exists for RSA
 * only; an ECDSA key is written as SubjectPublicKeyInfo instead. */
enum keyfile_public_format {
	KEYFILE_PUBLIC_RFC4716,
	KEYFILE_PUBLIC_PKCS8,
	KEYFILE_PUBLIC_PEM,
};
int keyfile_export_public(const struct key *k,
    enum keyfile_public_format format, const char *comment,
    struct buf *out) must_check;
int keyfile_import_public(struct span content,
    enum keyfile_public_format format, struct key **out) must_check;
/* Parses a private key file of ssh.com's programs (-i of hpnssh-keygen).
 * ERR_UNSUPPORTED: the key is encrypted, or no RSA key. ERR_NOT_FOUND: content
 * is no such file. */
int keyfile_import_sshcom(struct span content, struct key **out) must_check;

/* Can keyfile_format_private() encrypt with a cipher of this name? */
bool keyfile_cipher_known(const char *name);

#endif
