/* SPDX-License-Identifier: ISC */
/*
 * Lists of revoked keys (RevokedKeys, RevokedHostKeys): public keys, a line
 * each. The parser is pure; who reads the file says what a list that cannot be
 * read means (it revokes everything).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_REVOKED_KEYS_H
#define HPN_KEYS_REVOKED_KEYS_H

#include "keys/key.h"

/* Does the list name k's identity? Blank lines, comments and lines that are no
 * key are passed over. ERR_UNSUPPORTED: it is a binary list (KRL). */
int revoked_keys_find(const struct buf *list, const struct key *k,
    bool *revoked) must_check;

#endif
