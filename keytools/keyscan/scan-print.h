/* SPDX-License-Identifier: ISC */
/*
 * The lines that hpnssh-keyscan writes: host keys as they stand in a
 * known_hosts file, or as records of the DNS, and what servers call
 * themselves.
 *
 * Threads: any.
 */
#ifndef HPN_KEYTOOLS_KEYSCAN_SCAN_PRINT_H
#define HPN_KEYTOOLS_KEYSCAN_SCAN_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "keys/key.h"

struct scan_style {
	uint16_t port;
	bool hash_names; /* -H */
	bool records;	 /* -D: SSHFP */
	bool sha1, sha256; /* with records: digests */
	bool no_banner;	 /* -q */
};

/* Appends the lines for a key; names as of struct scan_target.
 * ERR_UNSUPPORTED: there is no record for its type. */
int scan_print_key(const struct scan_style *s, const char *names,
    const struct key *k, struct buf *out) must_check;
/* Appends the comment; host is the one that answered. */
void scan_print_banner(const struct scan_style *s, const char *host,
    const char *banner, struct buf *out);

#endif
