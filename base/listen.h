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

/* Close-on-exec and non-blocking; owned. Zeroed: none. */
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
	bool bind_only;	    /* only to see if it could be had */
	void *arg;
	/* May be NULL. error: errno. */
	void (*failed)(void *arg, enum listen_step step,
	    const struct sockaddr *sa, socklen_t len, int error);
};

/*
 * Adds a socket for each address that is possible, where as many connections
 * may wait as the system lets; that some addresses are not possible is no
 * error, and the set may stay empty. A socket for IPv6 takes no connections
 * of IPv4, and an address that was in use a moment ago can be used again.
 * ERR_NOT_FOUND: the host has no address, *why (static) says why.
 * ERR_LIMIT: they are more than LISTEN_MAX.
 */
int listen_open(struct listen_set *set, const struct listen_spec *spec,
    const char **why) must_check;
/* The port of the first socket of the set. 0: it has none. */
uint16_t listen_port(const struct listen_set *set);

/* Adds a socket of the system, which nobody can connect to whose rights mask
 * takes away (as umask(2) does). replace: one that is there already is removed
 * first, if it is a socket. ERR_LIMIT: the path is too long; ERR_SYSTEM. */
int listen_open_path(struct listen_set *set, const char *path, mode_t mask,
    bool replace) must_check;
void listen_close(struct listen_set *set);

#endif
