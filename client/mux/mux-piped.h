/* SPDX-License-Identifier: ISC */
/*
 * A session that a master makes on its connection for a program with an event
 * loop of its own: its input and output are pipes, whose other ends the program
 * has. They end when the session does, is refused, or the master is gone.
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
	struct mux_wanted wanted; /* a program; used only when it begins */
	bool quiet; /* the user need not know when there is none */
};

/* Asks, and does not wait for the answer. conn is taken over, also when it
 * fails. fds: what to read from and what to write to; the caller's. */
int mux_piped_new(struct mux_piped **out, const struct mux_piped_params *params,
    struct mux_conn *conn, int fds[2]) must_check;
void mux_piped_free(struct mux_piped *piped);

/* The master has not answered yet. */
bool mux_piped_is_asked(const struct mux_piped *piped);
bool mux_piped_is_open(const struct mux_piped *piped);
/* The status is 0 while the session lasts; then that of its program, or 255:
 * there was none, or it is not known. */
int mux_piped_status(const struct mux_piped *piped);

#endif
