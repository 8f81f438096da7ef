/* SPDX-License-Identifier: ISC */
/*
 * Where to go, as a user types it: [user@]host or
 * ssh://[user@]host[:port][/].
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_DESTINATION_H
#define HPN_CLIENT_DESTINATION_H

#include <stdbool.h>

#include "base/err.h"

struct destination {
	char *user; /* NULL: not given */
	char *host;
	char *port; /* decimal; NULL: not given */
};

/* ERR_SYNTAX if it is none. Clear in any case. */
int destination_parse(struct destination *d, const char *text) must_check;
void destination_clear(struct destination *d);

/* Names that come from outside (a link, a script) and end up in commands:
 * those a shell would take apart are refused. */
bool destination_user_ok(const char *user);
bool destination_host_ok(const char *host);

#endif
