/* SPDX-License-Identifier: ISC */
/*
 * The global request stack-metrics@hpnssh.org: returns TCP_INFO of our socket,
 * for clients that use the option Metrics.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_METRICS_REPLY_H
#define HPN_SERVER_SESSION_METRICS_REPLY_H

#include "server/session/services.h"

/* Handler in the table of services.c for stack-metrics@hpnssh.org. */
int metrics_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
