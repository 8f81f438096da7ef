/* SPDX-License-Identifier: ISC */
/*
 * SSHFP records: fingerprints of host keys in the DNS (RFC 4255, 6594, 7479).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_SSHFP_H
#define HPN_KEYS_SSHFP_H

#include "keys/key.h"

/* Is there a number for this digest? */
bool sshfp_digest_ok(enum digest_alg alg);
/* Appends a line for a zone file; generic: in the form that servers take which
 * do not know these records (RFC 3597). ERR_UNSUPPORTED: there is no number for
 * the key's type, as for certificates. */
int sshfp_put(const char *name, const struct key *k, enum digest_alg alg,
    bool generic, struct buf *out) must_check;

#endif
