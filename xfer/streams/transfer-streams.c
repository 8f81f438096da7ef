/* SPDX-License-Identifier: ISC */
/*
 * Streams: the sessions of a transfer. Path requests go to the first stream
 * whose session is not over, in order; files go to the one with the least to
 * do. What follows when a stream ends is in transfer-retry.c. How many there
 * are is decided in transfer-growth.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "xfer/streams/transfer-stream.h"

enum {
	WINDOW_MIN = 1024 * 1024,
	HANDLES_WEIGHT =
	    64 * 1024,      /* a handle is as much load as these bytes */
	HANDLES_SPARE = 64, /* least number of handles that is left for
			     * directories */
	GROW_MS = 5,
	SAMPLE_MS = 100,
	WINDOW_FIXED = 4 * 1024 * 1024, /* a window of the peer that is wider
					 * follows the path */
};

/* --- path requests --- */

struct xfer_pending {
	struct xfer *x;
	enum sftp_type type;
	char *path, *second; /* owned */
	struct sftp_attrs attrs;
	enum sftp_extension ext;
	bool has_attrs, once, follow, origin;
	sftp_done_fn done;
	void *arg;
	uint32_t xattr_kinds;
	struct buf xattr_set; /* owned */
	TAILQ_ENTRY(xfer_pending) entry;
};

static void
request_end(struct xfer_pending *a, const struct sftp_reply *reply)
{
	if (a->done != NULL)
		a->done(a->arg, reply);
	a->x->requests.count--;
	free(a->path);
	free(a->second);
	buf_clear(&a->xattr_set);
	free(a);
}

static void
request_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_pending *a = arg;

	if (reply->err == 0 || a->once)
		request_end(a, reply);
	else
		TAILQ_INSERT_TAIL(&a->x->requests.unsent, a, entry);
}

/* The stream that a path request goes to; NULL if there is none now. */
static struct xfer_stream *
stream_for(const struct xfer_pending *a)
{
	return a->origin ? a->x->origin.stream : xfer_stream_first(a->x);
}

static void
send_xattrs(struct xfer_pending *a, struct sftp *s)
{
	const struct xattrs x = { a->xattr_kinds, buf_span(&a->xattr_set) };

	sftp_set_xattrs(s, a->path, a->follow, &x, request_done, a);
}

static void
request_send(struct xfer_pending *a, struct sftp *s)
{
	switch (a->type) {
	case SFTP_MKDIR:
	case SFTP_SETSTAT:
		sftp_attrs_request(s, a->type, a->path,
		    a->has_attrs ? &a->attrs : NULL, request_done, a);
		break;
	case SFTP_RENAME:
	case SFTP_SYMLINK:
		sftp_two_paths(s, a->type, a->path, a->second, request_done, a);
		break;
	case SFTP_EXTENDED:
		if (a->ext == SFTP_EXT_STAT_NS)
			sftp_stat_ns(s, a->path, a->follow, request_done, a);
		else if (a->ext == SFTP_EXT_LSETSTAT)
			sftp_lsetstat(s, a->path, &a->attrs, request_done, a);
		else if (a->ext == SFTP_EXT_XATTRS)
			send_xattrs(a, s);
		else
			sftp_ext_path(s, a->ext, a->path, a->second,
			    request_done, a);
		break;
	default:
		sftp_path_request(s, a->type, a->path, request_done, a);
		break;
	}
}

void
xfer_request_path(struct xfer *x, const struct xfer_path_request *q,
    sftp_done_fn done, void *arg)
{
	const struct sftp_reply failed = { .err = ERR_NOMEM };
	struct xfer_pending *a = calloc(1, sizeof *a);
	struct xfer_stream *l;

	if (a != NULL) {
		a->xattr_kinds = q->xattrs.kinds;
		buf_put(&a->xattr_set, q->xattrs.set.p, q->xattrs.set.len);
	}
	if (a == NULL || buf_err(&a->xattr_set) < 0 ||
	    (a->path = strdup(q->path)) == NULL ||
	    (q->second != NULL && (a->second = strdup(q->second)) == NULL)) {
		if (a != NULL) {
			free(a->path);
			buf_clear(&a->xattr_set);
		}
		free(a);
		if (done != NULL)
			done(arg, &failed);
		return;
	}
	a->x = x;
	x->requests.count++;
	a->type = q->type;
	a->ext = q->ext;
	a->follow = q->follow;
	a->done = done;
	a->arg = arg;
	a->once = q->once;
	a->origin = q->origin;
	a->has_attrs = q->attrs != NULL;
	if (q->attrs != NULL)
		a->attrs = *q->attrs;
	l = stream_for(a);
	if (l != NULL && TAILQ_EMPTY(&x->requests.unsent))
		request_send(a, l->s);
	else
		TAILQ_INSERT_TAIL(&x->requests.unsent, a, entry);
}

