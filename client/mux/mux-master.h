/* SPDX-License-Identifier: ISC */
/*
 * A master: it shares its connection with other processes of the same user
 * (ControlMaster, ControlPath). Each of these mux clients has a link to it, and
 * on it requests, at most one session, and descriptors that the master reads
 * and writes for it.
 *
 * DESIGN. A client is trusted with the connection, because it has the
 * master's user id, or is root; but not to behave. Whatever it sends or does
 * not read, the others go on: nothing here waits for it, and each thing that
 * it can make grow has a limit. How many there are is bounded by the
 * descriptors that this process may have: room is left for those of each, so
 * that none comes in who can't hand over his own.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_MASTER_H
#define HPN_CLIENT_MUX_MUX_MASTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "client/common/uses.h"
#include "client/session/client-session.h"
#include "conf/client-conf.h"

enum {
	MUX_CLIENT_FDS = 4, /* of a client: its link, and its own */
	MUX_RESERVED_FDS = 64, /* for the connection, and forwards */
};

struct forwards;
struct connection_identity;
struct mux_master;

struct mux_master_params {
	/* What a session needs of the connection; the rest is filled in for
	 * each. conf and loop are of here too. */
	struct session_params session;
	struct forwards *forwards; /* of the connection; NULL: none can be */
	struct uses *uses; /* USE_MUX_CLIENT, and USE_SHARING while others may
			    * come and the connection is kept for them */
	bool asks;	   /* the user is asked about each client */
	int persist_s;	   /* ends when it was idle for so long; 0: never for
			    * that; -1: it is not kept for clients */
	void *arg;
	/* What further connections beside this one hold to. ERR_UNSUPPORTED:
	 * none can be made; *out is empty then. May be NULL: none either. */
	int (*tell_identity)(void *arg, struct connection_identity *out);
	/* A terminal will be opened. False: not now. May be NULL. */
	bool (*leave_none)(void *arg);
	/* A client wants this process to end, now, or (stop) when its last
	 * client has gone. */
	void (*exit)(void *arg);
	void (*stop)(void *arg);
	/* The last mux client has gone. */
	void (*empty)(void *arg);
};

/* Listens at path; NULL: nowhere, clients come by mux_master_take() only.
 * Errors were logged; ERR_DENIED: that path is taken, so this process goes on
 * without being a master. */
int mux_master_new(struct mux_master **out,
    const struct mux_master_params *params, const char *path) must_check;
/* Clients lose the connection. Freed before the forwards. NULL is fine. */
void mux_master_free(struct mux_master *m);
/* After fork(2), in the process that does not go on as the master. */
void mux_master_forget(struct mux_master *m);
/* A socket that was connected here is taken, as if it had come through the
 * master's own. */
void mux_master_take(struct mux_master *m, int fd);
/* The connection is lost. Sessions end when what has come is written; who has
 * none is let go, and nobody new comes. */
void mux_master_lost(struct mux_master *m);
/* A terminal was resized; it is not known whose. */
void mux_master_resized(struct mux_master *m);
/* So many clients are let in with that many descriptors. */
size_t mux_master_room(size_t fds);
/* The master has mux clients. */
bool mux_master_is_used(const struct mux_master *m);

#endif
