/* SPDX-License-Identifier: ISC */
/*
 * A session on a master's connection, for a program with an event loop of its
 * own. The input and output of the session are pipes, whose other ends this
 * program has. The pipes end when the session ends or is refused, or when the
 * master is gone.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_PIPED_H
#define HPN_CLIENT_MUX_MUX_PIPED_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "client/mux/mux-conn.h"
#include "client/mux/mux-request.h"

struct mux_piped;

struct mux_piped_params {
	struct loop *loop;
	/* What the session runs; borrowed until mux_piped_new() returns. */
	struct mux_wanted wanted;
	bool quiet; /* a session that fails is logged for debugging only */
};

/* Asks for the session, and does not wait for the answer. conn is taken over,
 * also on an error. fds[0] is to read from, fds[1] to write to; the caller owns
 * them. */
int mux_piped_new(struct mux_piped **out, const struct mux_piped_params *params,
    struct mux_conn *conn, int fds[2]) must_check;
void mux_piped_free(struct mux_piped *piped);

/* The master has not answered yet. */
bool mux_piped_is_asked(const struct mux_piped *piped);
bool mux_piped_is_open(const struct mux_piped *piped);
/* The exit status of the session's program; 0 while the session is open, and
 * 255 if there was no session or the status is not known. */
int mux_piped_status(const struct mux_piped *piped);

#endif
