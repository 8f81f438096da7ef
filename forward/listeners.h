/* SPDX-License-Identifier: ISC */
/*
 * Sockets of this host that listen for a forward (RFC 4254 section 7.1): on
 * all addresses that one forward stands for, or at a path. The client has
 * them for -L and -D, the server for what clients ask it to listen on, and
 * for X11.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_FORWARD_LISTENERS_H
#define HPN_FORWARD_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

struct listener;

/* The peer that connected. For sockets without addresses: FORWARDED_NO_ADDRESS
 * and FORWARDED_NO_PORT. */
struct listener_peer {
	char address[64];
	uint16_t port;
};

/* All is borrowed during the call; loop and arg outlive the listener. */
struct listener_params {
	struct loop *loop;
	/* The addresses, tried one after the other, each a name or a number;
	 * NULL in it: all of this host. Unused with a path. */
	const char *const *hosts;
	size_t host_count;
	uint16_t port; /* 0: one that is free, the same on all addresses */
	int family;    /* AF_UNSPEC, AF_INET, AF_INET6 */
	/* The listener is refused if another process has one of the addresses;
	 * then the caller tries another port, and nothing is logged. */
	bool exclusive;
	const char *path; /* of a socket of the system; NULL: hosts and port */
	mode_t mask;	  /* rights that the path does not get */
	bool replace;	  /* a socket that is at the path already goes */
	void *arg;
	/* fd is owned by the callee, and non-blocking. It may free the
	 * listener. */
	void (*accepted)(void *arg, int fd, const struct listener_peer *peer);
};

/* A listener stands if at least one of the addresses worked; what did not was
 * logged. ERR_SYSTEM, ERR_NOT_FOUND, ERR_LIMIT. */
int listener_new(struct listener **out,
    const struct listener_params *params) must_check;
/* Closes the sockets; one at a path stays there. NULL is fine. */
void listener_free(struct listener *l);
/* The port, also where any was asked for. */
uint16_t listener_port(const struct listener *l);
/* While paused nothing is accepted: what connects waits in the system's
 * queue, whose length is limited. */
void listener_pause(struct listener *l, bool paused);

#endif
