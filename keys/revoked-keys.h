/* SPDX-License-Identifier: ISC */
/*
 * Lists of revoked keys (RevokedKeys, RevokedHostKeys): public keys, a line
 * each. The parser reads no files: its caller does, and decides what a list
 * means that cannot be read (it revokes everything).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_REVOKED_KEYS_H
#define HPN_KEYS_REVOKED_KEYS_H

#include "keys/key.h"

/* Does the list name k's identity? Ignores blank lines, comments and lines that
 * are no key. ERR_UNSUPPORTED: it is a binary list (KRL). */
int revoked_keys_find(const struct buf *list, const struct key *k,
    bool *revoked) must_check;

#endif
