/* SPDX-License-Identifier: ISC */
/*
 * Private keys at rest: encrypted with a key of this process, which lies in a
 * page of its own, is not swapped out, and is all that must be kept from others
 * and wiped. Keys are in the clear only while something is computed with them.
 * Locking encrypts that one key with a passphrase, so that a locked agent has
 * nothing in its memory that opens the others.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_SHIELD_H
#define HPN_AGENT_SHIELD_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/wire.h"

struct shield;

int shield_new(struct shield **out) must_check;
void shield_free(struct shield *s); /* wipes; NULL is fine */

/* shield_seal() appends the sealed form of plain to out, shield_open() the
 * plain form of sealed; its out is to be a secret buffer. ERR_DENIED: the
 * shield is locked. ERR_MAC: sealed was not made by this shield. ERR_LIMIT:
 * plain is too long, or shield_seal() was called too often. */
int shield_seal(struct shield *s, const struct buf *plain,
    struct buf *out) must_check;
int shield_open(const struct shield *s, const struct buf *sealed,
    struct buf *out) must_check;

/* Lock and unlock the shield. Both hash the passphrase, which takes some
 * milliseconds. shield_lock(): ERR_ARGUMENT if the passphrase is empty,
 * ERR_DENIED if the shield is locked already. shield_unlock(): ERR_PASSPHRASE
 * if it is the wrong one, ERR_DENIED if the shield is not locked. */
int shield_lock(struct shield *s, struct span passphrase) must_check;
int shield_unlock(struct shield *s, struct span passphrase) must_check;
bool shield_is_locked(const struct shield *s);

#endif
