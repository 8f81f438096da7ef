/* SPDX-License-Identifier: ISC */
/*
 * The tickets that this connection's client may use for further ones: the
 * monitor mints them, listens for the monitors of these connections
 * (rendezvous.h), and forgets all when the session ends.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_TICKETS_H
#define HPN_SERVER_MONITOR_MONITOR_TICKETS_H

struct loop;
struct monitor;
struct monitor_tickets;

/* Prepares for what the user's process may ask for, if the configuration and
 * ticket-rules.h allow it; before the session of PAM, whose modules may hide
 * the directory. */
void monitor_tickets_prepare(struct monitor *m);
/* The loop will serve from now on. */
void monitor_tickets_begin(struct monitor *m, struct loop *loop);
/* Wipes all tickets and removes the name. */
void monitor_tickets_end(struct monitor *m);

#endif