void
xfer_path_requests_send(struct xfer *x)
{
	struct xfer_pending *a;
	struct xfer_stream *l;

	while ((a = TAILQ_FIRST(&x->requests.unsent)) != NULL &&
	    (l = stream_for(a)) != NULL) {
		TAILQ_REMOVE(&x->requests.unsent, a, entry);
		request_send(a, l->s);
	}
}

void
xfer_path_requests_free(struct xfer *x)
{
	const struct sftp_reply over = { .err = ERR_CANCELLED };
	struct xfer_pending *a;

	while ((a = TAILQ_FIRST(&x->requests.unsent)) != NULL) {
		TAILQ_REMOVE(&x->requests.unsent, a, entry);
		request_end(a, &over);
	}
}

/* --- life --- */

int
xfer_stream_add(struct xfer *x, struct sftp *s, enum xfer_stream_kind kind,
    bool borrowed)
{
	struct xfer_stream *l = calloc(1, sizeof *l);

	if (l == NULL)
		return ERR_NOMEM;
	*l = (struct xfer_stream){ .x = x, .s = s, .kind = kind,
		.borrowed = borrowed, .window = WINDOW_MIN,
		.sample_ms = x->opts.clock_ms() };
	TAILQ_INIT(&l->moving);
	TAILQ_INSERT_TAIL(&x->streams, l, entry);
	x->stream_count++;
	return 0;
}

void
xfer_stream_free(struct xfer_stream *l)
{
	struct xfer *x = l->x;

	TAILQ_REMOVE(&x->streams, l, entry);
	x->stream_count--;
	if (x->measured.fastest == l)
		x->measured.fastest = NULL;
	if (!l->borrowed)
		x->host.ops->close(x->host.arg, l->s);
	free(l);
}

void
xfer_streams_free(struct xfer *x)
{
	struct xfer_stream *l;

	while ((l = TAILQ_FIRST(&x->streams)) != NULL)
		xfer_stream_free(l);
}

int
xfer_stream_open(struct xfer *x, enum xfer_stream_kind kind, uint64_t among)
{
	struct sftp *s;
	int r;

	if (x->host.ops == NULL || x->stream_count >= XFER_STREAMS_MAX)
		return ERR_LIMIT;
	r = x->host.ops->open(x->host.arg, kind, among, &s);
	if (r < 0)
		return r;
	r = xfer_stream_add(x, s, kind, false);
	if (r < 0)
		x->host.ops->close(x->host.arg, s);
	return r;
}

/* --- choice --- */

bool
xfer_stream_takes_files(const struct xfer_stream *l)
{
	size_t handles = sftp_handles_max(l->s);
	size_t limit = handles > 2 * HANDLES_SPARE ?
	    handles - MAX((size_t)l->dirs_open, (size_t)HANDLES_SPARE) :
	    MAX(handles / 2, (size_t)1);

	if (l->files_limit.max != 0)
		limit = MIN(limit, (size_t)l->files_limit.max);
	/* While too many directories are open, a file would be refused. It
	 * waits for other files only, because directories may wait for it. */
	if (l->dirs_limit.max != 0 && l->dirs_open > l->dirs_limit.max)
		limit = MIN(limit, (size_t)1);
	if (sftp_error(l->s) != 0 || l->handles >= limit || l->idle)
		return false;
	/* At the beginning files may start on the first stream before VERSION
	 * has come. Not after streams were lost: what a file can go on with
	 * depends on the version. */
	if (l != TAILQ_FIRST(&l->x->streams) || l->x->retry.begun)
		return sftp_has_version(l->s);
	return sftp_has_version(l->s) ||
	    !(l->x->opts.resume || l->x->opts.verify);
}

struct xfer_stream *
xfer_stream_pick(struct xfer *x)
{
	struct xfer_stream *l, *best = NULL;
	size_t load, least = SIZE_MAX;

	/* The number of files between two hosts is limited by
	 * xfer_between_files(). A file whose source is open must not wait for
	 * others. */
	if (x->origin.stream != NULL)
		return xfer_stream_first(x);
	TAILQ_FOREACH(l, &x->streams, entry) {
		load = l->in_flight + (size_t)l->handles * HANDLES_WEIGHT;
		if (load < least && xfer_stream_takes_files(l)) {
			best = l;
			least = load;
		}
	}
	return best;
}

