/* SPDX-License-Identifier: ISC */
/*
 * Messages that survive the loss of a transport (survive@hpnssh.org in
 * docs/PROTOCOL.md). Both sides count the messages of the connection protocol
 * (80-127). Those that were sent stay in the output ring, sealed, until the
 * peer says that it has handled them. After a loss, packet_resume() sends those
 * that the peer lacks, under the keys of another transport.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_PACKET_KEEP_H
#define HPN_PACKET_KEEP_H

#include "packet.h"

enum { PACKET_KEEP_MAX = 64 * 1024 * 1024 }; /* bytes */
/* True if packets that the keys for sending seal can be opened here again, one
 * by one. */
bool packet_can_keep(const struct packet *p);
/* Keeps what is put from now on, max bytes at most. ERR_UNSUPPORTED: the cipher
 * is none or chained, or the stream is compressed. */
int packet_keep_begin(struct packet *p, size_t max) must_check;
/* Lowers the limit of kept bytes to max. */
void packet_keep_limit(struct packet *p, size_t max);
/* Ends the keeping and counting. */
void packet_keep_end(struct packet *p);
/* Counts the peer's messages that follow the one being handled. */
void packet_keep_count(struct packet *p);
/* Counts the message that packet_next() returned last, which was handled
 * without an error. */
void packet_handled(struct packet *p);
/* Sends RECEIVED if that is due. To be called each turn, and again after
 * *again_ms milliseconds (0: no need). */
int packet_keep_poll(struct packet *p, uint32_t *again_ms) must_check;
/* The most bytes that are kept, all of which may be pending after a return; 0:
 * nothing is kept. */
size_t packet_keep_most(const struct packet *p);
bool packet_keeps(const struct packet *p);
uint64_t packet_received(const struct packet *p); /* messages handled */
/* The number of messages that were put and not acknowledged by the peer;
 * *acked: the number that it has acknowledged. */
uint64_t packet_unacked(const struct packet *p, uint64_t *acked);
/*
 * Goes on over the transport of fresh, which has done nothing but log in; fresh
 * is left without a transport, and the caller frees it. received: number of
 * messages that the peer has. An unfinished key exchange of the old transport
 * is dropped. ERR_PROTOCOL: received is less than the peer has said before, or
 * more than were sent. After an error both can only be freed.
 */
int packet_resume(struct packet *p, struct packet *fresh,
    uint64_t received) must_check;

#endif
