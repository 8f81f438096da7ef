/* SPDX-License-Identifier: ISC */
/*
 * Logs in with a security key (FIDO) whose handle is in a file: tells the user
 * to touch the key, and asks for its PIN.
 *
 * Threads: loop thread only; blocks until the user has touched the key.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_SK_H
#define HPN_CLIENT_AUTH_USERAUTH_SK_H

#include "client/auth/userauth-internal.h"

/* Is there a library (SecurityKeyProvider) by which c could sign? True for a
 * key that needs none. */
bool userauth_sk_has_provider(const struct userauth *ua,
    const struct candidate *c);
/* Appends the signature over data by k, the private half of the security key of
 * c. */
int userauth_sk_sign(struct userauth *ua, const struct candidate *c,
    const struct key *k, const char *alg, struct span data,
    struct buf *signature) must_check;

#endif
