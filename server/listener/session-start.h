/* SPDX-License-Identifier: ISC */
/*
 * How the listener starts hpnsshd-session: for a connection that has come, or
 * ahead of it. A spare one is loaded and has read the listener's state, and
 * waits for its connection: that takes a tenth off the time of a login. It
 * ends when its socket to the listener is closed.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_SESSION_START_H
#define HPN_SERVER_LISTENER_SESSION_START_H

#include <sys/types.h>

#include <stdbool.h>

#include "base/err.h"

/* The program that is started, and what it gets; all of it is the
 * listener's. */
struct session_program {
	char *path;
	int state_fd;
	bool leads; /* a session of its own: setsid(2) */
};

struct session_process {
	pid_t pid;
	int reports; /* owned; does not block; see server/state.h */
};

/* Zeroed: there is none. */
struct session_spare {
	struct session_process process; /* pid 0: there is none */
	int sock; /* owned; to send it the connection */
};

/* Keeps the numbers free that hpnsshd-session finds its descriptors at. */
void session_start_reserve(void);
/* The caller keeps connection. 0, or a number of errno. */
int session_start(const struct session_program *p, int connection,
    struct session_process *out) must_check;

/* Starts one, unless there is one. */
void session_spare_fill(struct session_spare *s,
    const struct session_program *p);
/* The spare process takes the connection. False: there was none, or it has
 * died. */
bool session_spare_take(struct session_spare *s, int connection,
    struct session_process *out) must_check;
/* The spare process ends soon, unless it was taken; its parent reaps it. */
void session_spare_drop(struct session_spare *s);
/* A child has ended: true if it was the spare one, which is forgotten. */
bool session_spare_ended(struct session_spare *s, pid_t pid);

#endif
