/* SPDX-License-Identifier: ISC */
/*
 * SSHFP records: fingerprints of host keys in the DNS (RFC 4255, 6594, 7479).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_SSHFP_H
#define HPN_KEYS_SSHFP_H

#include "base/wire.h"
#include "keys/key.h"

/* Is there a number for this digest? */
bool sshfp_digest_ok(enum digest_alg alg);
/* Appends a line for a zone file; generic: in the form that servers take which
 * do not know these records (RFC 3597). ERR_UNSUPPORTED: there is no number for
 * the key's type, as for certificates. */
int sshfp_put(const char *name, const struct key *k, enum digest_alg alg,
    bool generic, struct buf *out) must_check;

/* What the data of a record says of a key: 1: it is this one; -1: the key of
 * this type is another one; 0: nothing, because it is about a key of another
 * type, or its digest is of no known kind or of the wrong length. */
int sshfp_compare(const struct key *k, struct span record);

enum sshfp_verdict {
	SSHFP_NOTHING, /* there are no records */
	SSHFP_MATCH,
	SSHFP_MISMATCH,
};
/* SSHFP_MATCH needs a record that fits k, and none that names another key of
 * k's type. */
enum sshfp_verdict sshfp_judge(const struct key *k,
    const struct span *records, size_t n);

#endif
