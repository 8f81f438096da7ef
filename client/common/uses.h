/* SPDX-License-Identifier: ISC */
/*
 * Counts what a connection is used for. hpnssh ends when the last use of its
 * connection ends, of whichever kind that is.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_USES_H
#define HPN_CLIENT_COMMON_USES_H

#include <stdbool.h>

enum use {
	USE_SESSION,
	USE_STDIO_FORWARD, /* -W */
	USE_NO_SESSION,	   /* -N: lasts until hpnssh is stopped */
	USE_PRIVATE_FORWARD, /* the server uses the agent or the display */
	USE_FORWARDED,	   /* a connection of -L, -R or -D */
	USE_TUNNEL,	   /* -w */
	USE_MUX_CLIENT,	   /* a process that shares the connection */
	USE_SHARING,	   /* ControlPersist: waits for mux clients */
	USE_LEARNING,	   /* the server is proving new host keys; ends after a
			    * short time at the latest */
	USE_COUNT
};

struct uses {
	unsigned count[USE_COUNT];
	/* Called when the last use has ended. */
	void (*unused)(void *arg);
	void *arg;
};

void uses_begin(struct uses *u, enum use use);
/* Ends a use that uses_begin() has counted. May call unused(). */
void uses_end(struct uses *u, enum use use);
bool uses_any(const struct uses *u);

#endif
