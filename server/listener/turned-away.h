/* SPDX-License-Identifier: ISC */
/*
 * Connections that the listener turns away, for the log of events and for
 * counters: no monitor knows of them. Whoever makes thousands a second must not
 * make lines or locks of it, so they are summed up, and told once a second.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_LISTENER_TURNED_AWAY_H
#define HPN_SERVER_LISTENER_TURNED_AWAY_H

#include <sys/socket.h>

#include "base/loop.h"
#include "conf/server-conf.h"

struct turned_away;

/* NULL: nobody asks for it. All else here takes NULL and does nothing. */
struct turned_away *turned_away_new(struct loop *l,
    const struct server_conf *conf);
/* Tells the rest, and frees. */
void turned_away_free(struct turned_away *t);
/* One more, from sa, because of a keyword of admission_refuses(). */
void turned_away_note(struct turned_away *t, const char *keyword,
    const struct sockaddr *sa, socklen_t len);

#endif
