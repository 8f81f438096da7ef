/* SPDX-License-Identifier: ISC */
/*
 * How many connections and channels save time, and how much of the work each
 * stream gets: decisions that depend on numbers only.
 */
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	CHANNELS_MAX = 8,
	CONNECTIONS_MAX = 12,	 /* if the user gave no number */
	CONNECTIONS_STEP = 4,	 /* fewer than servers accept at once */
	SHOW_MS = 200, /* until new connections change the rate */
	RTT_WORTH_MS = 5,
	RTT_LONG_MS = 20,
	BULK_WORTH = 16 * 1024 * 1024, /* bytes in large files */
	FRESH_BYTES = 64 * 1024, /* in a round trip, of a new connection */
	QUEUE_MIN = 128 * 1024,
	QUEUE_MS = 20, /* of output, at its rate */
	OPENING_GROWTH = 16, /* of slow start, until a channel works */
	FIRST_FLIGHT = 14 * 1024, /* bytes, of slow start */
	LOGIN_ROUNDS = 5,
	LOGIN_MS = 150, /* of computation at both ends, if they are idle */
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

unsigned
xfer_growth_next(struct xfer_growth *g, const struct xfer_sample *s)
{
	unsigned most = s->max != 0 ? s->max : CONNECTIONS_MAX, add;
	bool rising = s->rate > 1.25 * g->best;

	g->best = MAX(g->best, s->rate);
	if (g->stopped || s->rate <= 0 || s->connections == 0)
		return 0;
	if (s->max != 0) {
		/* The user gave the number. */
		g->stopped = true;
		return s->max - 1;
	}
	/* Over a long path the first ones save time by slow start alone, so
	 * a rate that still rises is no reason to wait. */
	if (g->had == 0 && s->rtt_ms >= RTT_LONG_MS &&
	    s->bulk_left >= BULK_WORTH)
		rising = false;
	if (s->connections < g->wanted)
		g->since_ms = s->now_ms;
	if (s->rtt_ms < RTT_WORTH_MS || rising ||
	    s->seconds_left * 1000 < 500 + 10 * (double)s->rtt_ms)
		return 0;
	if (g->had != 0) {
		/* Those opened last must have had time to change the rate. */
		if (s->now_ms - g->since_ms < MAX(SHOW_MS, 2 * s->rtt_ms))
			return 0;
		if (g->best < 1.1 * g->before)
			g->stopped = true;
	}
	if (g->stopped || s->connections >= most)
		return 0;
	add = MIN(s->connections == 1 ? CONNECTIONS_STEP - 1 :
					(unsigned)CONNECTIONS_STEP,
	    most - s->connections);
	g->had = s->connections;
	g->wanted = s->connections + add;
	g->before = g->best;
	g->since_ms = s->now_ms;
	return add;
}

unsigned
xfer_channels_next(unsigned have, const struct xfer_streams_view *s)
{
	unsigned add = s->rtt_ms < RTT_LONG_MS ? have : CHANNELS_MAX / 2;
	uint64_t in_round = s->rate * s->rtt_ms / 1000;

	if (!s->held && !(s->fixed && s->windows > 0 &&
	    s->rtt_ms >= RTT_LONG_MS && s->bulk_left > 4 * s->windows &&
	    OPENING_GROWTH * in_round >= s->windows))
		return 0;
	return have < CHANNELS_MAX ? MIN(add, CHANNELS_MAX - have) : 0;
}

/* --- how much --- */

bool
xfer_stream_lags(const struct xfer_stream *l, uint32_t len)
{
	const struct xfer *x = l->x;
	uint64_t rtt = MAX(x->measured.rtt_ms, (uint64_t)1), rate = l->rate;

	if (x->measured.fastest == NULL || l == x->measured.fastest)
		return false;
	/* A stream that has moved nothing yet may be a channel of the fastest
	 * one's connection. */
	if (l->acked == 0 && l->rate == 0)
		rate = x->measured.fastest->rate / 4;
	rate = MAX(rate, FRESH_BYTES * 1000 / rtt);
	/* A round trip of hours, as after a suspension, makes both 0. */
	rate = MAX(rate, (uint64_t)1);
	return (l->in_flight + len) * 1000 / rate > x->measured.left_ms + rtt;
}

/* Over a long path all streams but the fastest have only little under way,
 * because the transfer waits for it in the end. */
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

/* An upload is limited by its output (xfer_stream_queue), not here; what a
 * download requests waits in the server. */
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
