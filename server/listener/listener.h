/* SPDX-License-Identifier: ISC */
/*
 * The listening process: sockets, one hpnsshd-session per connection,
 * limits on those that are not authenticated, signals.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_LISTENER_H
#define HPN_SERVER_LISTENER_LISTENER_H

#include <stdbool.h>

#include "server/state.h"

struct listener_opts {
	bool foreground; /* -D, -d */
	bool debug;	 /* -d: serves one connection, in this process */
	const char *exe; /* path of this program, to start it anew at SIGHUP */
	char **argv;
};

/* Opens the sockets, goes to the background, serves until a signal. Returns
 * the exit status. */
int listener_run(struct server_state *state, const struct listener_opts *opts);

/* -i: serves the connection at descriptor 0 only. Becomes hpnsshd-session. */
_Noreturn void listener_inetd(struct server_state *state);

/* Notify systemd, if it started this process. */
void notify_ready(void);
void notify_reloading(void);

#endif
