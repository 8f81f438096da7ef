/* SPDX-License-Identifier: ISC */
/*
 * What a monitor counts of its connection, for MetricsTextfile. Sums of bytes
 * and files are what the user's process claims, but never more than a machine
 * could have moved in the time.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_COUNTS_H
#define HPN_SERVER_MONITOR_MONITOR_COUNTS_H

#include <stdint.h>
#include <sys/types.h>

#include "conf/server-conf.h"
#include "server/events/counter-table.h"
#include "server/events/event.h"

struct loop;
struct monitor_counts;

/* A connection begins. NULL: nothing asks for counters. All else here takes
 * NULL and does nothing. */
struct monitor_counts *monitor_counts_begin(const struct server_conf *conf);
/* It ends; frees. */
void monitor_counts_end(struct monitor_counts *mc);
/* From here on the text of metrics is written from time to time. */
void monitor_counts_run(struct monitor_counts *mc, struct loop *loop);
/* Hands over what was counted. */
void monitor_counts_flush(struct monitor_counts *mc);

void monitor_counts_login(struct monitor_counts *mc,
    const struct auth_method *method, enum login_result result);
/* The user is authenticated. */
void monitor_counts_user(struct monitor_counts *mc, uid_t uid);
/* what: a keyword. */
void monitor_counts_limit(struct monitor_counts *mc, const char *what);
void monitor_counts_claim(struct monitor_counts *mc, const struct event *e);
/* lines: that the log of events has not taken, since the beginning. */
void monitor_counts_dropped(struct monitor_counts *mc, uint64_t lines);

#endif
