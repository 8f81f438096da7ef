/* SPDX-License-Identifier: ISC */
/*
 * How many streams a transfer has, and how much of the work each gets: first
 * by example, then what holds for whatever numbers are measured.
 */
#include "regress/unit/dice.h"
#include "regress/unit/growth-traces.h"
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

/* ---- examples ----------------------------------------------------------- */

static unsigned
after(struct xfer_growth *g, struct xfer_sample *s, uint64_t ms)
{
	s->now_ms += ms;
	return xfer_growth_next(g, s);
}

static void
test_growth(void **state)
{
	struct xfer_growth g = { .stopped = false };
	struct xfer_sample s = { .now_ms = 1000, .rtt_ms = 100, .rate = 100,
		.seconds_left = 10, .connections = 1, .ready = 1 };

	(void)state;
	/* It still rises; then not any more. */
	assert_int_equal(after(&g, &s, 0), 0);
	s.rate = 200;
	assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(after(&g, &s, 299), 0);
	assert_int_equal(g.use, 1);
	assert_int_equal(after(&g, &s, 1), 3);
	assert_int_equal(g.use, 4);
	/* They are being opened; then have had no time to show. */
	assert_int_equal(after(&g, &s, 1000), 0);
	s.connections = s.ready = 4;
	assert_int_equal(after(&g, &s, 190), 0);
	/* They bring much, and it rises. */
	s.rate = 700;
	assert_int_equal(after(&g, &s, 10), 0);
	/* A sample that is low by chance says nothing. */
	s.rate = 500;
	assert_int_equal(after(&g, &s, 100), 4);
	assert_int_equal(g.use, 8);
	/* The next ones bring nothing: that is it. */
	s.connections = s.ready = 8;
	assert_int_equal(after(&g, &s, 3000), 0);
	assert_true(g.stopped && g.enough);
	/* Not worth it: a short path, or little left. */
	g = (struct xfer_growth){ .best = 200 };
	s = (struct xfer_sample){ .now_ms = 1000, .rtt_ms = 1, .rate = 200,
		.seconds_left = 10, .connections = 1, .ready = 1 };
	assert_int_equal(after(&g, &s, 0), 0);
	s.rtt_ms = 100;
	s.seconds_left = 1;
	assert_int_equal(after(&g, &s, 0), 0);
	s.seconds_left = 10;
	assert_int_equal(after(&g, &s, 0), 3);
	/* A number that was asked for: all take work at once. */
	g = (struct xfer_growth){ .stopped = false };
	s.max = 5;
	assert_int_equal(after(&g, &s, 0), 4);
	assert_int_equal(after(&g, &s, 0), 0);
	assert_int_equal(g.use, 0);
}

/* Those that are logged in join a slow start where the hosts' buffers end it
 * early, or the server's windows do and it refuses channels, and only for large
 * files; elsewhere one connection doubles its rate until the path is full. */
static void
test_growth_in_slow_start(void **state)
{
	const struct xfer_sample small = { .now_ms = 1000, .rtt_ms = 100,
		.least_us = 100000, .trip_us = 100000, .in_trip = 32768,
		.tcp_window = (uint64_t)UINT16_MAX << 7, .bulk_left = 60 << 20,
		.connections = 1, .ready = 4 };
	struct xfer_sample large = small, tree = small, unknown = small,
			   begins = small, bound = small;
	struct xfer_growth g;

	(void)state;
	large.tcp_window *= 2;
	tree.bulk_left = 1 << 20;
	unknown.tcp_window = 0;
	begins.in_trip = 32767;
	bound.tcp_window *= 2;
	bound.window_bound = true;
	for (int rate = 0; rate <= 300000; rate += 300000) {
		const struct xfer_sample *alone[] = { &large, &tree, &unknown,
			&begins };
		const struct xfer_sample *joined[] = { &small, &bound };
		struct xfer_sample s;

		for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
			g = (struct xfer_growth){ .asked = 4 };
			s = *alone[i];
			s.rate = rate;
			s.seconds_left = 60;
			assert_int_equal(after(&g, &s, 0), 0);
			assert_int_equal(g.use, 1);
		}
		for (size_t i = 0; i < ARRAY_LEN(joined); i++) {
			g = (struct xfer_growth){ .asked = 4 };
			s = *joined[i];
			s.rate = rate;
			s.seconds_left = 60;
			assert_int_equal(after(&g, &s, 0), 0);
			assert_int_equal(g.use, 4);
		}
	}
}

