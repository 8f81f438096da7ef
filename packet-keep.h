/* SPDX-License-Identifier: ISC */
/*
 * Messages that survive the loss of a transport (survive@hpnssh.org in
 * docs/PROTOCOL.md). Those of the connection protocol (80-127) are counted by
 * both sides; what was sent stays in the output ring, sealed, until the peer
 * says that it has handled it. packet_resume() then sends what the peer lacks
 * under the keys of another transport.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_PACKET_KEEP_H
#define HPN_PACKET_KEEP_H

#include "packet.h"

enum { PACKET_KEEP_MAX = 64 * 1024 * 1024 }; /* bytes */
/* Can what the keys for sending seal be opened again, packet by packet? */
bool packet_can_keep(const struct packet *p);
/* What is put from now on is kept, max bytes at most. ERR_UNSUPPORTED: the
 * cipher is none or chained, or the stream is compressed. */
int packet_keep_begin(struct packet *p, size_t max) must_check;
/* No more than max bytes are kept from now on. */
void packet_keep_limit(struct packet *p, size_t max);
/* Nothing is kept or counted any more. */
void packet_keep_end(struct packet *p);
/* Counts what the peer sends behind the message that is being handled. */
void packet_keep_count(struct packet *p);
/* The message that packet_next() returned last was handled without an error. */
void packet_handled(struct packet *p);
/* Says what was received, if that is due. Called each turn, and again after the
 * milliseconds that it sets (0: no need). */
int packet_keep_poll(struct packet *p, uint32_t *again_ms) must_check;
/* The most bytes that are kept, and may be pending at once after a return; 0:
 * nothing is kept. */
size_t packet_keep_most(const struct packet *p);
bool packet_keeps(const struct packet *p);
uint64_t packet_received(const struct packet *p); /* messages handled */
/* How many messages were put that the peer has not said to have received;
 * *acked: how many it has. */
uint64_t packet_unacked(const struct packet *p, uint64_t *acked);
/*
 * Goes on over the transport of fresh, on which nothing but its login was said,
 * and which is left without one; the caller frees it. received: the messages
 * that the peer has. An exchange of keys that the old transport did not end is
 * dropped. ERR_PROTOCOL: the peer says that it has fewer than it said before,
 * or more than were sent. After an error both can only be freed.
 */
int packet_resume(struct packet *p, struct packet *fresh,
    uint64_t received) must_check;

#endif
