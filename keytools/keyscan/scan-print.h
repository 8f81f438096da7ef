/* SPDX-License-Identifier: ISC */
/*
 * The lines that hpnssh-keyscan writes: host keys as lines of a known_hosts
 * file or as DNS records, and comments with the servers' identification.
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
	/* -D: SSHFP records in place of lines of known_hosts */
	bool records;
	bool sha1, sha256; /* digests of the records */
	bool no_banner;	 /* -q: no comments */
};

/* Appends the lines for a key; names is as in struct scan_target.
 * ERR_UNSUPPORTED: there are no records for keys of this type. */
int scan_print_key(const struct scan_style *s, const char *names,
    const struct key *k, struct buf *out) must_check;
/* Appends a comment with the server's identification line; host is the one that
 * answered. Nothing with no_banner. */
void scan_print_banner(const struct scan_style *s, const char *host,
    const char *banner, struct buf *out);

#endif
