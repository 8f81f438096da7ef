/* SPDX-License-Identifier: ISC */
/*
 * hpnssh --check: forecasts a copy to or from a host. The connection, the
 * processor and, with a path, the host's disk are measured for some seconds.
 * Then it tells the rate, what limits it, and what to change.
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

/* Runs the check. Returns the exit status: 0; 1: something could not be
 * measured; 255: there was no connection. */
int check_run(const struct check_params *params);

#endif
