/* SPDX-License-Identifier: ISC */
/*
 * How many connections and channels save time, and how much of the work each
 * stream gets: decisions that depend on numbers only.
 */
#include "base/mem.h"
#include "xfer/streams/transfer-stream.h"

enum {
	CHANNELS_MAX = 8,
	CONNECTIONS_MAX = 12,	 /* most connections, if the user gave no
				  * number */
	CONNECTIONS_STEP = 4,	 /* connections opened at once: fewer than
				  * servers accept */
	SHOW_MS = 200, /* time until new connections change the rate */
	/* How long a trial of fewer connections lasts: at least TRIAL_MS and
	 * TRIAL_TRIPS round trips, until they have taken up the work of the
	 * others. */
	TRIAL_MS = 1000,
	TRIAL_MAX_MS = 10000,
	TRIAL_TRIPS = 8,
	TRIAL_PART = 100, /* milliseconds of a trial, at most, for each second
			   * that is left */
	TRY_S = 30, /* seconds that must be left for a trial, which is a small
		     * part of that */
	REFILL_MAX_S = 60,
	PACKET = 1448, /* bytes of data in a packet */
	QUEUE_US = 1000, /* a shorter delay may be due to the hosts */
	OPEN_BYTES = 32 * 1024, /* bytes that arrive in a round trip: the path
				 * has room for more */
	/* The largest window with the scale that Linux's own buffers give;
	 * where the buffers were made larger, the scale is 8 or more. */
	SMALL_WINDOW = UINT16_MAX << 7,
	ROOM_S = 10, /* seconds that must be left, so that the time to fill a
		      * path anew is little of that */
	RTT_WORTH_MS = 5,
	RTT_LONG_MS = 20,
	BULK_WORTH = 16 * 1024 * 1024, /* least bytes in large files for
					* connections in advance */
	FRESH_BYTES = 64 * 1024, /* bytes in a round trip that a new connection
				  * moves */
	QUEUE_MIN = 128 * 1024,
	QUEUE_MS = 20, /* output that may wait in a stream, at its rate */
	FIRST_FLIGHT = 14 * 1024, /* bytes of the first round of slow start */
	LOGIN_ROUNDS = 5,
	LOGIN_MS = 150, /* computation of a login, at both ends, if they are
			 * idle */
};

/* --- how many --- */

unsigned
xfer_streams_early(uint64_t rtt_us, uint64_t bulk, unsigned wanted)
{
	unsigned add = CONNECTIONS_STEP - 1;

	if (rtt_us < RTT_LONG_MS * 1000 || bulk < BULK_WORTH || wanted == 1)
		return 0;
	return wanted != 0 ? MIN(wanted - 1, add) : add;
}

bool
xfer_login_pays(uint64_t rtt_ms, uint64_t bytes)
{
	uint64_t rounds = 0;

	/* All flights of n rounds are 2^n - 1 times the first. */
	for (uint64_t sent = FIRST_FLIGHT; sent < bytes && rounds < 64;
	     sent = 2 * sent + FIRST_FLIGHT)
		rounds++;
	return rounds * rtt_ms > LOGIN_ROUNDS * rtt_ms + LOGIN_MS;
}

/* True if packets wait on the way: the round trip is a quarter longer than the
 * shortest one. */
static bool
queue_stands(const struct xfer_growth *g, const struct xfer_sample *s)
{
	return g->least_us != 0 &&
	    s->trip_us > g->least_us + g->least_us / 4 + QUEUE_US;
}

/* Is the path full, so that more under way only makes the queue longer? Yes if
 * a queue stands and the rate does not rise. (In slow start a queue comes and
 * goes while the rate rises.) */
static bool
path_is_full(struct xfer_growth *g, const struct xfer_sample *s)
{
	uint64_t trip_ms = s->trip_us / 1000;

	if (!queue_stands(g, s)) {
		g->level = 0;
		return false;
	}
	if (s->rate > 1.1 * g->level) {
		g->level = s->rate;
		g->level_ms = s->now_ms;
		return false;
	}
	return s->now_ms - g->level_ms >= MAX((uint64_t)SHOW_MS, 2 * trip_ms);
}

static bool
has_time(const struct xfer_sample *s)
{
	return s->seconds_left * 1000 >= 500 + 10 * (double)s->rtt_ms;
}

static unsigned
in_use(const struct xfer_growth *g, const struct xfer_sample *s)
{
	return MIN(g->use, s->connections);
}

/* --- fewer --- */

/* Milliseconds after a step until anything can be said of it. */
static double
least_ms(const struct xfer_sample *s)
{
	return MAX((double)TRIAL_MS, TRIAL_TRIPS * (double)s->rtt_ms);
}

