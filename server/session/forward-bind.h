/* SPDX-License-Identifier: ISC */
/*
 * GatewayPorts: where this host listens for an address that a client has asked
 * for (tcpip-forward, RFC 4254 section 7.1).
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_BIND_H
#define HPN_SERVER_SESSION_FORWARD_BIND_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/server-conf.h"

/* All is borrowed from the question, or static. */
struct forward_bind {
	const char *hosts[2]; /* addresses; NULL: all of this host */
	size_t n;	      /* 0: name is to be looked up */
	const char *name;
	bool overridden; /* the client wanted something else by name */
};

/* gateway: a value of GatewayPorts; family: of AddressFamily. */
struct forward_bind forward_bind(int gateway, int family, const char *asked);

#endif
