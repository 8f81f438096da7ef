/* SPDX-License-Identifier: ISC */
/*
 * Where the lines of the log of events go (EventLog). A sink never makes its
 * caller wait: what it cannot take is kept for a moment, at most
 * EVENT_SINK_QUEUE lines, and then dropped and counted.
 *
 * Threads: one at a time.
 */
#ifndef HPN_SERVER_EVENTS_EVENT_SINK_H
#define HPN_SERVER_EVENTS_EVENT_SINK_H

#include <stdint.h>

#include "base/buf.h"

enum { EVENT_SINK_QUEUE = 256 }; /* lines */

struct event_sink;

/* spec: a value of EventLog (conf/event-log.h), or NULL. facility: of syslog.
 * NULL: spec is "none". The sink opens its log with the first line. */
struct event_sink *event_sink_new(const char *spec, int facility);
/* Waits at most 100 ms for what is kept. NULL is fine. */
void event_sink_free(struct event_sink *s);

/* Writes whole lines. NULL is fine: nothing is written. */
void event_sink_put(struct event_sink *s, const struct buf *lines);
/* How many lines were dropped. */
uint64_t event_sink_dropped(const struct event_sink *s);

#endif