/* --- idle connections --- */

void
xfer_streams_wake(struct xfer *x)
{
	struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		l->idle = false;
}

static unsigned
count_bits(uint64_t v)
{
	unsigned n = 0;

	for (; v != 0; v &= v - 1)
		n++;
	return n;
}

static uint64_t
connection_bit(const struct xfer_stream *l)
{
	return l->connection < 64 && sftp_error(l->s) == 0 ?
	    UINT64_C(1) << l->connection : 0;
}

struct connection_rates {
	uint64_t of[64]; /* bytes a second */
};

static struct connection_rates
rates_of(const struct xfer *x)
{
	struct connection_rates r = { .of = { 0 } };
	const struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (connection_bit(l) != 0)
			r.of[l->connection] += l->rate;
	return r;
}

/* The slowest of the connections in the set, as a bit; of equally slow ones the
 * youngest. */
static uint64_t
slowest_connection(const struct xfer *x, uint64_t set)
{
	const struct connection_rates r = rates_of(x);
	unsigned slowest = 64;

	for (unsigned i = 0; i < 64; i++)
		if ((set & UINT64_C(1) << i) != 0 &&
		    (slowest == 64 || r.of[i] <= r.of[slowest]))
			slowest = i;
	return UINT64_C(1) << slowest;
}

/* Lets the fastest `use` connections take work, and the others idle; 0: all of
 * them take work. */
static void
let_idle(struct xfer *x, unsigned use)
{
	uint64_t all = 0, busy = 0;
	struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry) {
		all |= connection_bit(l);
		busy |= l->idle ? 0 : connection_bit(l);
	}
	if (use == 0 || count_bits(busy) < use)
		busy = all;
	while (use != 0 && count_bits(busy) > use)
		busy &= ~slowest_connection(x, busy);
	TAILQ_FOREACH(l, &x->streams, entry)
		l->idle = (connection_bit(l) & ~busy) != 0;
}

/* --- a turn --- */

/* Does data have to wait until buffered requests are sent? */
static bool
output_full(const struct xfer *x)
{
	const struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (!TAILQ_EMPTY(&l->moving) &&
		    sftp_output_len(l->s) >= xfer_stream_queue(l))
			return true;
	return false;
}

/* Runs a turn of all sessions. If output was full the first turn does not wait,
 * and another one follows if output is still full. */
int
xfer_streams_turn(struct xfer *x, bool more, int timeout_ms)
{
	struct xfer_stream *l = TAILQ_FIRST(&x->streams);
	bool full = output_full(x);
	uint64_t now;
	int r;

	if (x->host.ops == NULL) {
		/* The loop checks whether the session is over. */
		(void)!sftp_step(l->s, more || full, timeout_ms);
		return 0;
	}
	if (l == NULL) {
		now = x->opts.clock_ms();
		r = x->retry.at_ms > now ? (int)(x->retry.at_ms - now) : 0;
		timeout_ms = timeout_ms < 0 ? r : MIN(timeout_ms, r);
	}
	if (more || full) {
		r = x->host.ops->turn(x->host.arg, 0);
		if (r < 0 || more || !output_full(x))
			return r;
	}
	return x->host.ops->turn(x->host.arg, timeout_ms);
}

/* --- measuring --- */

static uint64_t
stream_rtt(struct xfer_stream *l, struct xfer_stream_stats *path)
{
	*path = (struct xfer_stream_stats){ .rtt_us = 0 };
	if (l->x->host.ops != NULL)
		l->x->host.ops->path(l->x->host.arg, l->s, path);
	if (path->rtt_us != 0)
		return path->rtt_us / 1000 + 1;
	return l->rtt_ms;
}

/* Adapts how much a download has under way on l: twice as much as arrives in a
 * round trip, and four times as much while its rate rises. */
static void
adapt_window(struct xfer_stream *l, uint64_t now, uint64_t rtt, unsigned up)
{
	size_t most = MAX(l->x->opts.budget_bytes / MAX(up, 1u),
	    (size_t)WINDOW_MIN);
	uint64_t took = now - l->sample_ms, rate, want;

	if (took == 0 || took < rtt)
		return;
	rate = (l->acked - l->sample_acked) * 1000 / took;
	want = (rate > l->rate + l->rate / 4 ? 4 : 2) * rate *
	    MAX(rtt, (uint64_t)1) / 1000;
	if (want > l->window)
		l->window = (size_t)want;
	else
		l->window -= (l->window - (size_t)want) / 8;
	/* Answers come in bursts, so the rate falls slowly. */
	l->rate = rate > l->rate ? rate : (3 * l->rate + rate) / 4;
	l->window = MAX(l->window, (size_t)WINDOW_MIN);
	l->window = MIN(l->window, most);
	l->sample_acked = l->acked;
	l->sample_ms = now;
}

