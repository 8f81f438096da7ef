/* SPDX-License-Identifier: ISC */
/*
 * Metrics: TCP_INFO of both ends in two files, a line each at every interval.
 * The server's comes by the global request stack-metrics@hpnssh.org, which
 * HPN-SSH servers know.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_METRICS_FILES_H
#define HPN_CLIENT_METRICS_FILES_H

#include <stdbool.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/tcp.h"
#include "channels.h"
#include "conf/client-conf.h"
#include "packet.h"

struct metrics;

/* NULL in *out, and 0, without Metrics, or if there is no TCP to measure (which
 * is logged). All is borrowed. quiet: without Metrics, too, but no files and no
 * messages; only for metrics_remote(), and more often at first, so that a short
 * transfer has numbers too. */
int metrics_new(struct metrics **out, const struct client_conf *conf,
    struct loop *l, struct channels *chs, struct packet *p,
    bool quiet) must_check;
/* Writes the last line; before the connection is closed. NULL is fine. */
void metrics_free(struct metrics *m);
/* The server's last numbers, and when they came (clock_ms()); or NULL. */
const struct tcp_numbers *metrics_remote(const struct metrics *m,
    uint64_t *at_ms);

/* The text of the files, as pure functions: the heading (with the blank line
 * behind it) and a row. */
void metrics_put_heading(struct buf *out, bool remote, uint32_t kernel);
void metrics_put_row(struct buf *out, const struct tcp_numbers *t,
    const struct tm *when);

#endif
