/* SPDX-License-Identifier: ISC */
/*
 * The global request stack-metrics@hpnssh.org: TCP_INFO of our end, for
 * clients with Metrics.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_METRICS_REPLY_H
#define HPN_SERVER_SESSION_METRICS_REPLY_H

#include "server/session/services.h"

/* A row of services.c. */
int metrics_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
