/* SPDX-License-Identifier: ISC */
/*
 * The global request stack-metrics@hpnssh.org: TCP_INFO of our end, for
 * clients with Metrics.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_METRICS_REPLY_H
#define HPN_SERVER_SESSION_METRICS_REPLY_H

#include "base/err.h"
#include "channels.h"
#include "packet.h"

/* p is borrowed and outlives the channels. */
int metrics_serve(struct channels *chs, struct packet *p) must_check;

#endif
