/* SPDX-License-Identifier: ISC */
/*
 * How the listener starts hpnsshd-session: when a connection has come, or in
 * advance as a spare process. A spare process has loaded the program, has read
 * the listener's state, and waits for a connection, which shortens a login by a
 * tenth. It ends when its socket to the listener is closed.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_SESSION_START_H
#define HPN_SERVER_LISTENER_SESSION_START_H

#include <sys/types.h>

#include <stdbool.h>

#include "base/err.h"
#include "server/programs.h"

/* hpnsshd-session, and what it is started with. The listener owns state_fd, and
 * programs, which are those of struct server_state. */
struct session_program {
	const struct program *programs;
	int state_fd;
	bool leads; /* the process begins a session of its own, setsid(2) */
	bool told; /* it was logged that a program was replaced */
};

struct session_process {
	pid_t pid;
	/* Pipe to read its reports from (STATE_FD_STARTUP in server/state.h);
	 * owned; does not block. */
	int reports;
};

/* A spare process. Zeroed: there is none. */
struct session_spare {
	struct session_process process; /* pid 0: there is none */
	int sock; /* to send the connection to it; owned */
};

/* Makes sure that no later descriptor of this process gets a number below
 * STATE_FD_FIRST_FREE: hpnsshd-session expects its descriptors there. */
void session_start_reserve(void);
/* Starts hpnsshd-session for connection, which the caller still owns. Returns 0
 * or an errno number. */
int session_start(struct session_program *p, int connection,
    struct session_process *out) must_check;
/* Makes this process the hpnsshd-session of connection. Returns an errno number
 * if that fails; startup is STATE_FD_STARTUP. */
int session_become(const struct session_program *p, int connection,
    int startup);

/* Starts a spare process unless there is one. */
void session_spare_fill(struct session_spare *s, struct session_program *p);
/* Sends the connection to the spare process, which becomes *out. The caller
 * still owns connection. False: there was no spare process, or it has died. */
bool session_spare_take(struct session_spare *s, int connection,
    struct session_process *out) must_check;
/* Tells the spare process to end. Its parent reaps it. Does nothing if there is
 * none. */
void session_spare_drop(struct session_spare *s);
/* To be called with each child process that has ended. True: it was the spare
 * process, which is forgotten. */
bool session_spare_ended(struct session_spare *s, pid_t pid);

#endif
