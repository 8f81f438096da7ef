/* SPDX-License-Identifier: ISC */
/*
 * hpnssh as a mux client: a master of the same user makes its session, on the
 * connection that it shares, and reads and writes this process's descriptors.
 * Here is only what is left to do: the terminal, signals, and the exit status.
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
	const struct client_conf *conf; /* these are borrowed */
	struct mux_conn *conn;		/* open */
	/* The request is one of these: what to connect to (-W), no session at
	 * all (-N), or what to run; NULL: a shell. */
	const struct forward_endpoint *target;
	bool none;
	const char *command;
	bool subsystem;
	bool tty;
	bool has_forwards; /* the master has those of conf already */
	/* Filled in. */
	uint32_t master_pid;
	uint32_t channel;
	int status;
	bool ended;
	struct loop *loop;
};

/* The session runs, from the request to the end; *status is for exit(3). An
 * error: the master does not make it, the user was told why, and this process
 * may do it with a connection of its own. */
int mux_session_client_run(struct mux_session_client *p,
    int *status) must_check;

#endif
