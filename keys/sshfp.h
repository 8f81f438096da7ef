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

/* Have SSHFP records a number for this digest? */
bool sshfp_digest_ok(enum digest_alg alg);
/* Appends a record of k as a line for a zone file. generic: in the form of RFC
 * 3597, for servers that do not know SSHFP. ERR_UNSUPPORTED: SSHFP has no
 * number for the type of the key; it has none for certificates. */
int sshfp_put(const char *name, const struct key *k, enum digest_alg alg,
    bool generic, struct buf *out) must_check;

/* Compares the data of a record with a key. 1: they match; -1: the host has
 * another key of this type; 0: the record tells nothing of the key, because it
 * is about another type, or its digest is unknown or has the wrong length. */
int sshfp_compare(const struct key *k, struct span record);

enum sshfp_verdict {
	SSHFP_NOTHING, /* there are no records */
	SSHFP_MATCH,
	SSHFP_MISMATCH,
};
/* Compares all records with a key. SSHFP_MATCH: a record matches k, and none is
 * about another key of its type. */
enum sshfp_verdict sshfp_judge(const struct key *k,
    const struct span *records, size_t n);

#endif