/* Those that are logged in, but idle, are taken into use without a login; when
 * no further one is let in, only those. */
static void
test_growth_prepared(void **state)
{
	struct xfer_growth g = { .stopped = false };
	struct xfer_sample s = { .now_ms = 1000, .rtt_ms = 100, .rate = 100,
		.seconds_left = 10, .connections = 1, .ready = 2 };

	(void)state;
	assert_int_equal(xfer_growth_begin(&g, 3), 3);
	assert_int_equal(after(&g, &s, 0), 0);
	assert_int_equal(g.use, 1);
	g.stopped = true; /* one was refused */
	assert_int_equal(after(&g, &s, 300), 0);
	assert_int_equal(g.use, 2);
	s.connections = 2;
	s.rate = 150;
	assert_int_equal(after(&g, &s, 200), 0);
	assert_int_equal(after(&g, &s, 200), 0);
	assert_int_equal(g.use, 2);
	/* Where the path is known, much is prepared for at the first sample. */
	g = (struct xfer_growth){ .stopped = false };
	s.least_us = s.trip_us = 100000;
	s.bulk_left = 16 << 20;
	assert_int_equal(after(&g, &s, 100), 3);
	assert_int_equal(g.use, 1);
	assert_int_equal(after(&g, &s, 100), 0);
}

/* On a path that is full nobody is added, and the surplus idles. */
static void
test_full_path(void **state)
{
	struct xfer_growth g = { .use = 4, .asked = 4, .best = 100 };
	struct xfer_sample s = { .now_ms = 10000, .rtt_ms = 40, .rate = 100,
		.seconds_left = 30, .connections = 4, .ready = 4,
		.least_us = 40000, .trip_us = 40000 };

	(void)state;
	/* Less than a quarter may be chance. */
	s.trip_us = 50000;
	assert_int_equal(after(&g, &s, 300), 4);
	g = (struct xfer_growth){ .use = 4, .asked = 4, .best = 100,
		.least_us = 40000 };
	/* The queue has to stand, and the rate with it. */
	s.trip_us = 80000;
	assert_int_equal(after(&g, &s, 300), 0);
	s.rate = 120;
	assert_int_equal(after(&g, &s, 300), 0);
	assert_int_equal(g.use, 4);
	/* Half of what is under way is in the queue. */
	assert_int_equal(after(&g, &s, 200), 0);
	assert_int_equal(g.use, 2);
	/* Each step is judged before the next one. */
	for (int i = 0; i < 9; i++)
		assert_int_equal(after(&g, &s, 111), 0);
	assert_int_equal(g.use, 2);
	assert_int_equal(after(&g, &s, 1), 0);
	assert_int_equal(g.use, 1);
	/* It fills the path alone. */
	assert_int_equal(after(&g, &s, 1000), 0);
	/* Packets are lost, the queue is empty for too long: two do. */
	s.trip_us = 40000;
	s.rate = 50;
	for (int i = 0; i < 9; i++)
		assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 2);
	assert_int_equal(g.floor, 2);
	/* Never less again. */
	s.trip_us = 80000;
	for (int i = 0; i < 30; i++)
		assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 2);
}

