/* SPDX-License-Identifier: ISC */
/*
 * What is to be scanned: a word of the command line, or a line of a file, names
 * one host by its addresses, or the hosts of a network one after the other.
 *
 * Threads: any.
 */
#ifndef HPN_KEYTOOLS_KEYSCAN_SCAN_TARGET_H
#define HPN_KEYTOOLS_KEYSCAN_SCAN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct scan_target {
	struct strlist hosts; /* of one host: tried in this order */
	char *names; /* that the output shows: a comma list, lower case */
};

/* Reads "host,host... [names]"; what follows a # is a comment. Clear it in any
 * case. ERR_NOT_FOUND: there is nothing in it. */
int scan_target_parse(const char *text, struct scan_target *out) must_check;
void scan_target_clear(struct scan_target *t);

/* A network, "address/bits" without any bit behind them: which of its
 * addresses comes next. */
struct scan_network {
	int family; /* AF_INET, AF_INET6 */
	unsigned bits;
	uint8_t next[16];
	bool done;
};

/* False: this is no network, so it is a name. */
bool scan_network_parse(const char *text, struct scan_network *out);
/* The next address as text; false when there are no more. */
bool scan_network_next(struct scan_network *n, char *text, size_t size);

#endif
