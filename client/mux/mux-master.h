/* SPDX-License-Identifier: ISC */
/*
 * A master: it shares its connection with other processes of the same user
 * (ControlMaster, ControlPath). Each of these mux clients is connected to the
 * master by a socket. Over that it sends requests, and at most one session, and
 * passes descriptors that the master reads and writes for it.
 *
 * DESIGN. A client is trusted with the connection, because it has the master's
 * user id, or is root; but it is not trusted to behave. Whatever it sends or
 * does not read, the others go on: nothing here waits for a client, and each
 * thing that a client can make grow has a limit. The number of clients is
 * limited by the descriptors that this process may have: a client is let in
 * only if there is room for the descriptors it will send.
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
	/* Descriptors per client: its socket, and those it sends. */
	MUX_CLIENT_FDS = 4,
	/* Descriptors kept for the connection and forwards. */
	MUX_RESERVED_FDS = 64,
};

struct forwards;
struct connection_identity;
struct mux_master;

struct mux_master_params {
	/* What each session gets of the connection; the other fields are filled
	 * in for each session. The master itself uses conf, loop and channels
	 * of it, too. */
	struct session_params session;
	/* The forwards of the connection; NULL: it cannot forward. */
	struct forwards *forwards;
	/* The master counts here each client (USE_MUX_CLIENT), and itself
	 * (USE_SHARING) while it keeps the connection for clients that may
	 * come. */
	struct uses *uses;
	bool asks;	   /* ask the user about what each client wants */
	/* Seconds of idling after which the connection is not kept any more; 0:
	 * it is kept without limit; -1: it is not kept for clients at all
	 * (ControlPersist). */
	int persist_s;
	void *arg;
	/* Fills in the identity that further connections beside this one have
	 * to match. ERR_UNSUPPORTED: none can be made; *out is empty then. May
	 * be NULL: the same. */
	int (*tell_identity)(void *arg, struct connection_identity *out);
	/* Called before a client gets a terminal: leaves the cipher none.
	 * False: that is not possible now. May be NULL. */
	bool (*leave_none)(void *arg);
	/* exit(): a client wants this process to end now. stop(): a client
	 * wants it to end when its last client has gone. */
	void (*exit)(void *arg);
	void (*stop)(void *arg);
	/* Something was typed in a client's session while the connection is
	 * lost. May be NULL. */
	void (*typed)(void *arg);
	/* The last mux client has gone. May be NULL. */
	void (*empty)(void *arg);
};

/* Makes a master that listens at path; NULL: clients come only by
 * mux_master_take(). Errors were logged. ERR_DENIED: a file with that path
 * exists, so this process goes on without being a master. */
int mux_master_new(struct mux_master **out,
    const struct mux_master_params *params, const char *path) must_check;
/* Frees the master; its clients lose the connection. To be called before the
 * forwards are freed. NULL is fine. */
void mux_master_free(struct mux_master *m);
/* Closes the socket and leaves its file: after fork(2), in the process that
 * does not go on as the master. */
void mux_master_forget(struct mux_master *m);
/* Takes a connected socket as that of a new client, as if it had come through
 * the master's own socket. */
void mux_master_take(struct mux_master *m, int fd);
/* The connection is lost. A session ends when all that was received is written;
 * a client without a session or stdio forward is let go, and no new client can
 * come. */
void mux_master_lost(struct mux_master *m);
/* session_waits() of client/session/client-session.h, for each client. */
void mux_master_waits(struct mux_master *m, bool waits);
/* Some client's terminal was resized: each session asks its own terminal for
 * the size. */
void mux_master_resized(struct mux_master *m);
/* How many clients are let in by a process that may have fds descriptors. */
size_t mux_master_room(size_t fds);
/* The master has mux clients. */
bool mux_master_is_used(const struct mux_master *m);

#endif