/* Nothing is changed near the end. */
static void
test_full_near_the_end(void **state)
{
	struct xfer_growth g = { .use = 2, .asked = 4, .best = 100,
		.least_us = 40000 };
	struct xfer_sample s = { .now_ms = 10000, .rtt_ms = 40, .rate = 100,
		.seconds_left = 0.8, .connections = 4, .ready = 4,
		.least_us = 40000, .trip_us = 90000 };

	(void)state;
	for (int i = 0; i < 30; i++)
		assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 2);
	/* The last one may lack some of the rate for a while: not for what
	 * is done in seconds. */
	s.trip_us = 60000;
	s.seconds_left = 9;
	for (int i = 0; i < 30; i++)
		assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 2);
	s.seconds_left = 11;
	assert_int_equal(after(&g, &s, 100), 0);
	assert_int_equal(g.use, 1);
}

/* What was recorded (hpnscp -vvv) over paths of bench/run --rows neighbours. */
static void
test_traces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
		const struct trace *t = &traces[i];
		struct xfer_growth g = { .stopped = false };
		unsigned opened = 1, most = 0;

		for (size_t k = 0; k < t->n; k++) {
			struct xfer_sample s = t->samples[k];

			s.rtt_ms = s.least_us / 1000 + 1;
			s.ready = s.connections;
			opened += xfer_growth_next(&g, &s);
			most = MAX(most, g.use);
		}
		if (opened != t->opened || most != t->most || g.use != t->use)
			print_error("%s: %u opened, up to %u in use, %u in the "
				    "end\n", t->name, opened, most, g.use);
		assert_true(opened == t->opened && most == t->most &&
		    g.use == t->use);
	}
}

/* Before anything was measured. */
static void
test_early(void **state)
{
	const uint64_t much = 16 << 20;

	(void)state;
	assert_int_equal(xfer_streams_early(100000, much, 0), 3);
	assert_int_equal(xfer_streams_early(20000, much, 0), 3);
	assert_int_equal(xfer_streams_early(19000, much, 0), 0);
	assert_int_equal(xfer_streams_early(100000, much - 1, 0), 0);
	assert_int_equal(xfer_streams_early(0, UINT64_MAX, 0), 0);
	/* As many as were asked for, but no more at once. */
	assert_int_equal(xfer_streams_early(100000, much, 1), 0);
	assert_int_equal(xfer_streams_early(100000, much, 2), 1);
	assert_int_equal(xfer_streams_early(100000, much, 12), 3);
}

/* A connection that a copy ends before has come for nothing, and servers
 * count such. */
static void
test_login_pays(void **state)
{
	(void)state;
	assert_false(xfer_login_pays(20, 16 << 20));
	assert_true(xfer_login_pays(20, 256 << 20));
	assert_true(xfer_login_pays(100, 16 << 20));
	assert_false(xfer_login_pays(100, 64 << 10));
	assert_false(xfer_login_pays(0, UINT64_MAX));
	assert_true(xfer_login_pays(100, UINT64_MAX));
}

/* What one connection's round trips do to the view. */
static void
test_trips_of_a_view(void **state)
{
	static const struct {
		uint64_t rtt, sent, received; /* us */
		bool has_moved, up;
		uint64_t trip; /* 0: the connection is not taken */
	} rows[] = {
		{ 10, 30, 20, true, true, 30 },
		{ 10, 30, 20, true, false, 20 },
		{ 10, 30, 0, true, false, 30 }, /* not known */
		{ 10, 30, 20, false, true, 10 }, /* a server's work */
		{ 10, 0, 20, true, true, 0 },
		{ 0, 30, 20, true, true, 0 },
		{ 0, 30, 20, false, true, 0 },
	};
	struct xfer_streams_view v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct xfer_stream_stats path = { .rtt_us = rows[i].rtt,
			.sent_us = rows[i].sent,
			.received_us = rows[i].received, .tcp_window = 7 };
		uint64_t trip = rows[i].trip;

		v = (struct xfer_streams_view){ .fixed = true };
		xfer_view_add_trip(&v, &path, rows[i].has_moved, rows[i].up);
		assert_int_equal(v.trip_us, trip);
		assert_int_equal(v.least_us, trip != 0 ? rows[i].rtt : 0);
		assert_int_equal(v.tcp_window, trip != 0 ? 7 : 0);
		/* Beside shorter ones it is not seen; beside longer ones it
		 * takes their place. */
		v = (struct xfer_streams_view){ .trip_us = 5, .least_us = 4,
			.tcp_window = 9 };
		xfer_view_add_trip(&v, &path, rows[i].has_moved, rows[i].up);
		assert_int_equal(v.trip_us, 5);
		assert_int_equal(v.least_us, 4);
		assert_int_equal(v.tcp_window, 9);
		v = (struct xfer_streams_view){ .trip_us = 50, .least_us = 40,
			.tcp_window = 1 };
		xfer_view_add_trip(&v, &path, rows[i].has_moved, rows[i].up);
		assert_int_equal(v.trip_us, trip != 0 ? trip : 50);
		assert_int_equal(v.least_us, trip != 0 ? rows[i].rtt : 40);
		assert_int_equal(v.tcp_window, trip != 0 ? 7 : 1);
	}
}

