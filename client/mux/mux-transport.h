/* SPDX-License-Identifier: ISC */
/*
 * One end of a socket between a master and a mux client, in the event loop:
 * whole messages in both directions, and descriptors. What the other end can
 * make us keep has limits: one message that is not complete, and answers up to
 * a size from which on it is not read from any more.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_TRANSPORT_H
#define HPN_CLIENT_MUX_MUX_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"

struct mux_transport;

struct mux_transport_hooks {
	void *arg;
	/* A message. 0, or an error, which ends the transport. */
	int (*message)(void *arg, struct rd message);
	/* A descriptor that was awaited; the callee owns it. As above. */
	int (*descriptor)(void *arg, int fd);
	/* The transport ended, once: 0 after mux_transport_finish(), ERR_CLOSED
	 * when the other end is gone, or what is wrong with it. The owner frees
	 * it, here or later, but in none of the other hooks. */
	void (*ended)(void *arg, int err);
};

/* Takes fd over, also when it fails. */
int mux_transport_new(struct mux_transport **out, struct loop *loop, int fd,
    const struct mux_transport_hooks *hooks) must_check;
void mux_transport_free(struct mux_transport *t);
/* The message is queued, and sent in the loop. An error ends the transport, in
 * the loop too. */
void mux_transport_send(struct mux_transport *t, const struct buf *message);
/* Descriptors come next, so many, and nothing else before them. */
void mux_transport_await_fds(struct mux_transport *t, size_t n);
/* No message is read until it goes on. */
void mux_transport_pause(struct mux_transport *t, bool paused);
/* Ends when all is sent. Nothing more is read. */
void mux_transport_finish(struct mux_transport *t);
/* Bytes that the other end has not read yet. */
size_t mux_transport_backlog(const struct mux_transport *t);
/* Throws these away, and ends, in the loop, with this error. */
void mux_transport_fail(struct mux_transport *t, int err);
/* The transport cannot take more now: do not make more for it. */
bool mux_transport_is_full(const struct mux_transport *t);

#endif
