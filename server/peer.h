/* SPDX-License-Identifier: ISC */
/*
 * Both ends of a connection, as texts.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_PEER_H
#define HPN_SERVER_PEER_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* What programs read where there is no address. */
enum { PEER_PORT_UNKNOWN = 65535 };

struct peer {
	char *address;	     /* numeric; "UNKNOWN" if it is no inet socket */
	char *local_address; /* numeric */
	char *host;	     /* verified name, or the address; owned */
	uint16_t port, local_port; /* PEER_PORT_UNKNOWN: it has none */
	char rdomain[IFNAMSIZ]; /* interface or VRF that the connection is
				 * bound to; "": none */
};

/* Numeric address and port; IPv4 in IPv6 is given as IPv4. Caller frees. */
char *peer_format_address(const struct sockaddr *sa, socklen_t len,
    uint16_t *port);

/* The interface or VRF that a socket is bound to; "": none. */
void peer_rdomain(int fd, char name[IFNAMSIZ]);

void peer_init(struct peer *p, int fd, bool use_dns);
void peer_clear(struct peer *p);

#endif
