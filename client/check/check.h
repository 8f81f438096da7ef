/* SPDX-License-Identifier: ISC */
/*
 * hpnssh --check: what a copy to or from a host will be like, before it is
 * made. The connection, the processor and, with a path, the host's disk are
 * measured for some seconds; then what limits a copy is told, and what to
 * change.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CHECK_CHECK_H
#define HPN_CLIENT_CHECK_CHECK_H

#include <stdbool.h>

#include "base/str.h"

/* Borrowed. */
struct check_params {
	const char *target; /* [user@]host[:path] */
	/* Options of the connection, as in struct remote_params. */
	const struct strlist *options;
	bool json;
};

/* Returns the exit status: 0; 1, something could not be measured; 255, there
 * was no connection. */
int check_run(const struct check_params *params);

#endif
