/* SPDX-License-Identifier: ISC */
/*
 * What a connection is used for, counted: hpnssh ends with the last use of
 * its connection, whichever that is.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_USES_H
#define HPN_CLIENT_COMMON_USES_H

#include <stdbool.h>

enum use {
	USE_SESSION,
	USE_STDIO_FORWARD, /* -W */
	USE_NO_SESSION,	   /* -N: until it is ended from outside */
	USE_PRIVATE_FORWARD, /* the server uses the agent or the display */
	USE_FORWARDED,	   /* a connection of -L, -R or -D */
	USE_TUNNEL,	   /* -w */
	USE_MUX_CLIENT,	   /* a process that shares the connection */
	USE_SHARING,	   /* ControlPersist: others may come */
	USE_LEARNING,	   /* host keys are being proved; for a short time */
	USE_COUNT
};

struct uses {
	unsigned count[USE_COUNT];
	/* The last one ended. */
	void (*unused)(void *arg);
	void *arg;
};

void uses_begin(struct uses *u, enum use use);
/* A use ends that began. May call unused(). */
void uses_end(struct uses *u, enum use use);
bool uses_any(const struct uses *u);

#endif
