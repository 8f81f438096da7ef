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

/* Content of a private key file. pass NULL or "" = try without. An encrypted
 * key without a pass gives ERR_PASSPHRASE, too. comment (may be NULL) is
 * freed by the caller; PEM has none (NULL). A multi-key file gives
 * ERR_UNSUPPORTED. */
int keyfile_parse_private(struct span content, const char *pass,
    struct key **out, char **comment) must_check;
/* The public half is read, if it can be had without a passphrase. */
int keyfile_parse_public_half(struct span content,
    struct key **out) must_check;
/* cipher NULL and rounds 0 stand for the defaults; they are for
 * KEYFILE_OPENSSH only. ed25519 has no PEM form and is then written as
 * KEYFILE_OPENSSH. PEM and PKCS8 want a pass of at least 4 bytes. */
int keyfile_format_private(const struct key *k, enum keyfile_format format,
    const char *pass, const char *comment, const char *cipher,
    uint32_t rounds, struct buf *out) must_check;

/* Can its owner alone read it? The group ssh_keys counts as nobody for keys of
 * the superuser (mode 640 or less): on some systems it is that of setgid
 * programs that sign, and has no members. */
struct stat;
bool keyfile_is_private(const struct stat *st);

/* Files. load_private: ERR_PERMISSION if it is not private (owner is the
 * current user). load_public: path itself if it is a public key line, else
 * path.pub, else the public half of the private file (ERR_PASSPHRASE if
 * that is encrypted). */
int keyfile_load_private(const char *path, const char *pass, bool check_mode,
    struct key **out, char **comment) must_check;
int keyfile_load_public(const char *path, struct key **out,
    char **comment) must_check;
/* The name that the private file of a public one has by custom: without .pub,
 * or -cert.pub. Caller frees. */
char *keyfile_private_path(const char *public_path);
int keyfile_save_private(const char *path, const struct key *k,
    enum keyfile_format format, const char *pass, const char *comment,
    const char *cipher, uint32_t rounds) must_check;
int keyfile_save_public(const char *path, const struct key *k,
    const char *comment) must_check;

/* Public keys as other programs keep them: RFC 4716, SubjectPublicKeyInfo
 * in PEM, and PKCS#1 in PEM (which exists for RSA only; an ECDSA key takes
 * the former instead). comment: see keyfile_parse_private(). */
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
/* A private key as ssh.com's programs keep it (-i of hpnssh-keygen):
 * ERR_UNSUPPORTED if it is encrypted or not of RSA, ERR_NOT_FOUND if content
 * is no such file. */
int keyfile_import_sshcom(struct span content, struct key **out) must_check;

/* Can keyfile_format_private() encrypt with a cipher of this name? */
bool keyfile_cipher_known(const char *name);

#endif
