/* SPDX-License-Identifier: ISC */
/*
 * The text of MetricsTextfile: the counters in the form that the textfile
 * collector of Prometheus' node_exporter reads.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_SERVER_EVENTS_METRICS_TEXT_H
#define HPN_SERVER_EVENTS_METRICS_TEXT_H

#include "base/buf.h"
#include "server/events/counters.h"

void metrics_text(struct buf *out, const struct counters_now *now);

#endif
