/* SPDX-License-Identifier: ISC */
/*
 * Counts what belongs to a monitor's connection, for MetricsTextfile and for
 * limits over all connections of a user. Sums of bytes and files are claims of
 * the user's process, but are cut to what a machine can have moved in that
 * time.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_COUNTS_H
#define HPN_SERVER_MONITOR_MONITOR_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/server-conf.h"
#include "server/events/counter-table.h"
#include "server/events/event.h"
#include "server/user.h"

struct loop;
struct monitor_counts;

/* Begins to count a connection. NULL: no keyword needs counters. All other
 * functions here take NULL, and do nothing then. */
struct monitor_counts *monitor_counts_begin(const struct server_conf *conf);
/* The connection ends: gives back its place in the counters, and frees mc. */
void monitor_counts_end(struct monitor_counts *mc);
/* Has the text of metrics written from time to time. */
void monitor_counts_run(struct monitor_counts *mc, struct loop *loop);
/* Hands over what was counted. */
void monitor_counts_flush(struct monitor_counts *mc);

void monitor_counts_login(struct monitor_counts *mc,
    const struct auth_method *method, enum login_result result);
/* Notes the user, who is authenticated; conf: the login's. False: the user has
 * as many connections as MaxConnectionsPerUser allows. */
bool monitor_counts_enter(struct monitor_counts *mc,
    const struct server_conf *conf, const struct user *user);
/* Writes what this connection wants, and reads its share, in bytes a second out
 * and in. at_once: the shares are divided now. */
void monitor_counts_share(struct monitor_counts *mc, const uint64_t want[2],
    bool at_once, uint64_t got[2]);
/* Counts a session more. False: MaxSessionsPerUser does not allow it. */
bool monitor_counts_session(struct monitor_counts *mc,
    const struct server_conf *conf);
void monitor_counts_session_end(struct monitor_counts *mc);
/* what: a keyword. */
void monitor_counts_limit(struct monitor_counts *mc, const char *what);
void monitor_counts_claim(struct monitor_counts *mc, const struct event *e);
/* Hands over what was claimed, if that was not done a moment ago: the next
 * call, the text of metrics or the end does it then. */
void monitor_counts_flush_claims(struct monitor_counts *mc);
/* Counts the lines that the log of events has dropped; lines: since the
 * beginning. */
void monitor_counts_dropped(struct monitor_counts *mc, uint64_t lines);

#endif
