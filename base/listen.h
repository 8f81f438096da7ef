/* SPDX-License-Identifier: ISC */
/*
 * Sockets that listen: one for each address that a name stands for, or one
 * of the system (AF_UNIX).
 *
 * Threads: any.
 */
#ifndef HPN_BASE_LISTEN_H
#define HPN_BASE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"

enum { LISTEN_MAX = 64 }; /* sockets of one set */

/* Sockets that listen, close-on-exec and non-blocking; owned. Zeroed: none. */
struct listen_set {
	int fd[LISTEN_MAX];
	size_t n;
};

enum listen_step {
	LISTEN_SOCKET, /* the system lacks this family, perhaps */
	LISTEN_DEVICE,
	LISTEN_BIND,
	LISTEN_LISTEN,
};

/* Where to listen, and who hears of the addresses where it was not possible. */
struct listen_spec {
	const char *host; /* name or address; NULL: every address */
	const char *port; /* a number; "0": one that is free */
	int family;	  /* AF_UNSPEC, AF_INET, AF_INET6 */
	bool mptcp;	  /* Multipath TCP where the system has it */
	const char *device; /* interface, or VRF; NULL: any */
	/* bind, to see whether the address is free, but do not listen */
	bool bind_only;
	void *arg;
	/* Called for each address on which a step failed, with its errno. May
	 * be NULL. */
	void (*failed)(void *arg, enum listen_step step,
	    const struct sockaddr *sa, socklen_t len, int error);
};

/* Adds a socket for each address at which it is possible to listen. Addresses
 * that are not possible are no error, and the set may stay empty. As many
 * connections may wait as the system allows. A socket for IPv6 takes no
 * connections of IPv4, and an address that was in use a moment ago can be used
 * again. ERR_NOT_FOUND: the host has no address, and *why (static) is the
 * reason. ERR_LIMIT: there are more than LISTEN_MAX addresses. */
int listen_open(struct listen_set *set, const struct listen_spec *spec,
    const char **why) must_check;
/* The port of the first socket of the set. 0: it has none. */
uint16_t listen_port(const struct listen_set *set);

/* Adds a socket of the system (AF_UNIX) at path. mask takes rights to connect
 * away, as umask(2) does. replace: a socket that is there already is removed
 * first. ERR_LIMIT: the path is too long; ERR_SYSTEM. */
int listen_open_path(struct listen_set *set, const char *path, mode_t mask,
    bool replace) must_check;
void listen_close(struct listen_set *set);

#endif