static uint64_t
bulk_left(const struct xfer *x)
{
	const struct xfer_file *f;
	uint64_t left = 0;

	TAILQ_FOREACH(f, &x->files.active, entry)
		if (f->source.size > f->progress.moved)
			left += f->source.size - f->progress.moved;
	return left;
}

static double
bytes_left(const struct xfer *x)
{
	const struct xfer_file *f;
	double left = (double)bulk_left(x);

	/* Files that are still to be found are taken for very many. */
	if (!xfer_listed(x))
		return 1e18;
	TAILQ_FOREACH(f, &x->files.queue, entry)
		left += (double)f->source.attrs.size;
	return left;
}

/* Finds the fastest stream, and estimates the end of the transfer. */
static void
estimate_rest(struct xfer *x, uint64_t rtt)
{
	struct xfer_stream *l;
	uint64_t rate = 0;
	double left;

	x->measured.fastest = NULL;
	x->measured.rtt_ms = rtt;
	if (x->stream_count < 2)
		return;
	TAILQ_FOREACH(l, &x->streams, entry) {
		if (sftp_error(l->s) != 0 || l->idle)
			continue;
		rate += l->rate;
		if (x->measured.fastest == NULL ||
		    l->rate > x->measured.fastest->rate)
			x->measured.fastest = l;
	}
	left = rate > 0 ? (double)bulk_left(x) * 1000 / (double)rate : 0;
	x->measured.left_ms =
	    left < (double)INT64_MAX ? (uint64_t)left : INT64_MAX;
	if (rate == 0)
		x->measured.fastest = NULL;
}

/* Windows of the peer's channels hold an upload back, or soon will; each
 * further channel has a window of its own. */
static void
grow_channels(struct xfer *x, unsigned add, uint64_t among)
{
	if (x->grow.channels_stopped)
		return;
	while (add-- > 0) {
		if (xfer_stream_open(x, XFER_STREAM_CHANNEL, among) < 0) {
			x->grow.channels_stopped = true;
			return;
		}
		x->grow.channels++;
	}
}

/* With -vvv: logs the sample in a form that tests can use as input
 * (regress/unit/growth-traces.h). */
static void
log_sample(const struct xfer_sample *s, const struct xfer_growth *g,
    unsigned add)
{
	log_debug3("growth: T(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %.0f, "
		   "%.1f, %" PRIu64 ", %u), /* %.0f %.2f +%u %u */", s->now_ms,
	    s->least_us, s->trip_us, s->rate, s->seconds_left,
	    s->bulk_left, s->connections, s->in_trip, s->top, add, g->use);
}

static void
grow_connections(struct xfer *x, uint64_t now, double rate,
    const struct xfer_streams_view *view, bool window_bound)
{
	struct xfer_growth *g = &x->grow.connections;
	struct xfer_sample s = xfer_sample_of(view);
	unsigned before = g->use, add;

	s.now_ms = now;
	s.rate = rate;
	s.seconds_left = rate > 0 ? bytes_left(x) / rate : 0;
	s.bulk_left = view->bulk_left;
	s.max = x->opts.connections_max;
	s.window_bound = window_bound;
	add = xfer_growth_next(g, &s);
	x->grow.to_open += add;
	log_sample(&s, g, add);
	if (before != 0 && g->use != before)
		log_debug("connections that take work: %u; round trip %" PRIu64
			  " ms, %" PRIu64 " without a queue", g->use,
		    s.trip_us / 1000, g->least_us / 1000);
}

static void
open_connections(struct xfer *x)
{
	int r = 0;

	while (x->grow.to_open > 0 && r == 0) {
		r = xfer_stream_open(x, XFER_STREAM_CONNECTION, 0);
		if (r == ERR_AGAIN)
			return; /* another stream is being opened */
		x->grow.to_open--;
	}
	if (r < 0) {
		x->grow.to_open = 0;
		x->grow.connections.stopped = true;
	}
}

/* Counts the streams that carry data. Those that are being opened, or idle, do
 * not count. */
static unsigned
count_up(const struct xfer *x)
{
	const struct xfer_stream *l;
	unsigned n = 0;

	TAILQ_FOREACH(l, &x->streams, entry)
		n += sftp_error(l->s) == 0 && sftp_has_version(l->s) &&
		    !l->idle;
	return n;
}

