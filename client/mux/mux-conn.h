/* SPDX-License-Identifier: ISC */
/*
 * A mux client's connection to a master, before it has a session: it sends a
 * request and waits for the answer, as it would wait for a host.
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_CLIENT_MUX_MUX_CONN_H
#define HPN_CLIENT_MUX_MUX_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "client/mux/mux-wire.h"

struct mux_conn {
	int fd; /* -1: none */
	uint32_t last_request;
	bool knows_info;   /* MUX_INFO */
	bool knows_identity; /* and what it tells of its connection to others
			    * of ours (client/mux/connection-identity.h) */
	uint32_t type;	 /* of the last answer */
	struct buf answer;
	char *why; /* a refusal's text, escaped */
};

/* Connects, and both say hello. Errors of mux_socket_connect(), and what is
 * wrong with the hello. timeout_ms: -1 none. */
int mux_conn_open(struct mux_conn *c, const char *path,
    int timeout_ms) must_check;
void mux_conn_close(struct mux_conn *c);

/* Begins a request with a number of its own. */
void mux_conn_begin(struct mux_conn *c, struct buf *request,
    enum mux_type type);
/* Sends it, then the descriptors, and waits for its answer: c->type, and in
 * *rest what follows the request id. A refusal is ERR_DENIED, with its text in
 * c->why and its type in c->type. ERR_CLOSED: the master is gone. */
int mux_conn_ask(struct mux_conn *c, const struct buf *request, const int *fds,
    size_t fd_count, struct rd *rest) must_check;
/* The two halves of it, for a caller that does not wait: the request, and an
 * answer, from its type on. */
int mux_conn_send(struct mux_conn *c, const struct buf *request,
    const int *fds, size_t fd_count) must_check;
int mux_conn_take(struct mux_conn *c, struct rd *answer) must_check;
/* The master's process id. */
int mux_conn_check(struct mux_conn *c, uint32_t *pid) must_check;

#endif
