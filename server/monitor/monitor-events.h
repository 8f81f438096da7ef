/* SPDX-License-Identifier: ISC */
/*
 * The monitor's part of the log of events (EventLog): it writes the lines. The
 * user's process claims what happened, and the monitor adds which user that is,
 * so users can lie about their own transfers at most. Events are counted, too
 * (monitor-counts.h).
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_EVENTS_H
#define HPN_SERVER_MONITOR_MONITOR_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/wire.h"
#include "server/events/counter-table.h"

struct auth_method;
struct grant_request;
struct key;
struct login;
struct monitor;
struct monitor_events;

/* Begins the events of a connection with conn-open. If nothing is to be logged,
 * counted or limited, nothing is done, and m->events stays NULL. exit(3) calls
 * monitor_events_end(). */
void monitor_events_begin(struct monitor *m);
/* Writes conn-close. To be called before the login is freed; a second call does
 * nothing. */
void monitor_events_end(void);

/* Logs the verdict of a try to log in. key: the key that was shown, or NULL. me
 * may be NULL. */
void monitor_events_auth(struct monitor_events *me, const struct login *l,
    const struct auth_method *method, enum login_result result,
    const struct key *key);
/* The server refused more. what: the limit's name, a keyword. */
void monitor_events_limit(struct monitor_events *me, const char *what);
/* The session has lost its connection, goes on over another one, or is given
 * up, after so many milliseconds without one. why: a word of docs/EVENTS.md. In
 * these functions me may be NULL. */
void monitor_events_detached(struct monitor_events *me, const char *why);
void monitor_events_resumed(struct monitor_events *me, uint64_t away_ms,
    const char *address, uint32_t port);
void monitor_events_given_up(struct monitor_events *me, uint64_t away_ms,
    const char *why);
/* The counters of this connection; NULL: it is not counted, or me is NULL. */
struct monitor_counts *monitor_events_counts(struct monitor_events *me);

/* Logs that the user is authenticated. False: MaxConnectionsPerUser allows no
 * further connection of the user. */
bool monitor_events_enter(struct monitor_events *me, const struct login *l);

/* Logs that the login has given a grant. */
void monitor_events_grant(struct monitor_events *me,
    const struct grant_request *q);
/* Logs what the client says that it has a receipt of. key: the fingerprint of
 * the key that the grant was bound to. */
void monitor_events_receipt(struct monitor_events *me, const char *key,
    const char *sha256);

/* The handler of MONITOR_SESSION. */
int monitor_on_limited_session(struct monitor *m, struct rd *in,
    struct buf *out);
/* The handler of MONITOR_EVENT, which has events as strings. */
int monitor_on_event(struct monitor *m, struct rd *in, struct buf *out);

#endif
