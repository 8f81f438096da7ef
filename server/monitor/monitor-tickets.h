/* SPDX-License-Identifier: ISC */
/*
 * The tickets that this connection's client may use for further ones: the
 * monitor mints them, listens for the monitors of these connections
 * (rendezvous.h), and forgets all when the session ends. Where the connection
 * is lost, one ticket stays good for a while, and the monitor with it: by that
 * the client comes back without a dialogue.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_TICKETS_H
#define HPN_SERVER_MONITOR_MONITOR_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct monitor;
struct monitor_grants;
struct monitor_tickets;

/* What holds of this login for ticket-rules.h. */
unsigned monitor_ticket_traits(const struct monitor *m);
/* Prepares for what the user's process may ask for, if the configuration and
 * ticket-rules.h allow it; before the session of PAM, whose modules may hide
 * the directory. */
void monitor_tickets_prepare(struct monitor *m);
/* The grants of this connection; name gets the part that finds this monitor.
 * NULL: the login may give none. */
struct monitor_grants *monitor_tickets_grants(struct monitor *m,
    uint8_t *name);
/* The loop will serve from now on. */
void monitor_tickets_begin(struct monitor *m, struct loop *loop);
/* The client has come back by another connection: the user's process is to
 * end. */
bool monitor_tickets_gave_way(const struct monitor *m);
/* The session ends, and the tickets with it; but where the connection was lost,
 * its client may come back. told_to_end: by a signal, or for an error. */
void monitor_tickets_stop(struct monitor *m, bool told_to_end);
/* When all else of the connection has ended: waits for the client of a lost
 * one, as long as LoginTickets says. Nothing, where monitor_tickets_stop() has
 * ended all. */
void monitor_tickets_linger(struct monitor *m);

#endif
