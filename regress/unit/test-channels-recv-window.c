/* SPDX-License-Identifier: ISC */
/*
 * Receive windows: what they do in some cases, and what is true of them
 * whatever happens (the invariant of channels-recv-window.h), in stories told
 * by dice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "channels-recv-window.h"
#include "channels.h"
#include "regress/unit/dice.h"
#include "regress/unit/window-sum.h"

static void
test_window_next(void **state)
{
	enum { MIB = 1 << 20 };
	static const struct {
		uint32_t now;
		uint64_t per_rtt, before;
		uint32_t rcvbuf, limit, want;
		bool exact;
	} cases[] = {
		/* 2 MiB a round trip: it is the window that holds */
		{ 2 * MIB, 2 * MIB, 0, 6 * MIB, 64 * MIB, 6 * MIB, false },
		/* half of it is the border */
		{ 2 * MIB, 1 * MIB, 0, 6 * MIB, 64 * MIB, 6 * MIB, false },
		{ 2 * MIB, MIB - 10, 0, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* 1 GB/s on loopback needs no more */
		{ 2 * MIB, 50000, 50000, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* the limit; never smaller; no TCP */
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 15 * MIB, 15 * MIB, false },
		{ 2 * MIB, 2 * MIB, 0, 131072, 64 * MIB, 2 * MIB, false },
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 0, 2 * MIB, false },
		{ 2 * MIB, 0, 0, 6 * MIB, 64 * MIB, 2 * MIB, false },
		/* exact: twice what got through, and not for half of it */
		{ 2 * MIB, 2 * MIB, 0, 60 * MIB, 64 * MIB, 4 * MIB, true },
		{ 8 * MIB, 8 * MIB, 0, 60 * MIB, 12 * MIB, 12 * MIB, true },
		{ 2 * MIB, 1 * MIB, 0, 6 * MIB, 64 * MIB, 2 * MIB, true },
		{ 2 * MIB, 0, 0, 6 * MIB, 64 * MIB, 2 * MIB, true },
		/* slow start: its growth is added, at most half of it */
		{ 2 * MIB, 1 * MIB, MIB / 2, 60 * MIB, 64 * MIB, 4 * MIB,
		    true },
		{ 2 * MIB, 2 * MIB, 1, 60 * MIB, 64 * MIB, 8 * MIB, true },
		/* no backlog that the sender moves over and over */
		{ 2 * MIB, 8 * MIB, 4 * MIB, 60 * MIB, 64 * MIB, 16 * MIB,
		    true },
		{ 30 * MIB, 30 * MIB, 0, 60 * MIB, 64 * MIB, 38 * MIB, true },
		/* at an even pace, or when it becomes less, as before */
		{ 4 * MIB, 4 * MIB, 4 * MIB, 60 * MIB, 64 * MIB, 8 * MIB,
		    true },
		{ 4 * MIB, 4 * MIB, 9 * MIB, 60 * MIB, 64 * MIB, 8 * MIB,
		    true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct recv_path path = { .rcvbuf = cases[i].rcvbuf,
			.limit = cases[i].limit,
			.exact = cases[i].exact };

		assert_int_equal(recv_window_next(cases[i].now,
				     cases[i].per_rtt, cases[i].before, &path),
		    cases[i].want);
	}
}

