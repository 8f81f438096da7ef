/* SPDX-License-Identifier: ISC */
/*
 * Metrics (the keyword of the configuration): the numbers of TCP_INFO that both
 * kernels have about a connection. One file has the client's numbers, one the
 * server's; each gets a line at every MetricsInterval. The server sends its
 * numbers as the reply to the global request stack-metrics@hpnssh.org, which
 * only HPN-SSH servers know.
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

/* Starts to measure p's connection. The pointers in the arguments are borrowed
 * until metrics_free(). quiet_ms above 0: measure also if the configuration
 * does not ask for Metrics, at least as often; then no files are written and
 * nothing is logged, only metrics_remote() is served, and the first
 * measurements come faster, so that a short transfer has numbers too. Returns 0
 * with *out NULL if nothing is to be measured: neither Metrics nor quiet_ms, or
 * no TCP connection (which is logged with Metrics). */
int metrics_new(struct metrics **out, const struct client_conf *conf,
    struct loop *l, struct channels *chs, struct packet *p,
    uint64_t quiet_ms) must_check;
/* Writes the client's last line, so it must be called while the connection is
 * still open. m may be NULL. */
void metrics_free(struct metrics *m);
/* The last numbers that the server sent, and in *at_ms the clock_ms() of their
 * arrival; NULL if none have arrived. m may be NULL. Borrowed from m. */
const struct tcp_numbers *metrics_remote(const struct metrics *m,
    uint64_t *at_ms);

/* The text of the files, without writing: a heading with the blank line that
 * follows it, and a row. kernel: that of the end that measured (base/tcp.h),
 * which decides on the columns. */
void metrics_put_heading(struct buf *out, bool remote, uint32_t kernel);
void metrics_put_row(struct buf *out, const struct tcp_numbers *t,
    const struct tm *when);

#endif
