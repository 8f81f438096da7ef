/* SPDX-License-Identifier: ISC */
/*
 * Connection sharing as the configuration wants it (ControlMaster, ControlPath,
 * ControlPersist): which roles this process may have, and the master that may
 * be there already. It may be a mux client of that; it may become a master;
 * neither, one of them, or the first and then the second. What it does then is
 * in sharing-roles.h, which hpnscp and hpnsftp do not have.
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
	bool uses_master;		   /* it tries to be a mux client */
	bool serves;		   /* it will be a master */
	bool keeps;		   /* in the background (ControlPersist) */
	struct mux_master *master; /* NULL: it is none; sharing_serve() */
};

/* Faults were logged. */
int sharing_init(struct sharing *s, const struct client_conf *conf) must_check;
/* The sharing is freed; behind sharing_stop(), if it was a master. */
void sharing_clear(struct sharing *s);

/* The server may get no other session than the first. */
bool sharing_is_off(const struct sharing *s);

/* Both connect to the master. For sharing_connect() it is no fault that there
 * is none, nor, with ControlMaster, that it has ended; for sharing_open() both
 * are. Faults were logged. */
int sharing_connect(const struct sharing *s, struct mux_conn *conn) must_check;
int sharing_open(const struct sharing *s, struct mux_conn *conn) must_check;

#endif
