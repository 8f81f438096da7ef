/* SPDX-License-Identifier: ISC */
/*
 * How many bytes may wait for the socket, here and in the kernel: as many as it
 * sends in some milliseconds. With more, a keystroke would wait longer behind
 * another channel's bulk data. With fewer, a fast path would have nothing to
 * send before the next turn of the loop.
 */
#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "packet-internal.h"

enum {
	SAMPLE_MS = 20,		      /* least time between two samples */
	UNSENT_MS = 5,		      /* the kernel keeps what it sends in it */
	UNSENT_MIN = 64 * 1024,	      /* bytes: enough for a few writes */
	UNSENT_MAX = 4 * 1024 * 1024, /* more has the effect of no limit */
	BULK_MIN = 32 * 1024,	      /* bytes of payload on a slow path */
};

size_t
packet_unsent_for(uint64_t bytes_per_s)
{
	uint64_t wanted = bytes_per_s / 1000 * UNSENT_MS;
	size_t unsent = UNSENT_MIN;

	/* Powers of two, so that the limit seldom changes. */
	while (unsent < UNSENT_MAX && unsent < wanted)
		unsent *= 2;
	return unsent;
}

size_t
packet_tx_room(const struct packet *p)
{
	return p->tx.unsent == 0 ?
	    (size_t)PACKET_TX_BULK :
	    MIN(p->tx.unsent / 2, (size_t)PACKET_TX_BULK);
}

/* The largest payload of a bulk packet. It is small on a slow path, because a
 * keystroke waits until the packet in front of it is sent. */
size_t
packet_bulk_max(const struct packet *p)
{
	if (p->tx.unsent == 0)
		return BULK_MIN;
	return MAX((size_t)BULK_MIN,
	    MIN(packet_tx_room(p) / 2, (size_t)CIPHER_LEN_MAX - 1024));
}

void
packet_pace(struct packet *p)
{
	uint64_t now = clock_ms(), rate;
	size_t unsent;

	if (!p->authenticated || now - p->tx.sampled_ms < SAMPLE_MS)
		return;
	p->tx.sampled_ms = now;
	if ((rate = tcp_send_rate(p->fd_out)) == 0)
		return; /* not a TCP socket, or the rate is not known yet */
	unsent = packet_unsent_for(rate);
	if (unsent != p->tx.unsent && tcp_set_unsent(p->fd_out, unsent))
		p->tx.unsent = unsent;
}
