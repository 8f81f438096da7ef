/* SPDX-License-Identifier: ISC */
/*
 * Destinations of keys (-h): "[user@]host", or "from>[user@]to" for the way
 * from one host to the next. The hosts' keys are taken from known_hosts files.
 *
 * Threads: any.
 */
#ifndef HPN_KEYTOOLS_ADD_ADD_DESTINATION_H
#define HPN_KEYTOOLS_ADD_ADD_DESTINATION_H

#include "keys/agent-client.h"

/* Zeroed = empty. */
struct add_destinations {
	struct agent_destination *v;
	size_t n;
};

/* Appends one. NULL, or what is wrong with it (caller frees). */
char *add_destination(struct add_destinations *d, const char *text,
    const struct strlist *known_hosts);
void add_destinations_clear(struct add_destinations *d);

#endif
