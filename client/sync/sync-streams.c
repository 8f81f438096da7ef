/* SPDX-License-Identifier: ISC */
/*
 * The sessions with the host that move files. If the first session is confined,
 * each further one begins with the same confine@hpnssh.org, so that a path
 * means the same in all. The bytes of a stream count in the run's sums also
 * after it is closed.
 */
#include "client/sync/sync-run.h"

/* Borrowed by the transfer; there is one run. */
static struct xfer_streams inner;
static const struct sync_end *host;
static struct sync_moved closed; /* bytes of the streams that are closed */

static void
add_moved(struct sync_moved *m, const struct sftp *s)
{
	m->sent += sftp_sent(s);
	m->received += sftp_received(s);
}

struct sync_moved
sync_streams_moved(const struct sync_run *run)
{
	struct sync_moved m = closed;

	add_moved(&m, run->host.s);
	return m;
}

/* A session that cannot be confined must not be used: its paths would be
 * others. */
static void
on_confined(void *arg, const struct sftp_reply *reply)
{
	struct sftp *s = arg;

	if (reply->err == 0 && reply->status != SFTP_OK)
		(void)!sftp_feed_end(s, ERR_PROTOCOL);
}

static int
open_stream(void *arg, enum xfer_stream_kind kind, uint64_t among,
    struct sftp **out)
{
	int r = inner.ops->open(arg, kind, among, out);

	if (r == 0 && host->answered && host->status == SFTP_OK)
		sftp_confine(*out, host->top, &host->confine, on_confined,
		    *out);
	return r;
}

static void
close_stream(void *arg, struct sftp *s)
{
	add_moved(&closed, s);
	inner.ops->close(arg, s);
}

static void
path_of(void *arg, const struct sftp *s, struct xfer_stream_stats *out)
{
	inner.ops->path(arg, s, out);
}

static int
turn(void *arg, int timeout_ms)
{
	return inner.ops->turn(arg, timeout_ms);
}

static const struct xfer_streams_ops confined = {
	.open = open_stream,
	.close = close_stream,
	.path = path_of,
	.turn = turn,
};

struct xfer_streams
sync_streams(struct sync_run *run)
{
	inner = remote_streams(run->host.remote);
	host = &run->host;
	return (struct xfer_streams){ .ops = &confined, .arg = inner.arg };
}
