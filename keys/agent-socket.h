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
	AGENT_SOCKET_OWN,	/* of an agent on this host */
	AGENT_SOCKET_FORWARDED, /* of hpnsshd, for an agent elsewhere */
};

/* HOME/.ssh/agent/s.HASH.KIND.RAND, where nothing is yet; makes the directories
 * that are missing. Called as the user. Caller frees. ERR_SYSTEM;
 * ERR_PERMISSION: others could put something of theirs in the way. */
int agent_socket_path(const char *home, enum agent_socket_kind kind,
    char **out) must_check;
/* The last part of that path: the name of a socket that host makes. */
int agent_socket_name(const char *host, enum agent_socket_kind kind, char *out,
    size_t size) must_check;

/* Removes sockets of that directory, of either kind, that are over an hour old
 * and at which nobody listens: those that this host made, or any. 0 also if
 * there is no such directory. */
int agent_socket_clean(const char *home, bool any_host) must_check;

#endif