/* Milliseconds until a step down is judged. What the step may cost until then
 * has to be little of all that is left. */
static double
trial_ms(const struct xfer_sample *s)
{
	double wait = MIN(s->seconds_left * TRIAL_PART, (double)TRIAL_MAX_MS);

	return MAX(wait, least_ms(s));
}

/* Milliseconds for which a loss empties a path that one connection fills: so
 * long needs CUBIC, whose windows are cubic functions of time, to fill it
 * again. */
static double
refill_ms(const struct xfer_growth *g)
{
	double packets = g->filled * (double)g->least_us / 1e6 / PACKET;
	double s = 1;

	while (s < REFILL_MAX_S && s * s * s < 0.75 * packets)
		s *= 1.25;
	return s * 1000;
}

static void
step_down(struct xfer_growth *g, const struct xfer_sample *s, unsigned keep)
{
	g->used = in_use(g, s);
	g->used_rate = g->mean;
	g->used_ms = s->now_ms;
	g->was_full = g->level > 0;
	g->use = keep;
	g->enough = true;
	g->level = 0;
}

/* Steps down on a full path. What is under way beyond the shortest round trip
 * only waits in a queue, so as many connections as carry the rest of it fill
 * the path. When the others end the path may be empty for some time. */
static void
use_fewer(struct xfer_growth *g, const struct xfer_sample *s)
{
	unsigned have = in_use(g, s);
	uint64_t keep = (have * g->least_us + s->trip_us - 1) / s->trip_us;
	/* The fastest connection may be enough alone, as when the others are
	 * young. */
	bool one = s->top * (double)s->trip_us >= (double)g->least_us;

	keep = one ? 1 : keep;
	keep = MIN(keep, (uint64_t)have - 1);
	keep = MAX(keep, (uint64_t)MAX(g->floor, 1u));
	if (g->used == 0 && keep < have && has_time(s) &&
	    (one || keep * s->trip_us >= have * g->least_us ||
		s->seconds_left > ROOM_S))
		step_down(g, s, (unsigned)keep);
}

/* Tries half of the connections. Fewer are enough if data waits in a queue of
 * the path; but a path that loses packets instead has no such queue, so only a
 * trial can tell. */
static void
try_fewer(struct xfer_growth *g, const struct xfer_sample *s)
{
	unsigned have = in_use(g, s), keep = MAX(have / 2, MAX(g->floor, 1u));

	if (g->enough && g->used == 0 && keep < have && s->trip_us != 0 &&
	    s->seconds_left > TRY_S)
		step_down(g, s, keep);
}

/* Judges a step down: do the connections that are left fill the path? They do
 * if the queue stands again. If it does not, and some of the rate is gone, more
 * connections take work again: so much is lost that these are too few. (Traffic
 * of others that begins makes the queue stand.) */
static void
judge(struct xfer_growth *g, const struct xfer_sample *s)
{
	double took = (double)(s->now_ms - g->used_ms), wait;
	double before = g->used != 0 ? g->used_rate : g->filled;

	if (queue_stands(g, s)) {
		g->filled = g->mean;
		g->filled_ms = s->now_ms;
		if (took >= least_ms(s))
			g->used = 0;
		return;
	}
	wait = MAX(least_ms(s), g->used != 0 ? trial_ms(s) : refill_ms(g));
	if (took < wait || (double)(s->now_ms - g->filled_ms) < wait ||
	    !has_time(s))
		return;
	if (g->mean >= 0.85 * before) {
		if (!g->was_full)
			g->used = 0;
		return;
	}
	g->use = MIN(g->used != 0 ? g->used : 2 * g->use, s->ready);
	g->floor = g->use;
	g->enough = !g->was_full;
	g->filled_ms = s->now_ms;
	g->used = 0;
}

/* --- more --- */

/* Did the last connections raise the rate by less than a tenth? Then no more
 * are added. */
static bool
brought_little(struct xfer_growth *g, const struct xfer_sample *s)
{
	if (g->had == 0 || g->best >= 1.1 * g->before)
		return false;
	g->stopped = g->enough = true;
	/* With fewer connections it takes a while to find the old rate. */
	if (s->seconds_left > TRY_S && s->trip_us != 0)
		step_down(g, s, g->had);
	return true;
}

/* True if the path has room for more connections than the hosts' buffers, or
 * the server's channel windows, let one connection fill: if these are small,
 * OPEN_BYTES arrive in a round trip, and no queue has stood yet. Each round
 * trip by which new connections come later is lost, because they begin slowly.
 * Else, or with small files, more connections do not help: one connection
 * doubles its rate until the path is full, and others beside it only cause a
 * queue earlier. */
