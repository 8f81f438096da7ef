/* SPDX-License-Identifier: ISC */
/*
 * Connection sharing as the configuration wants it (ControlMaster, ControlPath,
 * ControlPersist): which roles this process may have, and the connection to a
 * master that exists already. The process may be a mux client of that master,
 * become a master itself, both (the second if the first fails), or neither.
 * What it does in these roles is in sharing-roles.h, which hpnscp and hpnsftp
 * do not have.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_SHARING_H
#define HPN_CLIENT_MUX_SHARING_H

#include <stdbool.h>

#include "base/err.h"
#include "client/mux/mux-conn.h"
#include "conf/client-conf.h"

struct sharing {
	const struct client_conf *conf; /* borrowed */
	char *path;		   /* ControlPath; NULL: nothing is shared */
	bool uses_master;		   /* try to be a mux client first */
	bool serves;		   /* become a master after the login */
	/* As a background process (ControlPersist). */
	bool keeps;
	/* Set by sharing_serve(); NULL: not a master. */
	struct mux_master *master;
};

/* Reads the configuration, which is borrowed. Errors were logged. */
int sharing_init(struct sharing *s, const struct client_conf *conf) must_check;
/* Frees what s owns. A master calls sharing_stop() before. */
void sharing_clear(struct sharing *s);

/* No mux client will come: the connection has no other session than the
 * first. */
bool sharing_is_off(const struct sharing *s);

/* Both connect to the master. A missing master is logged as an error by
 * sharing_open() only; sharing_connect() expects it, and with ControlMaster
 * also removes the socket of a master that has ended. Any other error is logged
 * by both. */
int sharing_connect(const struct sharing *s, struct mux_conn *conn) must_check;
int sharing_open(const struct sharing *s, struct mux_conn *conn) must_check;

#endif
