/* SPDX-License-Identifier: ISC */
/*
 * The sessions with the host that move files. If the first session is confined,
 * each further one begins with the same confine@hpnssh.org, so that a path
 * means the same in all. The bytes of a stream count in the run's sums also
 * after it is closed.
 */
#include "client/sync/sync-run.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/worker.h"
#include "client/sync/sync-again.h"
#include "xfer/transfer/transfer-orders.h"

/* ---- streams ------------------------------------------------------------- */

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

static struct xfer_streams
streams_of(struct sync_run *run)
{
	inner = remote_streams(run->host.remote);
	host = &run->host;
	return (struct xfer_streams){ .ops = &confined, .arg = inner.arg };
}

/* ---- the transfer -------------------------------------------------------- */

bool
sync_locks(const struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;

	return (o->delete || o->remove_source) && !o->dry_run;
}

/* The number of servers that make the files of a target on this machine: one
 * cannot write as fast as one client reads. */
static unsigned
servers_here(void)
{
	enum { MOST = 4 };

	return (unsigned)MIN(worker_cpus(), (size_t)MOST);
}

/* Gives the transfer the next order. If a lost connection has cut the plan
 * there are no more orders; those given are carried out, and the plan is made
 * again later. */
static int
next_order(void *arg, struct xfer_order *out)
{
	struct sync_run *run = arg;
	int r = sync_plan_next(run->plan, out);

	if (r < 0 && sftp_error(run->host.s) != 0 &&
	    sync_again_may(run, sftp_error(run->host.s))) {
		run->cut = true;
		return 0;
	}
	return r;
}

static void
order_done(void *arg, uint64_t id, bool ok, uint64_t bytes)
{
	struct sync_run *run = arg;

	sync_plan_done(run->plan, id, ok, bytes);
}

/* Ends the program if the session that scanned was lost while other streams
 * finished the transfer, and that matters: because the plan was cut, or because
 * a lock there has to be removed. */
static void
end_or_again(struct sync_run *run)
{
	int err = sftp_error(run->host.s);

	if (err != 0 && !run->stop &&
	    (run->cut || (run->up && sync_locks(run))))
		sync_lost(run, err);
}

struct xfer_opts
sync_transfer_opts(const struct sync_run *run)
{
	struct xfer_opts opts = run->args.xfer;

	if (!run->args.connections_given)
		opts.connections_max = run->both_here ?
		    servers_here() :
		    run->host.copy.connections;
	if (!run->args.retry_given)
		opts.retries = run->host.copy.retries;
	opts.verify |= run->host.copy.verify;
	opts.temp = run->temp.x.dir != NULL ? &run->temp.x : NULL;
	opts.delete_anyway = run->args.opts.ignore_errors;
	opts.locked.is = sync_locks(run);
	opts.locked.later = sync_again_is() || run->args.break_lock;
	/* Between two directories of one machine, copying costs less than to
	 * compute checksums. */
	opts.delta = run->args.whole == 0 ||
	    (run->args.whole == 1 && !run->both_here);
	return opts;
}

bool
sync_transfer(struct sync_run *run, const struct xfer_opts *opts,
    const struct xfer_orders *orders)
{
	struct xfer_streams streams = streams_of(run);
	bool whole;
	int r;

	sync_must(xfer_new(&run->x, &streams, run->host.s, opts));
	sync_must(xfer_follow(run->x, run->up, orders));
	r = xfer_run(run->x);
	loop_take_signals(run->loop);
	whole = xfer_failures(run->x) == 0;
	run->partial |= !whole;
	run->matched += xfer_matched(run->x);
	xfer_free(run->x);
	/* run->tries_over: the transfer has connected again as often as --retry
	 * allows. */
	run->tries_over = r < 0;
	if (r < 0 && r != ERR_CANCELLED)
		sync_lost(run, r);
	end_or_again(run);
	return whole;
}

void
sync_carry_out(struct sync_run *run)
{
	const struct xfer_orders orders = { .next = next_order,
		.done = order_done, .arg = run };
	const struct xfer_opts opts = sync_transfer_opts(run);

	if (run->direct != NULL) {
		sync_direct_carry_out(run);
		return;
	}
	sync_tell_no_basis(run, &opts);
	(void)sync_transfer(run, &opts, &orders);
}