static void
test_sample_of_a_view(void **state)
{
	struct xfer_streams_view v = { .rtt_ms = 50, .least_us = 40000,
		.trip_us = 60000, .tcp_window = 1 << 20, .connections = 3,
		.ready = 4, .rate = 1000, .top = 250, .arrived = 3000,
		.stalled_ms = 130, .fixed = true };
	struct xfer_sample s;

	(void)state;
	xfer_view_complete(&v, 1000, 100, 100);
	assert_true(v.held);
	s = xfer_sample_of(&v);
	assert_int_equal(s.rtt_ms, 50);
	assert_int_equal(s.least_us, 40000);
	assert_int_equal(s.trip_us, 60000);
	assert_int_equal(s.tcp_window, 1 << 20);
	assert_int_equal(s.connections, 3);
	assert_int_equal(s.ready, 4);
	/* 2000 bytes in 100 ms; a quarter of the rate. */
	assert_true(s.in_trip > 999 && s.in_trip < 1001);
	assert_true(s.top > .249 && s.top < .251);
	/* A connection that has ended takes what it had got with it. */
	xfer_view_complete(&v, 3001, 131, 100);
	assert_false(v.held);
	s = xfer_sample_of(&v);
	assert_true(s.in_trip >= 0 && s.in_trip <= 0);
	/* Less than three tenths of the time; windows that follow the path. */
	xfer_view_complete(&v, 0, 101, 100);
	assert_false(v.held);
	v.fixed = false;
	xfer_view_complete(&v, 0, 0, 100);
	assert_false(v.held);
	v.rate = 0;
	s = xfer_sample_of(&v);
	assert_true(s.top >= 0 && s.top <= 0);
}

/* Windows limit an upload for good where they do not follow the path, and no
 * further channel is due, or one was refused. */
static void
test_window_bound(void **state)
{
	struct xfer_streams_view v = { .fixed = true };

	(void)state;
	for (int i = 0; i < 8; i++) {
		bool held = (i & 1) != 0, refused = (i & 2) != 0;
		unsigned add = (i & 4) != 0 ? 3 : 0;

		v.held = held;
		v.fixed = true;
		assert_int_equal(xfer_window_bound(&v, add, refused),
		    refused || (held && add == 0));
		v.fixed = v.held = false;
		assert_false(xfer_window_bound(&v, add, refused));
	}
}

/* Over a long path channels are opened before there is data, for what is much
 * for the windows. */