static bool
has_room(const struct xfer_growth *g, const struct xfer_sample *s)
{
	bool small = s->tcp_window != 0 && s->tcp_window <= SMALL_WINDOW;

	return g->filled_ms == 0 && s->in_trip >= OPEN_BYTES &&
	    (small || s->window_bound) && s->bulk_left >= BULK_WORTH;
}

/* May connections be added? Yes if the rate does not rise, or the path has
 * room; and if the path was not full of late. */
static bool
may_rise(const struct xfer_growth *g, const struct xfer_sample *s)
{
	uint64_t show = MAX((uint64_t)SHOW_MS, 2 * s->rtt_ms);
	uint64_t stands_ms = s->now_ms - g->risen_ms;

	return s->rtt_ms >= RTT_WORTH_MS && has_time(s) &&
	    (g->had == 0 ?
		has_room(g, s) || stands_ms >= MAX(show, 3 * s->rtt_ms) :
		stands_ms > 0) &&
	    (g->had == 0 || s->now_ms - g->since_ms >= show) &&
	    (g->filled_ms == 0 ||
		(double)(s->now_ms - g->filled_ms) >= least_ms(s));
}

/* How many connections to open in advance, so that they are logged in when they
 * are needed. */
static unsigned
prepare(struct xfer_growth *g, const struct xfer_sample *s)
{
	return g->asked == 0 && !g->stopped && s->trip_us != 0 &&
		has_time(s) ? xfer_growth_begin(g, xfer_streams_early(
		    s->rtt_ms * 1000, s->bulk_left, 0)) : 0;
}

static unsigned
step_up(struct xfer_growth *g, const struct xfer_sample *s, unsigned use)
{
	unsigned add;

	g->had = g->use;
	g->before = g->best;
	g->since_ms = s->now_ms;
	g->use = use;
	g->asked = MAX(g->asked, 1u);
	add = use > g->asked ? use - g->asked : 0;
	g->asked += add;
	return add;
}

static unsigned
use_more(struct xfer_growth *g, const struct xfer_sample *s)
{
	unsigned want = g->use + (g->use == 1 ? CONNECTIONS_STEP - 1 :
						(unsigned)CONNECTIONS_STEP);

	want = MIN(want, (unsigned)CONNECTIONS_MAX);
	if (g->stopped)
		want = MIN(want, s->ready);
	/* Not all connections that are to take work have begun. */
	if (s->connections < MIN(g->use, g->stopped ? s->ready : g->use))
		g->since_ms = s->now_ms;
	if (g->enough || !may_rise(g, s) || brought_little(g, s) ||
	    want <= g->use)
		return prepare(g, s);
	return step_up(g, s, want);
}

unsigned
xfer_growth_begin(struct xfer_growth *g, unsigned add)
{
	g->asked = add > 0 ? 1 + add : 0;
	return add;
}

void
xfer_view_add_trip(struct xfer_streams_view *v,
    const struct xfer_stream_stats *path, bool has_moved, bool up)
{
	uint64_t trip = path->sent_us;

	/* received_us is 0 while the kernel knows no round trip of received
	 * data. */
	if (!has_moved)
		trip = path->rtt_us;
	else if (!up && path->received_us != 0)
		trip = path->received_us;
	if (trip == 0 || path->rtt_us == 0)
		return;
	v->tcp_window = MAX(v->tcp_window, path->tcp_window);
	if (v->trip_us == 0 || trip < v->trip_us)
		v->trip_us = trip;
	if (v->least_us == 0 || path->rtt_us < v->least_us)
		v->least_us = path->rtt_us;
}

void
xfer_view_complete(struct xfer_streams_view *v, uint64_t arrived,
    uint64_t stalled_ms, uint64_t ms)
{
	uint64_t stall = v->stalled_ms - MIN(stalled_ms, v->stalled_ms);

	v->in_trip = v->arrived <= arrived ? 0 :
	    (double)(v->arrived - arrived) * (double)v->rtt_ms / (double)ms;
	v->held = v->fixed && stall * 10 >= ms * 3;
}

struct xfer_sample
xfer_sample_of(const struct xfer_streams_view *v)
{
	struct xfer_sample s = { .rtt_ms = v->rtt_ms, .least_us = v->least_us,
		.trip_us = v->trip_us, .tcp_window = v->tcp_window,
		.connections = v->connections, .ready = v->ready,
		.in_trip = v->in_trip };

	s.top = v->rate > 0 ? (double)v->top / (double)v->rate : 0;
	return s;
}

