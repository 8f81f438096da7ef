/* SPDX-License-Identifier: ISC */
/*
 * The targets of a scan. A word of the command line or a line of a file names
 * one host, by one or more names or addresses, or a network, whose hosts are
 * scanned one after the other.
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
	/* Names and addresses of one host, tried in this order. */
	struct strlist hosts;
	char *names; /* names for the output: comma list, lower case */
};

/* Parses "host,host... [names]"; from a # on it is a comment. The caller clears
 * *out in any case. ERR_NOT_FOUND: the text has no host. */
int scan_target_parse(const char *text, struct scan_target *out) must_check;
void scan_target_clear(struct scan_target *t);

/* A network, parsed from "address/bits" with an address that is zero behind
 * these bits. next: the address that comes next. */
struct scan_network {
	int family; /* AF_INET, AF_INET6 */
	unsigned bits;
	uint8_t next[16];
	bool done;
};

/* Parses a network. False: text is no network; the name of a host is none
 * either. */
bool scan_network_parse(const char *text, struct scan_network *out);
/* Writes the next address as text; false: there are no more. */
bool scan_network_next(struct scan_network *n, char *text, size_t size);

#endif
