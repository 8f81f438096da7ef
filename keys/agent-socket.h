/* SPDX-License-Identifier: ISC */
/*
 * The place of an agent's socket, and of those of forwarded agents: a directory
 * below the user's home that nobody else can enter, and a name that tells which
 * host made it, so that what was left behind can be found.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_AGENT_SOCKET_H
#define HPN_KEYS_AGENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { AGENT_SOCKET_NAME_MAX = 32 };

enum agent_socket_kind {
	AGENT_SOCKET_OWN,	/* the socket of an agent on this host */
	/* the socket of hpnsshd for a forwarded agent */
	AGENT_SOCKET_FORWARDED,
};

/* Sets *out to a new path, HOME/.ssh/agent/s.HASH.KIND.RAND, and makes the
 * directories that are missing. To be called as the user. The caller frees it.
 * ERR_SYSTEM; ERR_PERMISSION: other users could replace the directories or
 * their content. */
int agent_socket_path(const char *home, enum agent_socket_kind kind,
    char **out) must_check;
/* The last part of that path: the name of a socket that host makes. */
int agent_socket_name(const char *host, enum agent_socket_kind kind, char *out,
    size_t size) must_check;

/* Removes sockets of that directory that are more than an hour old and at which
 * nobody listens. any_host: also those that other hosts made. 0 also if there
 * is no such directory. */
int agent_socket_clean(const char *home, bool any_host) must_check;

#endif
