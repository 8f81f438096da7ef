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

/* Parses a destination. ERR_SYNTAX: the text is no destination. Clear *d in any
 * case. */
int destination_parse(struct destination *d, const char *text) must_check;
void destination_clear(struct destination *d);

/*
 * Jump hosts: a comma list, in the order in which they are passed, of
 * [user@]host[:port] or URIs. An address with colons stands in [].
 */
enum { DESTINATION_JUMPS_MAX = 16 };

/* NULL: the list is valid; else a text that says what is wrong with it. A name
 * may have any characters but control characters, and must not begin with
 * "-". */
const char *destination_check_jumps(const char *list);
/* Like destination_check_jumps(), and each name must pass destination_user_ok()
 * or destination_host_ok(). */
const char *destination_check_jump_names(const char *list);
/* The last jump host of a list. *rest: the list of those in front of it, which
 * the caller frees; NULL: there are none. */
int destination_last_jump(struct destination *d, const char *list,
    char **rest) must_check;

/* Is the name free of characters that a shell would interpret? Names may come
 * from a link or a script, and get into commands. */
bool destination_user_ok(const char *user);
bool destination_host_ok(const char *host);

#endif
