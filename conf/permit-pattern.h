/* SPDX-License-Identifier: ISC */
/*
 * A host and a port that forwarding may reach: an entry of PermitOpen,
 * PermitListen, PermitRemoteOpen, permitopen= and permitlisten=.
 *
 * Threads: loop thread only (names of services are looked up).
 */
#ifndef HPN_CONF_PERMIT_PATTERN_H
#define HPN_CONF_PERMIT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

enum { PERMIT_HOST_MAX = 1024 }; /* bytes of a host */

struct permit_pattern {
	const char *host; /* borrowed from the text, or static; "*": any */
	size_t host_len;
	uint16_t port; /* 0: any */
};

/* Parses "host:port" or "[address]:port"; with port_alone also "port".
 * ERR_SYNTAX: the host is invalid; ERR_LIMIT: the port is. */
int permit_pattern_parse(struct permit_pattern *out, const char *text,
    bool port_alone) must_check;

/* Does a list (conf_permits) permit this target, written as the peer did? Its
 * hosts are compared byte by byte; only "*" is a pattern. */
bool permit_list_opens(const struct strlist *list, const char *host,
    uint16_t port);

/* struct strlist: patterns that were checked, or "any" or "none" alone; never
 * empty once it has its value. The row's param is true if a port may stand
 * alone. */
extern const struct conf_type conf_permits;

#endif
