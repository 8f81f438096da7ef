/* SPDX-License-Identifier: ISC */
/*
 * The pipes between a session and its program.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_PIPES_H
#define HPN_SERVER_SESSION_SESSION_PIPES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct session_pipe {
	int ours, theirs; /* ours does not block */
};

/* Makes the pipes for input, output and error messages, in this order. After an
 * error some may be open; the others are -1. sessions: how many the connection
 * has, with this one. */
int session_pipes_make(struct session_pipe v[3], size_t sessions) must_check;

#endif
