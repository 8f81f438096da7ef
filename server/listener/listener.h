/* SPDX-License-Identifier: ISC */
/*
 * The listening process. It listens on the sockets, starts an hpnsshd-session
 * for each connection, limits connections that are not authenticated, and
 * handles signals.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_LISTENER_H
#define HPN_SERVER_LISTENER_LISTENER_H

#include <stdbool.h>

#include "server/state.h"

struct listener_opts {
	bool foreground; /* -D or -d: stays in the foreground */
	bool debug;	 /* -d: serves one connection, in this process */
	const char *exe; /* path of this program, to start it anew at SIGHUP */
	char **argv;
};

/* Opens the programs of connections. ERR_SYSTEM: one is missing, which was
 * logged. */
int listener_hold_programs(struct server_state *state) must_check;

/* Opens the sockets, goes to the background, and serves until a signal ends it.
 * Returns the exit status. */
int listener_run(struct server_state *state, const struct listener_opts *opts);

/* -i: serves the only connection, at descriptors 0 and 1. Becomes
 * hpnsshd-session. */
_Noreturn void listener_inetd(struct server_state *state);

/* Notify systemd, if it started this process. */
void notify_ready(void);
void notify_reloading(void);

#endif
