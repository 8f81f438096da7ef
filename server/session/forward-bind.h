/* SPDX-License-Identifier: ISC */
/*
 * GatewayPorts: on which addresses this host listens when a client asks for one
 * (tcpip-forward, RFC 4254 section 7.1).
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_BIND_H
#define HPN_SERVER_SESSION_FORWARD_BIND_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/server-conf.h"

/* The addresses to listen on. Texts are borrowed from the argument `asked`, or
 * static. */
struct forward_bind {
	const char *hosts[2]; /* numeric; a NULL among them: all of this host */
	size_t n;	      /* 0: the caller has to look up name */
	const char *name;
	bool overridden; /* GatewayPorts yes replaced the address that the
			  * client asked for */
};

/* gateway: value of GatewayPorts. family: value of AddressFamily. asked: the
 * address in the client's request. */
struct forward_bind forward_bind(int gateway, int family, const char *asked);

#endif
