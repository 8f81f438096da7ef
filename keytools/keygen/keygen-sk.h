/* SPDX-License-Identifier: ISC */
/* Security keys (FIDO) in the modes of hpnssh-keygen. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_SK_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_SK_H

#include "keys/sk-client.h"
#include "keytools/keygen/keygen.h"

/* Does this name of -t stand for a security key? */
bool keygen_sk_is_type(const char *type);
/* What an authenticator says of a key that it made, and the file for it. Clear
 * with keygen_sk_save_attestation(). */
struct attestation {
	struct buf content;
	const char *path; /* NULL: it is not kept */
};

/* Makes a key on an authenticator as -t, -w and -O say. Ends the program if
 * that fails. */
struct key *keygen_sk_make(const struct keygen_options *o,
    struct attestation *a);
void keygen_sk_save_attestation(const struct keygen_options *o,
    struct attestation *a);

/* Signs with the private half k. The user is told to touch the key; the PIN is
 * asked for with the text, before if the key wants one always. */
int keygen_sk_sign(const struct keygen_options *o, const struct key *k,
    const char *alg, struct span data, const char *pin_prompt,
    struct buf *signature) must_check;

/* Changes what the private half k, of the file at path, wants of its
 * authenticator, as -O says. Ends the program if that cannot be. */
void keygen_sk_change(const struct keygen_options *o, struct key *k,
    const char *path);

#endif
