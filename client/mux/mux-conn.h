/* SPDX-License-Identifier: ISC */
/*
 * A mux client's connection to a master, before it has a session: each request
 * waits for the master's answer without an event loop.
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
	bool knows_info;   /* the master answers MUX_INFO */
	/* The master tells the identity of its connection
	 * (client/mux/connection-identity.h). */
	bool knows_identity;
	uint32_t type;	 /* of the last answer: enum mux_type */
	struct buf answer;
	char *why; /* text of the last refusal, escaped; or NULL */
};

/* Connects to the master at path, and exchanges hellos. Errors: those of
 * mux_socket_connect(); ERR_TIMEOUT; ERR_PROTOCOL or ERR_UNSUPPORTED where the
 * master's hello is wrong or of another version. timeout_ms -1: no limit. On an
 * error c is closed. */
int mux_conn_open(struct mux_conn *c, const char *path,
    int timeout_ms) must_check;
void mux_conn_close(struct mux_conn *c);

/* Begins a request in b, with a new request id. */
void mux_conn_begin(struct mux_conn *c, struct buf *request,
    enum mux_type type);
/* Sends the request, then the descriptors, and waits for the answer: c->type
 * has its type, and *rest what follows the request id. A refusal is ERR_DENIED,
 * with its text in c->why and its type in c->type. ERR_CLOSED: the master is
 * gone. */
int mux_conn_ask(struct mux_conn *c, const struct buf *request, const int *fds,
    size_t fd_count, struct rd *rest) must_check;
/* The two halves of mux_conn_ask(), for a caller that waits in an event loop:
 * send the request; later take the answer, which begins with its type. */
int mux_conn_send(struct mux_conn *c, const struct buf *request,
    const int *fds, size_t fd_count) must_check;
int mux_conn_take(struct mux_conn *c, struct rd *answer) must_check;
/* Asks for the master's process id. */
int mux_conn_check(struct mux_conn *c, uint32_t *pid) must_check;

#endif