static void
test_channels(void **state)
{
	struct xfer_streams_view s = { .rtt_ms = 100, .windows = 8 << 20,
		.bulk_left = 300 << 20, .fixed = true };

	(void)state;
	assert_int_equal(xfer_channels_next(1, &s), 7);
	assert_int_equal(xfer_channels_next(6, &s), 2);
	assert_int_equal(xfer_channels_next(8, &s), 0);
	s.windows = 64 * 1024;
	s.bulk_left = (16 << 20) - 1; /* not worth it */
	assert_int_equal(xfer_channels_next(1, &s), 0);
	s.held = true;
	assert_int_equal(xfer_channels_next(1, &s), 7);
	s.held = false;
	s.bulk_left++;
	assert_int_equal(xfer_channels_next(1, &s), 7);
	s.windows = 8 << 20;
	s.bulk_left = 300 << 20;
	s.widens = true; /* not by now */
	assert_int_equal(xfer_channels_next(1, &s), 0);
	s.held = true;
	assert_int_equal(xfer_channels_next(1, &s), 7);
	s.widens = s.held = false;
	assert_int_equal(xfer_channels_next(1, &s), 7);
	s.fixed = false; /* they follow the path */
	assert_int_equal(xfer_channels_next(1, &s), 0);
	s.fixed = true;
	s.bulk_left = 32 << 20; /* done before they work */
	assert_int_equal(xfer_channels_next(1, &s), 0);
	s.bulk_left = 300 << 20;
	s.windows = 0; /* not known */
	assert_int_equal(xfer_channels_next(1, &s), 0);
	s.windows = 8 << 20;
	s.rtt_ms = 10;
	assert_int_equal(xfer_channels_next(1, &s), 0);
	/* A short path takes them as they are needed. */
	s.held = true;
	assert_int_equal(xfer_channels_next(2, &s), 2);
}

/* Who gets the last of a file, and how much a new stream begins with. */
static void
test_lags(void **state)
{
	struct xfer x = { .measured = { .rtt_ms = 100, .left_ms = 1000 } };
	struct xfer_stream fast = { .x = &x, .rate = 100000000,
		.in_flight = 20000000 };
	struct xfer_stream slow = { .x = &x, .rate = 1000000 };

	(void)state;
	/* One alone has no choice. */
	assert_false(xfer_stream_lags(&slow, UINT32_MAX));
	assert_int_equal(xfer_stream_block(&slow), XFER_BLOCK_MAX);
	x.measured.fastest = &fast;
	assert_false(xfer_stream_lags(&fast, UINT32_MAX));
	assert_false(xfer_stream_lags(&slow, 1000000));
	assert_true(xfer_stream_lags(&slow, 1200000));
	slow.in_flight = 1000000;
	assert_true(xfer_stream_lags(&slow, 200000));
	/* A new one is believed to be in slow start, or beside a fast one. */
	slow.rate = 0;
	slow.in_flight = 0;
	assert_false(xfer_stream_lags(&slow, 20000000));
	assert_true(xfer_stream_lags(&slow, 30000000));
	slow.acked = 1;
	assert_false(xfer_stream_lags(&slow, 500000));
	assert_true(xfer_stream_lags(&slow, 800000));
	assert_int_equal(xfer_stream_block(&slow), 64 * 1024);
	/* What an upload has in the network is not counted, what waits for it
	 * is; slow start is not held up by either. */
	assert_int_equal(xfer_stream_room(&slow, true), SIZE_MAX);
	assert_int_equal(xfer_stream_queue(&slow), 128 * 1024);
	slow.window = 64 << 20;
	assert_int_equal(xfer_stream_room(&slow, false), 256 * 1024);
	slow.rate = 10000000;
	assert_int_equal(xfer_stream_queue(&slow), 200000);
	assert_int_equal(xfer_stream_room(&slow, false), 256 * 1024 + 4000000);
	slow.rate = 90000000;
	assert_int_equal(xfer_stream_block(&slow), XFER_BLOCK_MAX);
	assert_int_equal(xfer_stream_queue(&slow), XFER_OUTPUT_MAX);
	slow.window = 1 << 20;
	assert_int_equal(xfer_stream_room(&slow, false), 1 << 20);
	assert_int_equal(xfer_stream_queue(&fast), XFER_OUTPUT_MAX);
	/* A short path has no slow start to speak of. */
	x.measured.rtt_ms = 1;
	slow.rate = 0;
	assert_int_equal(xfer_stream_block(&slow), XFER_BLOCK_MAX);
}

/* ---- what always holds -------------------------------------------------- */

