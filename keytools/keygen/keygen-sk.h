/* SPDX-License-Identifier: ISC */
/* Security keys (FIDO) in the modes of hpnssh-keygen. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_SK_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_SK_H

#include "keys/sk-client.h"
#include "keytools/keygen/keygen.h"

/* True if type, the argument of -t, is that of a security key. */
bool keygen_sk_is_type(const char *type);
/* The attestation that an authenticator gives for a key that it made, and the
 * file for it. keygen_sk_save_attestation() clears it. */
struct attestation {
	struct buf content;
	const char *path; /* NULL: it is not saved */
};

/* Makes a key on an authenticator, by the options -t, -w and -O. Ends the
 * program on an error. */
struct key *keygen_sk_make(const struct keygen_options *o,
    struct attestation *a);
void keygen_sk_save_attestation(const struct keygen_options *o,
    struct attestation *a);

/* Signs data with the private key file's key k, by its authenticator. The user
 * is told to touch the authenticator, and asked for the PIN with pin_prompt: at
 * once if k always requires it, else when the authenticator asks for it. */
int keygen_sk_sign(const struct keygen_options *o, const struct key *k,
    const char *alg, struct span data, const char *pin_prompt,
    struct buf *signature) must_check;

/* Changes by -O what k, the key of the private key file at path, requires of
 * its authenticator (touch, PIN). Ends the program if -O is invalid or k is no
 * security key. */
void keygen_sk_change(const struct keygen_options *o, struct key *k,
    const char *path);

#endif
