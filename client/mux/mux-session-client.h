/* SPDX-License-Identifier: ISC */
/*
 * hpnssh as a mux client: a master of the same user makes the session on the
 * connection that it shares, and reads and writes this process's descriptors.
 * What is left to do here: the modes of the terminal, signals, and the exit
 * status.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_SESSION_CLIENT_H
#define HPN_CLIENT_MUX_MUX_SESSION_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "client/mux/mux-conn.h"
#include "conf/client-conf.h"

struct mux_session_client {
	/* conf, conn, target and command are borrowed */
	const struct client_conf *conf;
	struct mux_conn *conn;		/* open, to the master */
	/* What is asked for: a connection to target (-W, if it is not NULL), no
	 * session at all (none, -N), or else a session with command; command
	 * NULL: a shell. */
	const struct forward_endpoint *target;
	bool none;
	const char *command;
	bool subsystem;
	bool tty;
	bool has_forwards; /* the master has the forwards of conf already */
	/* Set by mux_session_client_run(). */
	uint32_t master_pid;
	uint32_t channel;
	int status;
	bool ended;
	struct loop *loop;
};

/* Asks the master for the session, and returns when it has ended; *status is
 * the exit status for this process. An error: the master does not make the
 * session, and the user was told why; the caller may make a connection of its
 * own. */
int mux_session_client_run(struct mux_session_client *p,
    int *status) must_check;

#endif
