/* SPDX-License-Identifier: ISC */
/*
 * Where a transfer gets its streams from: SFTP sessions with one host, on
 * channels of one connection or on several connections. The engine says how
 * many it wants; whoever hands it this table (client/copy/remote.c, or a test)
 * opens them, carries their bytes and measures the path.
 *
 * Threads: the driver's (the loop's).
 */
#ifndef HPN_XFER_STATE_STREAMS_H
#define HPN_XFER_STATE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sftp;

enum xfer_stream_kind {
	XFER_STREAM_CHANNEL,    /* one more channel of a connection there is */
	XFER_STREAM_CONNECTION, /* one more connection; never asks the user */
};

/* What is known of a stream's path. Counters run from its connection's start.
 */
struct xfer_stream_stats {
	uint64_t rtt_us;	   /* round trip without queues; 0: unknown */
	/* present round trip of what is sent; 0: unknown */
	uint64_t sent_us;
	/* present round trip of what is received; 0: unknown */
	uint64_t received_us;
	uint64_t arrived; /* bytes of its connection, both ends; 0: unknown */
	/* most bytes that can be under way, by the hosts' buffers; 0:
	 * unknown */
	uint64_t tcp_window;
	/* time that it had data to send, but the peer's channel windows were
	 * used up */
	uint64_t window_stall_ms;
	/* time that the kernel had data which it could not send yet */
	uint64_t network_stall_ms;
	uint32_t send_window; /* the widest window that the peer gave on this
			       * channel; 0: unknown */
	bool widens; /* the peer is known to widen its windows with the path */
	/* number of the connection that carries the stream; 0: the first one */
	unsigned connection;
	/* While the kernel has much that is not sent: bytes that the peer has
	 * taken. Else 0. */
	uint64_t backlog_acked;
	bool up; /* logged in: the server owes its VERSION */
};

struct xfer_streams_ops {
	/* Begins one more stream. A channel is of the connection with the
	 * fewest streams, among those whose numbers are the bits of `among`;
	 * 0: among all. Its session *out takes requests at once, is
	 * attached to what carries it (sftp_attach()), and may fail later
	 * (sftp_error()) without a message. Connections log in one after the
	 * other. ERR_LIMIT: no more streams of that kind are possible. */
	int (*open)(void *arg, enum xfer_stream_kind kind,
	    uint64_t among, struct sftp **out);
	/* Frees the session, its channel, and its connection with the last of
	 * its streams. Not inside of a callback of any session. */
	void (*close)(void *arg, struct sftp *s);
	void (*path)(
	    void *arg, const struct sftp *s, struct xfer_stream_stats *out);
	/* A turn of all streams, as of a carrier (xfer/sftp/carrier.h). */
	int (*turn)(void *arg, int timeout_ms);
};

/* Copied by value; arg is borrowed. */
struct xfer_streams {
	const struct xfer_streams_ops *ops;
	void *arg;
};

#endif
