/* SPDX-License-Identifier: ISC */
/*
 * One end of a socket between a master and a mux client, in the event loop:
 * whole messages in both directions, and descriptors that are received. What
 * the other end can make us keep in memory is limited to one incomplete
 * message, and to answers up to a size: from that on nothing more is read until
 * the other end reads.
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
	/* A message has come. Returns 0, or an error, which ends the
	 * transport. */
	int (*message)(void *arg, struct rd message);
	/* A descriptor that was awaited has come; the callee owns it. Returns
	 * as message() does. NULL: the owner never awaits one, as mux clients
	 * do not; one that comes nevertheless is closed by the kernel. */
	int (*descriptor)(void *arg, int fd);
	/* Called once, when the transport has ended: err is 0 after
	 * mux_transport_finish(), ERR_CLOSED if the other end is gone, or
	 * another error. The owner frees the transport, in this hook or later,
	 * but in none of the other hooks. */
	void (*ended)(void *arg, int err);
};

/* Makes a transport over fd, which is taken over, also on an error. */
int mux_transport_new(struct mux_transport **out, struct loop *loop, int fd,
    const struct mux_transport_hooks *hooks) must_check;
void mux_transport_free(struct mux_transport *t);
/* Queues the message; the loop sends it. An error ends the transport, from the
 * loop too. */
void mux_transport_send(struct mux_transport *t, const struct buf *message);
/* The next that is received is n descriptors; messages follow them. */
void mux_transport_await_fds(struct mux_transport *t, size_t n);
/* Stops or starts reading messages and descriptors. */
void mux_transport_pause(struct mux_transport *t, bool paused);
/* Ends the transport when all that is queued is sent. Nothing more is read. */
void mux_transport_finish(struct mux_transport *t);
/* Bytes that are queued because the other end does not read them. */
size_t mux_transport_backlog(const struct mux_transport *t);
/* Throws the queued bytes away, and ends the transport with this error, from
 * the loop. */
void mux_transport_fail(struct mux_transport *t, int err);
/* True if so much is queued that the caller should make no more messages
 * now. */
bool mux_transport_is_full(const struct mux_transport *t);

#endif
