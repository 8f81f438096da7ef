/* SPDX-License-Identifier: ISC */
/*
 * Sockets of this host that listen for a forward (RFC 4254 section 7.1): on all
 * the addresses of that forward, or at a path. The client uses them for -L and
 * -D; the server for ports and paths that clients ask it to listen on, and for
 * X11.
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

/* The address of the peer that connected. For Unix-domain sockets
 * FORWARDED_NO_ADDRESS and FORWARDED_NO_PORT. */
struct listener_peer {
	char address[64];
	uint16_t port;
};

/* All is borrowed during listener_new(); loop and arg must outlive the
 * listener. */
struct listener_params {
	struct loop *loop;
	/* The hosts to listen on, each a name or an address; a NULL among them
	 * means all addresses of this host. Unused with a path. */
	const char *const *hosts;
	size_t host_count;
	uint16_t port; /* 0: any free port, the same on all addresses */
	int family;    /* AF_UNSPEC, AF_INET, AF_INET6 */
	/* Fail if another process listens on one of the addresses. The caller
	 * then tries another port, so nothing is logged. */
	bool exclusive;
	/* Path of a Unix-domain socket; NULL: hosts and port. */
	const char *path;
	mode_t mask;	  /* umask for the socket at path */
	bool replace;	  /* remove a socket that is at path already */
	void *arg;
	/* A connection was accepted. The callee owns fd, which is non-blocking.
	 * It may free the listener. */
	void (*accepted)(void *arg, int fd, const struct listener_peer *peer);
};

/* Makes a listener. It succeeds if at least one of the addresses works; the
 * errors of others were logged. ERR_SYSTEM, ERR_NOT_FOUND, ERR_LIMIT,
 * ERR_NOMEM. */
int listener_new(struct listener **out,
    const struct listener_params *params) must_check;
/* Closes the sockets; the file of a socket at a path is not removed. NULL is
 * fine. */
void listener_free(struct listener *l);
/* The port it listens on; where 0 was asked for, the one it got. */
uint16_t listener_port(const struct listener *l);
/* While paused, no connections are accepted: they wait in the system's queue,
 * whose length is limited. */
void listener_pause(struct listener *l, bool paused);

#endif
