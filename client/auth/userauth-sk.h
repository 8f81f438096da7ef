/* SPDX-License-Identifier: ISC */
/*
 * Logging in with a security key (FIDO) whose handle is in a file: the user is
 * told to touch it, and asked for its PIN.
 *
 * Threads: loop thread only; blocks while the user looks for the key.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_SK_H
#define HPN_CLIENT_AUTH_USERAUTH_SK_H

#include "client/auth/userauth-internal.h"

/* A library is there by which the key could sign. True for all other keys. */
bool userauth_sk_has_provider(const struct userauth *ua,
    const struct candidate *c);
/* Appends the signature of k, a security key's private half. */
int userauth_sk_sign(struct userauth *ua, const struct candidate *c,
    const struct key *k, const char *alg, struct span data,
    struct buf *signature) must_check;

#endif