/* Sums up the measures of all streams. */
static void
measure(struct xfer *x, uint64_t now, struct xfer_streams_view *out)
{
	uint64_t connections = 0, ready = 0, seen = 0;
	struct connection_rates rates;
	struct xfer_stream_stats path;
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);
	struct xfer_stream *l;
	unsigned up = count_up(x);

	*out = (struct xfer_streams_view){ .fixed = f == NULL || f->up };
	TAILQ_FOREACH(l, &x->streams, entry) {
		uint64_t own = stream_rtt(l, &path);

		l->connection = path.connection;
		if (sftp_has_version(l->s))
			ready |= connection_bit(l);
		if ((seen & connection_bit(l)) == 0)
			out->arrived += path.arrived;
		seen |= connection_bit(l);
		adapt_window(l, now, own, up);
		out->rtt_ms = MAX(out->rtt_ms, own);
		out->fixed = out->fixed && path.send_window <= WINDOW_FIXED;
		out->widens = out->widens || path.widens;
		out->windows += l->idle ? 0 : path.send_window;
		out->busy |= l->idle ? 0 : connection_bit(l);
		out->rate += l->rate;
		/* The first stream counts also before there is data. */
		if (!l->idle && (l->proved || l == TAILQ_FIRST(&x->streams)))
			xfer_view_add_trip(out, &path, l->proved,
			    f == NULL || f->up);
		if (!l->proved || path.connection >= 64 ||
		    (connections & UINT64_C(1) << path.connection) != 0)
			continue;
		connections |= UINT64_C(1) << path.connection;
		out->stalled_ms = MAX(out->stalled_ms, path.window_stall_ms);
		out->connections++;
	}
	out->ready = count_bits(ready);
	rates = rates_of(x);
	for (unsigned i = 0; i < 64; i++)
		out->top = MAX(out->top, rates.of[i]);
	out->bulk_left = bulk_left(x);
}

/* Opens connections before anything is measured: the number that the user gave,
 * or the first ones over a long path. The latter idle until they are needed. */
static void
grow_at_once(struct xfer *x, const struct xfer_streams_view *now)
{
	struct xfer_growth *g = &x->grow.connections;
	unsigned most = x->opts.connections_max;
	unsigned early = xfer_streams_early(now->rtt_ms * 1000,
	    now->bulk_left, 0);

	if (g->stopped || g->asked != 0)
		return;
	if (most > 1 && (now->connections > 0 || early > 0))
		x->grow.to_open += xfer_growth_begin(g, most - 1);
	else if (most == 0 && early > 0 && x->opts.rate_bytes == 0 &&
	    now->trip_us != 0 && xfer_login_pays(now->rtt_ms, now->bulk_left))
		x->grow.to_open += xfer_growth_begin(g, early);
}

/* Decides on channels and connections by a sample. */
static void
grow(struct xfer *x, uint64_t now, struct xfer_streams_view *view)
{
	uint64_t took = now - x->measured.sample_ms;
	unsigned add;
	bool bound;

	xfer_view_complete(view, x->measured.sample_arrived,
	    x->measured.stalled_ms, took);
	add = xfer_channels_next(x->grow.channels, view);
	grow_channels(x, add, view->busy);
	bound = xfer_window_bound(view, add, x->grow.channels_stopped);
	if (!view->held || bound)
		grow_connections(x, now,
		    (double)(x->measured.acked - x->measured.sample_acked) *
			1000 / (double)took, view, bound);
}

void
xfer_streams_grow(struct xfer *x)
{
	uint64_t now = x->opts.clock_ms();
	uint64_t took = now - x->measured.sample_ms;
	struct xfer_streams_view view;

	if (now - x->measured.at_ms < GROW_MS)
		return;
	x->measured.at_ms = now;
	measure(x, now, &view);
	estimate_rest(x, view.rtt_ms);
	if (x->host.ops == NULL)
		return;
	grow_at_once(x, &view);
	open_connections(x);
	let_idle(x, x->opts.connections_max != 0 ? 0 :
	    MAX(x->grow.connections.use, 1u));
	grow_channels(x, xfer_channels_next(x->grow.channels, &view),
	    view.busy);
	if (took < SAMPLE_MS || took < view.rtt_ms)
		return;
	if (x->measured.sample_ms != 0 &&
	    (x->measured.acked > x->measured.sample_acked ||
		view.arrived > x->measured.sample_arrived))
		grow(x, now, &view);
	x->measured.stalled_ms = view.stalled_ms;
	x->measured.sample_ms = now;
	x->measured.sample_acked = x->measured.acked;
	x->measured.sample_arrived = view.arrived;
}
