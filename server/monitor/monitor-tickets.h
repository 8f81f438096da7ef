/* SPDX-License-Identifier: ISC */
/*
 * The tickets that this connection's client may use for further connections.
 * The monitor makes them, listens for the monitors of those connections
 * (rendezvous.h), and wipes all when the session ends. If the connection was
 * lost, this monitor stays for a while with one ticket, by which the client
 * comes back without asking the user.
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

/* The traits of this login, for ticket-rules.h. */
unsigned monitor_ticket_traits(const struct monitor *m);
/* Opens what tickets need, if the configuration and ticket-rules.h allow
 * them. Called before PAM opens its session, because a module may hide the
 * directory. */
void monitor_tickets_prepare(struct monitor *m);
/* The table of this connection's grants; name gets the part of a grant's name
 * by which other monitors find this one. NULL: the login may give no grants. */
struct monitor_grants *monitor_tickets_grants(struct monitor *m,
    uint8_t *name);
/* The same table, if the connection has given a grant; else NULL. */
struct monitor_grants *monitor_tickets_given(const struct monitor *m);
/* Takes the loop, once it is about to run. */
void monitor_tickets_begin(struct monitor *m, struct loop *loop);
/* True if the client has come back over another connection, so that the user's
 * process has to end. */
bool monitor_tickets_gave_way(const struct monitor *m);
/* Ends the tickets with the session; but if the connection was lost, its client
 * may still come back. told_to_end: by a signal, or because of an error. */
void monitor_tickets_stop(struct monitor *m, bool told_to_end);
/* Waits for the client of a lost connection, as long as LoginTickets says,
 * after all else has ended. Returns at once if monitor_tickets_stop() has ended
 * the tickets. */
void monitor_tickets_linger(struct monitor *m);

#endif
