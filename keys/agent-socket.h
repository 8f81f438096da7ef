/* SPDX-License-Identifier: ISC */
/*
 * The place of a forwarded agent's socket: a directory below the user's home
 * that nobody else can enter, and a name that tells which host made it, so
 * that what was left behind can be found.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_SESSION_AGENT_SOCKET_H
#define HPN_SERVER_SESSION_AGENT_SOCKET_H

#include <stddef.h>

#include "base/err.h"

enum { AGENT_SOCKET_NAME_MAX = 32 };

/* HOME/.ssh/agent/s.HASH.sshd.RAND, where nothing is yet; makes the directories
 * that are missing. Called as the user. Caller frees. ERR_SYSTEM;
 * ERR_PERMISSION: others could put something of theirs in the way. */
int agent_socket_path(const char *home, char **out) must_check;
/* The name alone, of a host's. */
int agent_socket_name(const char *host, char *out, size_t size) must_check;

#endif
