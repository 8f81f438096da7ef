/* SPDX-License-Identifier: ISC */
/*
 * Keeps to this connection's share of the rates that UserRateMax, GroupRateMax
 * and TransferCapacity allow. While data moves, the monitor is told every 100
 * ms what the connection wants, and answers with the share, which then limits
 * the channels. Neither process waits for the other.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_SHARE_H
#define HPN_SERVER_SESSION_SESSION_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "channels.h"
#include "conf/server-conf.h"

struct session_share;

/* NULL: no rate is limited. */
struct session_share *session_share_new(struct loop *l, struct channels *chs,
    int monitor_fd, const struct server_conf *conf);
void session_share_free(struct session_share *s);

#endif
