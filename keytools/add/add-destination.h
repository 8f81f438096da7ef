/* SPDX-License-Identifier: ISC */
/*
 * The destinations that the use of keys is restricted to (-h): "[user@]host"
 * for a login from this host, or "from>[user@]to" for one from another host.
 * The hosts' keys are taken from known_hosts files.
 *
 * Threads: any.
 */
#ifndef HPN_KEYTOOLS_ADD_ADD_DESTINATION_H
#define HPN_KEYTOOLS_ADD_ADD_DESTINATION_H

#include "keys/agent-client.h"

/* A list of destinations. Initialized with zeros it is empty. */
struct add_destinations {
	struct agent_destination *v;
	size_t n;
};

/* Parses text and appends it to d. NULL: success; else a message about the
 * error (caller frees). */
char *add_destination(struct add_destinations *d, const char *text,
    const struct strlist *known_hosts);
void add_destinations_clear(struct add_destinations *d);

#endif