enum { ROUNDS = 20000, STEPS = 60, ALONE_MAX = 12, CHANNELS = 8, STEP_MAX = 4 };

/* Of any magnitude below 2^bits, 0 among them. */
static uint64_t
any(struct dice *dice, unsigned bits)
{
	uint64_t all = (uint64_t)dice_below(dice, UINT32_MAX) << 32 |
	    dice_below(dice, UINT32_MAX);

	return all >> (64 - bits) >> dice_below(dice, bits + 1);
}

static struct xfer_sample
any_sample(struct dice *dice, uint64_t now_ms)
{
	return (struct xfer_sample){ .now_ms = now_ms,
		.rtt_ms = any(dice, 12), .rate = (double)any(dice, 34),
		.seconds_left = (double)any(dice, 16) / 16,
		.least_us = any(dice, 22), .trip_us = any(dice, 24),
		.bulk_left = any(dice, 40) };
}

/* Connections that were asked for open some time later, or never. */
static void
test_growth_is_bounded(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < ROUNDS / STEPS; round++) {
		struct dice dice = { round };
		uint64_t now_ms = 1;
		unsigned max = round % 3 == 0 ? (unsigned)any(&dice, 5) : 0;
		unsigned wanted = 1, have = 0, add;
		struct xfer_growth g = { .stopped = false };

		for (int i = 0; i < STEPS; i++) {
			struct xfer_sample s = any_sample(&dice, now_ms);
			struct xfer_growth was = g;

			s.max = max;
			s.connections = have;
			s.ready = have + dice_below(&dice, wanted - have + 1);
			add = xfer_growth_next(&g, &s);
			wanted += add;
			assert_true(wanted <= (max != 0 ? max : ALONE_MAX));
			assert_true(max != 0 || add <= STEP_MAX);
			if (was.stopped)
				assert_true(g.stopped && add == 0);
			if (max == 0 && (have == 0 || s.rate <= 0))
				assert_int_equal(add, 0);
			assert_true(g.best >= was.best);
			assert_true(g.use <= ALONE_MAX && g.use >= was.floor);
			assert_true(max == 0 || g.use == 0);
			assert_true(g.floor >= was.floor);
			/* No step up before the last one had its time. */
			if (have < MIN(was.use, s.ready))
				assert_true(g.use <= MAX(was.use, g.floor));
			have += have < wanted && dice_below(&dice, 2) == 0;
			now_ms += any(&dice, 10);
		}
	}
}

static void
test_channels_are_bounded(void **state)
{
	struct dice dice = { 1 };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct xfer_streams_view s = { .rtt_ms = any(&dice, 16),
			.windows = any(&dice, 36),
			.bulk_left = any(&dice, 50),
			.fixed = any(&dice, 1) != 0 };
		unsigned have = 1 + (unsigned)any(&dice, 4), add, more;

		add = xfer_channels_next(have, &s);
		assert_true(add == 0 || have + add <= CHANNELS);
		if (!s.fixed)
			assert_int_equal(add, 0);
		/* More to do or a stall never make it fewer. */
		s.bulk_left += any(&dice, 50);
		more = xfer_channels_next(have, &s);
		assert_true(more >= add);
		s.held = true;
		add = xfer_channels_next(have, &s);
		assert_true(add >= more);
		assert_int_equal(add == 0, have >= CHANNELS);
	}
}

static void
test_early_and_login_are_monotonic(void **state)
{
	struct dice dice = { 2 };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t rtt = any(&dice, 32), bytes = any(&dice, 63);
		uint64_t longer = rtt + any(&dice, 32);
		uint64_t more = bytes + any(&dice, 63);
		unsigned wanted = (unsigned)any(&dice, 6);
		unsigned n = xfer_streams_early(rtt, bytes, wanted);

		assert_true(n < STEP_MAX && (wanted == 0 || n < wanted));
		assert_true(xfer_streams_early(longer, bytes, wanted) >= n);
		assert_true(xfer_streams_early(rtt, more, wanted) >= n);
		if (xfer_login_pays(rtt, bytes)) {
			assert_true(xfer_login_pays(longer, bytes));
			assert_true(xfer_login_pays(rtt, more));
		}
	}
}