unsigned
xfer_growth_next(struct xfer_growth *g, const struct xfer_sample *s)
{
	if (s->max != 0) {
		/* The user gave the number. */
		unsigned add = g->asked == 0 && !g->stopped ? s->max - 1 : 0;

		g->asked = s->max;
		return add;
	}
	g->use = MAX(g->use, 1u);
	if (s->rate <= 0 || s->connections == 0)
		/* No block has arrived as a whole yet. */
		return g->use == 1 && s->ready > 1 && has_room(g, s) ?
		    step_up(g, s, MIN(s->ready, (unsigned)CONNECTIONS_STEP)) :
		    0;
	if (s->rate > 1.25 * g->best)
		g->risen_ms = s->now_ms;
	g->best = MAX(g->best, s->rate);
	g->mean += (s->rate - g->mean) / 4;
	if (s->least_us != 0 &&
	    (g->least_us == 0 || s->least_us < g->least_us))
		g->least_us = s->least_us;
	judge(g, s);
	if (path_is_full(g, s))
		use_fewer(g, s);
	else if (!queue_stands(g, s))
		try_fewer(g, s);
	return queue_stands(g, s) ? 0 : use_more(g, s);
}

unsigned
xfer_channels_next(unsigned have, const struct xfer_streams_view *s)
{
	unsigned add = s->rtt_ms < RTT_LONG_MS ? have : CHANNELS_MAX;

	/* Over a long path they are opened before there is data: a channel
	 * takes three round trips until it works, and what opens it waits
	 * behind all that was written before. */
	if (!s->held && !(s->fixed && !s->widens && s->windows > 0 &&
	    s->rtt_ms >= RTT_LONG_MS && s->bulk_left > 4 * s->windows &&
	    s->bulk_left >= BULK_WORTH))
		return 0;
	return have < CHANNELS_MAX ? MIN(add, CHANNELS_MAX - have) : 0;
}

bool
xfer_window_bound(const struct xfer_streams_view *v, unsigned add, bool refused)
{
	return v->fixed && (refused || (v->held && add == 0));
}

/* --- how much --- */

bool
xfer_stream_lags(const struct xfer_stream *l, uint32_t len)
{
	const struct xfer *x = l->x;
	uint64_t rtt = MAX(x->measured.rtt_ms, (uint64_t)1), rate = l->rate;

	if (l->idle)
		return true;
	if (x->measured.fastest == NULL || l == x->measured.fastest)
		return false;
	/* A stream that has moved nothing yet may be a channel of the fastest
	 * stream's connection. */
	if (l->acked == 0 && l->rate == 0)
		rate = x->measured.fastest->rate / 4;
	rate = MAX(rate, FRESH_BYTES * 1000 / rtt);
	/* A round trip of hours, as after a suspension, makes both rates 0. */
	rate = MAX(rate, (uint64_t)1);
	return (l->in_flight + len) * 1000 / rate > x->measured.left_ms + rtt;
}

/* Is l a stream that has only little under way? Over a long path this is every
 * stream but the fastest: at its end the transfer would have to wait for what a
 * slow stream still has under way. */
static bool
is_minor(const struct xfer_stream *l)
{
	return l->x->measured.fastest != NULL && l != l->x->measured.fastest &&
	    l->x->measured.rtt_ms >= RTT_LONG_MS;
}

uint32_t
xfer_stream_block(const struct xfer_stream *l)
{
	uint64_t quarter = l->rate * l->x->measured.rtt_ms / 4000;

	if (!is_minor(l))
		return XFER_BLOCK_MAX;
	return (uint32_t)MIN(MAX(quarter, (uint64_t)FRESH_BYTES),
	    (uint64_t)XFER_BLOCK_MAX);
}

/* Bytes that l may have under way. An upload is limited by its output
 * (xfer_stream_queue) instead; what a download requests waits in the server. */
size_t
xfer_stream_room(const struct xfer_stream *l, bool up)
{
	if (up)
		return SIZE_MAX;
	return is_minor(l) ? MIN(l->window, 4 * (size_t)(FRESH_BYTES +
		l->rate * l->x->measured.rtt_ms / 1000)) : l->window;
}

size_t
xfer_stream_queue(const struct xfer_stream *l)
{
	uint64_t wanted = l->rate * QUEUE_MS / 1000;

	if (!is_minor(l))
		return XFER_OUTPUT_MAX;
	return (size_t)MIN(MAX(wanted, (uint64_t)QUEUE_MIN),
	    (uint64_t)XFER_OUTPUT_MAX);
}
