/* SPDX-License-Identifier: ISC */
/*
 * Records the connections that the listener turns away, of which no monitor
 * knows, for the log of events and the counters. An attacker who makes
 * thousands a second must not cause as many lines and locks, so they are summed
 * up once a second.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_LISTENER_TURNED_AWAY_H
#define HPN_SERVER_LISTENER_TURNED_AWAY_H

#include <sys/socket.h>

#include "base/loop.h"
#include "conf/server-conf.h"

struct turned_away;

/* Makes what records refused connections. NULL: nothing does. All other
 * functions here take NULL, and do nothing then. */
struct turned_away *turned_away_new(struct loop *l,
    const struct server_conf *conf);
/* Logs what is left, and frees t. */
void turned_away_free(struct turned_away *t);
/* Counts a connection from sa that was refused because of a keyword
 * (admission_refuses()). */
void turned_away_note(struct turned_away *t, const char *keyword,
    const struct sockaddr *sa, socklen_t len);

#endif
