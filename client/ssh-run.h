/* SPDX-License-Identifier: ISC */
/*
 * One run of hpnssh, once it is known what is wanted: the connection, and what
 * is done over it (a session, -W, a tunnel, forwards, mux clients), from the
 * first step to the exit status. Or the same over a master's connection.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SSH_RUN_H
#define HPN_CLIENT_SSH_RUN_H

#include <stdbool.h>

#include "conf/client-conf.h"
#include "conf/forward-spec.h"

/* All borrowed. */
struct ssh_run_params {
	/* The port becomes the one that answered, and a tunnel's interface
	 * gets its name. */
	struct client_conf *conf;
	const struct forward_endpoint *through; /* -W; or NULL */
	const char *remote; /* what the server shall run; NULL: a shell */
	bool tty;
	bool proxied; /* through a master's proxy (-O proxy) */
};

/* The exit status of the program. */
int ssh_run(const struct ssh_run_params *params);

#endif
