/* SPDX-License-Identifier: ISC */
/*
 * A mux client's request for a session, made from its configuration, and the
 * message to the user when the session is refused.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_REQUEST_H
#define HPN_CLIENT_MUX_MUX_REQUEST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "client/mux/mux-conn.h"
#include "conf/client-conf.h"

/* What the session is to run. All is borrowed. command NULL: a shell. */
struct mux_wanted {
	const struct client_conf *conf;
	const char *command;
	bool subsystem, tty;
};

/* Writes the whole request to b; its descriptors are sent behind it. */
int mux_request_session(struct mux_conn *c, struct buf *b,
    const struct mux_wanted *wanted) must_check;
/* Logs why there is no session. err is the error of mux_conn_ask(). */
void mux_request_report(const struct mux_conn *c, enum log_level level,
    int err);

#endif
