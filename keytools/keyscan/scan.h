/* SPDX-License-Identifier: ISC */
/*
 * A scan: asks many hosts for their keys at the same time, one connection for
 * each type of key, and writes them to standard output as they come. No host
 * that is slow, or that hates scans, holds up another.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEYTOOLS_KEYSCAN_SCAN_H
#define HPN_KEYTOOLS_KEYSCAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "keytools/keyscan/scan-print.h"

enum { SCAN_TYPES_MAX = 8 };

struct scan_options {
	struct scan_style style;
	int family;	   /* AF_UNSPEC, AF_INET, AF_INET6 */
	unsigned limit_ms; /* for connecting, and for each step behind that */
	bool certificates; /* -c */
	/* Each is a comma list of host key algorithms. */
	const char *types[SCAN_TYPES_MAX];
	size_t n_types;
};

/* Scans what these lines say (keytools/keyscan/scan-target.h). True: there is a
 * key at least. */
bool scan_run(const struct scan_options *o, const struct strlist *lines);

#endif
