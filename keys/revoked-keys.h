/* SPDX-License-Identifier: ISC */
/*
 * Lists of what is revoked (RevokedKeys, RevokedHostKeys): KRLs, and texts of
 * public keys, a line each. The parser reads no files: its caller does, and
 * decides what a list means that cannot be read (it revokes everything).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_REVOKED_KEYS_H
#define HPN_KEYS_REVOKED_KEYS_H

#include "keys/key.h"

/* Does the list name k's identity, or if k is a certificate, it or its CA?
 * A text may have blank lines and comments. Keys in it that are too short or of
 * a type that is not known here are passed over, because nobody can have them;
 * any other line is an error. *revoked is true after any error. */
int revoked_keys_find(const struct buf *list, const struct key *k,
    bool *revoked) must_check;

#endif
