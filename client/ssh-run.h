/* SPDX-License-Identifier: ISC */
/*
 * One run of hpnssh after its command line and configuration were read: it
 * makes the connection (or uses that of a master), does what was asked for (a
 * session, -W, a tunnel, forwards, serving mux clients), and ends with the exit
 * status.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SSH_RUN_H
#define HPN_CLIENT_SSH_RUN_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "conf/forward-spec.h"

/* The pointers are borrowed until ssh_run() returns. */
struct ssh_run_params {
	/* Changed during the run: the port becomes the one that answered, and
	 * TunnelDevice the interface that was opened. */
	struct client_conf *conf;
	const struct forward_endpoint *through; /* -W; or NULL */
	const char *remote; /* what the server shall run; NULL: a shell */
	bool tty;
	bool proxied; /* speak SSH through a master's connection (-O proxy) */
};

/* Returns the exit status for the program: that of the remote command, or 255
 * after an error. */
int ssh_run(const struct ssh_run_params *params);

#endif