struct streams {
	struct xfer x;
	struct xfer_stream fast, slow;
};

static void
any_streams(struct streams *s, struct dice *dice)
{
	*s = (struct streams){ .x.measured = { .rtt_ms = any(dice, 36),
		.left_ms = any(dice, 40) } };
	s->fast = (struct xfer_stream){ .x = &s->x, .rate = any(dice, 28),
		.in_flight = any(dice, 40), .window = 1 << 20 };
	s->slow = (struct xfer_stream){ .x = &s->x, .in_flight = any(dice, 40),
		.acked = any(dice, 40), .window = (1 << 20) + any(dice, 30) };
	s->slow.rate = s->slow.acked != 0 ? any(dice, 28) : 0;
	s->x.measured.fastest = &s->fast;
}

/* A stream that declines a block declines all larger ones, the more so when
 * it has more to do, and less to do when the others need longer. */
static void
test_lags_is_monotonic(void **state)
{
	struct dice dice = { 3 };
	struct streams s;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t len = (uint32_t)any(&dice, 31);
		uint32_t longer = len + (uint32_t)any(&dice, 31);

		any_streams(&s, &dice);
		assert_false(xfer_stream_lags(&s.fast, len));
		if (xfer_stream_lags(&s.slow, len)) {
			assert_true(xfer_stream_lags(&s.slow, longer));
			s.slow.in_flight += any(&dice, 40);
			assert_true(xfer_stream_lags(&s.slow, len));
			continue;
		}
		s.x.measured.left_ms += any(&dice, 40);
		assert_false(xfer_stream_lags(&s.slow, len));
		if (s.slow.acked != 0)
			s.slow.rate += any(&dice, 28);
		assert_false(xfer_stream_lags(&s.slow, len));
		s.x.measured.fastest = NULL;
		assert_false(xfer_stream_lags(&s.slow, UINT32_MAX));
	}
}

/* Each stream can always make progress, and none takes more than its share;
 * a faster one gets no less. */
static void
test_shares_are_bounded(void **state)
{
	const size_t least_queue = 128 * 1024, least_block = 64 * 1024;
	struct dice dice = { 4 };
	struct streams s;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct xfer_stream *l = i % 2 == 0 ? &s.fast : &s.slow;
		size_t room, queue;
		uint32_t block;

		any_streams(&s, &dice);
		if (any(&dice, 2) == 0)
			s.x.measured.fastest = NULL;
		block = xfer_stream_block(l);
		room = xfer_stream_room(l, false);
		queue = xfer_stream_queue(l);
		assert_in_range(block, least_block, XFER_BLOCK_MAX);
		assert_in_range(room, XFER_BLOCK_MAX, l->window);
		assert_in_range(queue, least_queue, XFER_OUTPUT_MAX);
		assert_true(xfer_stream_room(l, true) == SIZE_MAX);
		l->rate += any(&dice, 28);
		assert_true(xfer_stream_block(l) >= block);
		assert_true(xfer_stream_room(l, false) >= room);
		assert_true(xfer_stream_queue(l) >= queue);
		l->window += any(&dice, 30);
		assert_true(xfer_stream_room(l, false) >= room);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_in_slow_start),
		cmocka_unit_test(test_growth_prepared),
		cmocka_unit_test(test_full_path),
		cmocka_unit_test(test_full_near_the_end),
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_login_pays),
		cmocka_unit_test(test_trips_of_a_view),
		cmocka_unit_test(test_sample_of_a_view),
		cmocka_unit_test(test_window_bound),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_lags),
		cmocka_unit_test(test_growth_is_bounded),
		cmocka_unit_test(test_channels_are_bounded),
		cmocka_unit_test(test_early_and_login_are_monotonic),
		cmocka_unit_test(test_lags_is_monotonic),
		cmocka_unit_test(test_shares_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
