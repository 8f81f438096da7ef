/* SPDX-License-Identifier: ISC */
/*
 * A scan: asks many hosts for their keys at the same time, by one connection
 * for each type of key, and writes the keys to standard output as they come. A
 * host that is slow, or hinders scans, does not delay the others.
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
	/* Time limit for connecting, and for each later step. */
	unsigned limit_ms;
	bool certificates; /* -c */
	/* The types of keys to ask for, each as a comma list of host key
	 * algorithms. */
	const char *types[SCAN_TYPES_MAX];
	size_t n_types;
};

/* Scans the targets of these lines (keytools/keyscan/scan-target.h). True: at
 * least one key was written. */
bool scan_run(const struct scan_options *o, const struct strlist *lines);

#endif
