/* SPDX-License-Identifier: ISC */
/*
 * Sends events of the user's process to the monitor for the log of events
 * (EventLog) and the counters (MetricsTextfile): sessions, what they moved, and
 * the connection's figures at the end. It waits for the monitor at the end
 * only. Events that the monitor does not take are kept, at most 4 MiB, and then
 * dropped and counted. Sums stay exact.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_EVENTS_H
#define HPN_SERVER_SESSION_SESSION_EVENTS_H

#include <stdint.h>

#include "base/loop.h"
#include "conf/server-conf.h"
#include "packet.h"
#include "xfer/serve/sftp-serve.h"

struct session_events;
struct session_start;

/* Makes what logs and counts the events of sessions. NULL: nothing does. All
 * other functions here take NULL, and do nothing then. */
struct session_events *session_events_new(struct loop *l, int monitor_fd,
    const struct server_conf *conf);
/* For MetricsTextfile: has the figures of p sent every 10 s. */
void session_events_measure(struct session_events *se, const struct packet *p,
    int socket_fd, const struct server_conf *conf);
/* Tells the sums and what p has counted, waits at most 1 s until the monitor
 * has taken all, and frees. cipher: of what we receive. */
void session_events_end(struct session_events *se, const struct packet *p,
    int socket_fd, const char *cipher);

/* A session begins. Of its command only the first word is told. */
void session_events_open(struct session_events *se, uint32_t id,
    const struct session_start *start);
void session_events_close(struct session_events *se, uint32_t id);
/* An SFTP session has done something. */
void session_events_sftp(struct session_events *se, uint32_t id,
    const struct sftp_serve_event *e);

#endif
