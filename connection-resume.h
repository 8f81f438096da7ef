/* SPDX-License-Identifier: ISC */
/*
 * Functions for a connection that goes on over another transport
 * (packet-keep.h).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONNECTION_RESUME_H
#define HPN_CONNECTION_RESUME_H

#include "connection.h"

/* Suspends the connection: nothing is read, written or handled any more, and
 * the number of messages handled (packet_received()) does not change. The
 * caller closes the socket. connection_resume() goes on over another transport
 * (packet_resume(), kex_resume()); connection_give_up() ends the connection:
 * err is told to hooks.ended(). */
void connection_suspend(struct connection *c);
int connection_resume(struct connection *c, struct packet *fresh,
    struct kex *fresh_kex, uint64_t received) must_check;
void connection_give_up(struct connection *c, int err);

#endif
