/* SPDX-License-Identifier: ISC */
/*
 * Shares of rates, between the session process and the counters of all
 * connections. The process claims what it wants; its share is within the limits
 * whatever it claims. The monitor does not check whether the process keeps to
 * the share.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_SHARES_H
#define HPN_SERVER_MONITOR_MONITOR_SHARES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

struct loop;
struct monitor;
struct monitor_shares;

/* Allows the session process to ask for shares. */
void monitor_shares_begin(struct monitor *m, struct loop *loop);
void monitor_shares_end(struct monitor *m);
/* The handler of MONITOR_SHARES. */
int monitor_on_shares(struct monitor *m, struct rd *in, struct buf *out);

#endif
