/* SPDX-License-Identifier: ISC */
/*
 * Destinations as a user types them: [user@]host or
 * ssh://[user@]host[:port][/]; and jump hosts.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_DESTINATION_H
#define HPN_CONF_DESTINATION_H

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

/*
 * Jump hosts: a comma list, in the order in which they are passed, of
 * [user@]host[:port] or URIs. An address with colons stands in [].
 */
enum { DESTINATION_JUMPS_MAX = 16 };

/* NULL: the list is right; else a text that says what is wrong with it. Names
 * may have any characters that make no flags of them. */
const char *destination_check_jumps(const char *list);
/* The same, and each name must pass destination_user_ok() or
 * destination_host_ok(). */
const char *destination_check_jump_names(const char *list);
/* The last of a list, and those in front of it (*rest: caller frees; NULL if
 * there are none). */
int destination_last_jump(struct destination *d, const char *list,
    char **rest) must_check;

/* Names may come from a link or a script, and get into commands: those with
 * characters that a shell would interpret are refused. */
bool destination_user_ok(const char *user);
bool destination_host_ok(const char *host);

#endif
