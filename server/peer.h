/* SPDX-License-Identifier: ISC */
/*
 * The addresses of both ends of a connection, as texts.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_PEER_H
#define HPN_SERVER_PEER_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The port that log lines and variables such as SSH_CONNECTION show for a
 * connection that is no inet socket; it is OpenSSH's number. */
enum { PEER_PORT_UNKNOWN = 65535 };

struct peer {
	char *address;	     /* numeric; "UNKNOWN" if it is no inet socket */
	char *local_address; /* numeric */
	char *host;	     /* verified name, or the address */
	uint16_t port, local_port; /* or PEER_PORT_UNKNOWN */
	char rdomain[IFNAMSIZ]; /* name of the interface or VRF that the
				 * connection is bound to; "": none */
};

/* Returns the numeric address of sa; an IPv4 address that is mapped into IPv6
 * is given as IPv4. "UNKNOWN", and PEER_PORT_UNKNOWN in *port: it is no inet
 * address. Caller frees. */
char *peer_format_address(const struct sockaddr *sa, socklen_t len,
    uint16_t *port);

/* Sets name to the interface or VRF that the socket fd is bound to; "":
 * none. */
void peer_rdomain(int fd, char name[IFNAMSIZ]);

void peer_init(struct peer *p, int fd, bool use_dns);
void peer_clear(struct peer *p);

#endif