static void
test_window_rested(void **state)
{
	static const struct {
		uint32_t now;
		uint64_t idle_ms;
		uint32_t want;
	} cases[] = {
		{ 15728640, 0, 15728640 },
		{ 15728640, 9999, 15728640 },
		{ 15728640, 10000, 7864320 },
		{ 15728640, 25000, 3932160 },
		{ 15728640, 30000, 2097152 },
		{ 15728640, UINT64_MAX, 2097152 },
		{ 2097152, UINT64_MAX, 2097152 },
		{ 1000, UINT64_MAX, 1000 },
		{ 0, 60000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(recv_window_rested(cases[i].now,
				     cases[i].idle_ms),
		    cases[i].want);
}

static void
test_window_first(void **state)
{
	enum { WANT = CHANNEL_WINDOW_DEFAULT, MIB = 1 << 20 };

	(void)state;
	assert_int_equal(recv_window_first(WANT, 0, 0, false), WANT);
	assert_int_equal(recv_window_first(1000, 0, 0, false), 1000);
	/* Another one has grown: a few still get a good window. */
	assert_int_equal(recv_window_first(WANT, CHANNELS_GROW_LIMIT, 1, false),
	    WANT);
	assert_int_equal(recv_window_first(WANT, CHANNELS_BUDGET - MIB, 7,
			     false), MIB / 2);
	/* Of many each gets little, whether much is left or nothing. */
	assert_int_equal(recv_window_first(WANT, CHANNELS_BUDGET - 32 * MIB,
			     8, false), MIB / 4);
	assert_int_equal(recv_window_first(WANT, CHANNELS_BUDGET - 48 * MIB,
			     64, false), 48 * 1024);
	assert_int_equal(recv_window_first(WANT, CHANNELS_BUDGET, 1, false),
	    16 * 1024);
	assert_int_equal(recv_window_first(WANT, UINT64_MAX, 1023, false),
	    16 * 1024);
	assert_int_equal(recv_window_first(WANT, UINT64_MAX, 1024, false),
	    4 * 1024);
	/* Fixed: as it was asked for, unless they are many. */
	assert_int_equal(recv_window_first(128 * MIB, CHANNELS_BUDGET, 7,
			     true), 128 * MIB);
	assert_int_equal(recv_window_first(128 * MIB, CHANNELS_BUDGET, 8,
			     true), 16 * 1024);
}

/* However many idle, the next ones have something, all together not too much,
 * and one of them can grow. */
static void
test_window_of_many(void **state)
{
	uint64_t sum = 0;

	(void)state;
	for (size_t n = 0; n < CHANNELS_MAX; n++) {
		uint32_t w = recv_window_first(CHANNEL_WINDOW_DEFAULT, sum, n,
		    false);

		assert_true(w >= 4096);
		sum += w;
		assert_true(sum <= window_sum_max(n + 1));
		if (n < 8)
			assert_int_equal(w, CHANNEL_WINDOW_DEFAULT);
		if (n < 1000)
			assert_true(w >= 16384);
		if (n == 1000)
			assert_in_range(sum, 1, CHANNELS_GROW_LIMIT -
			    (7 << 20));
	}
}

/* A window, and what the peer knows of it. */
struct model {
	struct recv_window w;
	uint64_t told, sent; /* bytes: offered to the peer, and sent by it */
	uint64_t now_ms, mover;
	uint32_t share; /* to which it shrinks; 0: it need not */
	bool fixed;
};

enum { PACKET = CHANNEL_PACKET_DEFAULT };

static uint64_t
kept_by(const struct recv_window *w)
{
	return (uint64_t)w->max + w->withheld;
}

static void
check(const struct model *m)
{
	const struct recv_window *w = &m->w;

	assert_int_equal((uint64_t)w->left + w->waiting + w->consumed,
	    kept_by(w));
	assert_int_equal(m->told - m->sent, w->left);
	assert_true(w->unproven <= w->max);
}

static void
receive(struct model *m, uint32_t bytes)
{
	struct recv_window before = m->w;

	if (recv_window_receive(&m->w, bytes)) {
		assert_true(bytes <= before.left);
		m->sent += bytes;
	} else {
		assert_true(bytes > before.left);
		assert_memory_equal(&before, &m->w, sizeof before);
	}
}

static void
adjust(struct model *m, const struct recv_path *path)
{
	struct recv_window *w = &m->w;
	uint64_t most = MAX(kept_by(w), path->limit);
	uint32_t before, bytes;

	if (!recv_window_adjust_due(w, PACKET)) {
		/* The peer still has half of it, or will when the sink has
		 * taken what waits for it. */
		assert_true((uint64_t)w->left + w->waiting >= w->max / 2);
		return;
	}
	before = w->max;
	if (!m->fixed)
		recv_window_rest(w, m->now_ms);
	/* A rest makes smaller, not below the default. */
	assert_true(w->max <= before);
	assert_true(w->max == before || w->max >= CHANNEL_WINDOW_DEFAULT);
	check(m);
	if (!m->fixed && m->share > 0) {
		uint64_t kept = kept_by(w);

		before = w->max;
		recv_window_shrink(w, m->share);
		assert_true(w->max <= before);
		assert_true(w->max >= MIN(before, m->share));
		assert_int_equal(kept_by(w), kept); /* nothing is taken back */
		check(m);
	}
	recv_window_withhold(w);
	check(m);
	before = w->max;
	if (!m->fixed && recv_window_may_grow(w))
		recv_window_grow(w, path, m->now_ms * 1000);
	assert_true(w->max >= before);
	assert_true(kept_by(w) <= most);
	check(m);
	bytes = recv_window_give_back(w, UINT32_MAX);
	m->told += bytes;
	assert_int_equal(w->consumed, 0);
}

static void
random_event(struct model *m, struct dice *dice, const struct recv_path *path)
{
	uint32_t bytes;

	switch (dice_below(dice, 8)) {
	case 0:
		m->now_ms += dice_below(dice, 200);
		break;
	case 1:
		if (dice_below(dice, 10) == 0)
			m->now_ms += dice_below(dice, 100 * 1000);
		break;
	case 2:
	case 3: /* at times more than it may */
		bytes = m->w.left < UINT32_MAX / 2 ? m->w.left + 100 :
						     m->w.left;
		receive(m, dice_below(dice, bytes));
		break;
	case 4:
		if (dice_below(dice, 50) == 0) {
			bytes = dice_below(dice, 1 << 20);
			recv_window_grant(&m->w, bytes, true);
			m->told += bytes;
		}
		break;
	case 5:
		recv_window_consume(&m->w,
		    dice_below(dice, m->w.waiting + 1));
		break;
	case 6:
		recv_window_consume(&m->w, m->w.waiting);
		break;
	default:
		adjust(m, path);
	}
	check(m);
}

static void
test_invariant(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 400; seed++) {
		struct dice dice = { seed };
		struct model m = { .now_ms = 1000, .fixed = seed % 8 == 0 };
		struct recv_path path = { .exact = seed % 2 == 0 };
		uint32_t first = dice_below(&dice, 1U << (10 + seed % 16));

		recv_window_init(&m.w, first);
		m.told = first;
		for (int i = 0; i < 1000; i++) {
			path.rtt_us = dice_below(&dice, 300 * 1000);
			path.rcvbuf = dice_below(&dice, 100u << 20);
			path.limit = dice_below(&dice, CHANNELS_GROW_LIMIT);
			path.share = dice_below(&dice, 4u << 20);
			m.share = dice_below(&dice, 8u << 20);
			random_event(&m, &dice, &path);
		}
	}
}

/* A fixed window is given back as it was, however it is used. */
static void
test_fixed_stays(void **state)
{
	struct model m = { .now_ms = 1, .fixed = true };
	const struct recv_path path = { .rtt_us = 1000, .rcvbuf = 1 << 30,
		.limit = 1 << 30 };
	struct dice dice = { 7 };

	(void)state;
	recv_window_init(&m.w, 100000);
	m.told = 100000;
	for (int i = 0; i < 20000; i++) {
		receive(&m, dice_below(&dice, m.w.left + 1));
		recv_window_consume(&m.w, m.w.waiting);
		m.now_ms += dice_below(&dice, 30000);
		adjust(&m, &path);
		assert_int_equal(m.w.max, 100000);
		assert_int_equal(m.w.withheld, 0);
	}
	assert_true(m.sent > 100000);
}

/* Channels come and go, and grow as far as the others let them: in sum they
 * never keep more than the budget and a packet for each. */
static void
test_budget_of_many(void **state)
{
	enum { CHANNELS = 40 };
	struct model m[CHANNELS];
	struct dice dice = { 11 };
	struct recv_path path = { .rtt_us = 50000, .rcvbuf = 100 << 20 };
	uint64_t sum = 0, now_ms = 1;

	(void)state;
	memset(m, 0, sizeof m);
	for (int i = 0; i < 20000; i++) {
		struct model *one = &m[dice_below(&dice, CHANNELS)];
		uint64_t own = kept_by(&one->w);

		one->now_ms = now_ms += dice_below(&dice, 10);
		if (dice_below(&dice, 100) == 0) {
			sum -= own;
			*one = (struct model){ .now_ms = now_ms };
			recv_window_init(&one->w,
			    recv_window_first(CHANNEL_WINDOW_DEFAULT, sum,
				CHANNELS - 1, false));
			one->told = one->w.left;
			sum += kept_by(&one->w);
		} else {
			path.limit = sum - own < CHANNELS_GROW_LIMIT ?
			    CHANNELS_GROW_LIMIT - (uint32_t)(sum - own) : 0;
			receive(one, one->w.left);
			recv_window_consume(&one->w, one->w.waiting);
			adjust(one, &path);
			sum += kept_by(&one->w) - own;
		}
		check(one);
		assert_true(sum <= window_sum_max(CHANNELS));
	}
	assert_true(sum > CHANNELS_BUDGET / 2);
}

/* Who idles is not counted, soon. */
static void
test_movers(void **state)
{
	struct recv_movers m = { 0 };
	uint64_t period[100] = { 0 };

	(void)state;
	assert_int_equal(recv_movers_count(&m), 1);
	for (int ms = 5000; ms < 9000; ms += 10) {
		for (size_t i = 0; i < ARRAY_LEN(period); i++)
			period[i] = recv_movers_note(&m, period[i],
			    (uint64_t)ms);
		assert_int_equal(recv_movers_count(&m), ARRAY_LEN(period));
	}
	/* One alone: the others are forgotten soon; after a pause at once. */
	for (int ms = 9000; ms < 11500; ms += 10)
		period[0] = recv_movers_note(&m, period[0], (uint64_t)ms);
	assert_int_equal(recv_movers_count(&m), 1);
	for (size_t i = 0; i < ARRAY_LEN(period); i++)
		period[i] = recv_movers_note(&m, period[i], 12000);
	period[0] = recv_movers_note(&m, period[0], 60000);
	assert_int_equal(recv_movers_count(&m), 1);
}

/* Channels that were opened one after the other, so that the first have large
 * windows; some idle. */
struct crowd {
	struct model m[CHANNELS_MAX];
	size_t n;
	uint64_t sum, now_ms;
	struct recv_movers movers;
};

static void
open_crowd(struct crowd *c, size_t n)
{
	memset(c, 0, sizeof *c);
	c->n = n;
	c->now_ms = 1000;
	for (size_t i = 0; i < n; i++) {
		uint32_t w = recv_window_first(CHANNEL_WINDOW_DEFAULT, c->sum,
		    i, false);

		recv_window_init(&c->m[i].w, w);
		c->m[i].told = w;
		c->sum += w;
	}
}

/* One uses all that it has. rtt_us: of the path, and so is rcvbuf. */
static void
use(struct crowd *c, size_t i, uint64_t rtt_us)
{
	struct model *one = &c->m[i];
	uint64_t own = kept_by(&one->w);
	size_t movers;
	struct recv_path path = { .rtt_us = rtt_us, .rcvbuf = 100u << 20 };

	one->now_ms = c->now_ms;
	one->mover = recv_movers_note(&c->movers, one->mover, c->now_ms);
	movers = recv_movers_count(&c->movers);
	path.limit = recv_window_limit(c->sum - own, movers);
	path.share = recv_window_fair(movers, false);
	one->share = recv_window_is_short(c->sum) ? recv_window_share(movers) :
						    0;
	receive(one, one->w.left);
	recv_window_consume(&one->w, one->w.waiting);
	adjust(one, &path);
	c->sum += kept_by(&one->w) - own;
	assert_true(c->sum <= window_sum_max(c->n));
}

/* All move data: soon their windows are equal, on a short path (where none
 * proves that it needs more) and on a long one, where the first grew while it
 * was alone. */
static void
test_equal_shares(void **state)
{
	static const size_t numbers[] = { 2, 10, 100, 1000, 9000 };
	static const uint64_t rtts[] = { 50, 100 * 1000 };
	static struct crowd c;

	(void)state;
	for (size_t k = 0; k < 2 * ARRAY_LEN(numbers); k++) {
		uint64_t rtt_us = rtts[k % 2];
		uint32_t least = UINT32_MAX, most = 0;

		open_crowd(&c, numbers[k / 2]);
		for (int i = 0; i < 40; i++, c.now_ms += 100)
			use(&c, 0, rtt_us);
		for (int turn = 0; turn < 60; turn++, c.now_ms += 100)
			for (size_t i = 0; i < c.n; i++)
				use(&c, i, rtt_us);
		for (size_t i = 0; i < c.n; i++) {
			least = MIN(least, c.m[i].w.max);
			most = MAX(most, c.m[i].w.max);
		}
		/* More than that have no more than the least each. */
		if (c.n <= 1000)
			assert_true(most - least <= least / 8);
		assert_true(least >= recv_window_share(c.n) / 2 ||
		    least == CHANNEL_WINDOW_DEFAULT);
	}
}

/* A thousand that idle do not keep one on a long path from growing, nor do
 * those that have just stopped. */
static void
test_idle_ones_do_not_starve_one(void **state)
{
	static struct crowd c;

	(void)state;
	open_crowd(&c, 1000);
	for (int i = 0; i < 100; i++, c.now_ms += 100)
		use(&c, 999, 100 * 1000);
	assert_true(c.m[999].w.max > (7 << 20));
	open_crowd(&c, 20);
	for (int turn = 0; turn < 50; turn++, c.now_ms += 100)
		for (size_t i = 0; i < c.n; i++)
			use(&c, i, 100 * 1000);
	for (int i = 0; i < 50; i++, c.now_ms += 100)
		use(&c, 0, 100 * 1000);
	assert_int_equal(recv_movers_count(&c.movers), 1);
	assert_true(c.m[0].w.max >= CHANNEL_WINDOW_DEFAULT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_next),
		cmocka_unit_test(test_window_rested),
		cmocka_unit_test(test_window_first),
		cmocka_unit_test(test_window_of_many),
		cmocka_unit_test(test_invariant),
		cmocka_unit_test(test_fixed_stays),
		cmocka_unit_test(test_budget_of_many),
		cmocka_unit_test(test_movers),
		cmocka_unit_test(test_equal_shares),
		cmocka_unit_test(test_idle_ones_do_not_starve_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
