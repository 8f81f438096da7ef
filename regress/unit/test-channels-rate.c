/* SPDX-License-Identifier: ISC */
/* Rates of channels: bulk keeps to them in both directions, keystrokes do not
 * wait, and what was moved is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "channels-rate.h"
#include "regress/unit/channels-host.h"

enum { RATE = 1000 * 1000, MOST_MS = 60 * 1000 };

struct party {
	uint64_t gives, arrived;
};

static ssize_t
party_read(void *arg, uint8_t *p, size_t max)
{
	struct party *q = arg;
	size_t n = (size_t)MIN((uint64_t)max, q->gives);

	if (n == 0)
		return ERR_AGAIN;
	memset(p, 'x', n);
	q->gives -= n;
	return (ssize_t)n;
}

static ssize_t
party_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct party *q = arg;

	(void)ext;
	(void)p;
	q->arrived += len;
	return (ssize_t)len;
}

static const struct channel_io party_io = { .read = party_read,
	.write = party_write };

static void
open_pair(struct world *w, struct party *from, struct party *to)
{
	int before = w->a.opened;

	world_open_session(w);
	for (int i = 0; i < 20 && w->a.opened == before; i++)
		assert_int_equal(world_run(w, 1), 0);
	channel_set_io(w->a.ch, &party_io, from);
	channel_set_io(w->b.ch, &party_io, to);
	assert_int_equal(world_run(w, 2), 0);
}

/* Milliseconds until so many bytes have arrived. */
static uint64_t
time_for(struct world *w, const struct party *to, uint64_t bytes)
{
	uint64_t began = clock_ms();

	while (to->arrived < bytes) {
		assert_int_equal(world_run(w, 1), 0);
		clock_sleep_us(100);
		assert_true(clock_ms() - began < MOST_MS);
	}
	return clock_ms() - began;
}

/* Half a second's worth takes most of that. */
static void
test_out(void **state)
{
	struct party from = { 0 }, to = { 0 };
	struct channels_moved m;
	struct world w;

	(void)state;
	world_open(&w);
	open_pair(&w, &from, &to);
	(void)channels_take_moved(w.a.chs);
	channels_set_rate(w.a.chs, CHANNELS_OUT, RATE);
	from.gives = UINT64_MAX;
	channel_wake(w.a.ch);
	assert_true(time_for(&w, &to, RATE / 2) >= 300);
	m = channels_take_moved(w.a.chs);
	assert_true(m.held[CHANNELS_OUT] && !m.held[CHANNELS_IN]);
	assert_true(m.bytes[CHANNELS_OUT] >= RATE / 2);
	assert_int_equal(m.bytes[CHANNELS_IN], 0);
	assert_true(channels_take_moved(w.b.chs).bytes[CHANNELS_IN] >=
	    RATE / 2);
	/* Another rate holds at once, also for what waits. */
	channels_set_rate(w.a.chs, CHANNELS_OUT, 1000);
	to.arrived = 0;
	channels_set_rate(w.a.chs, CHANNELS_OUT, BUCKET_NO_LIMIT);
	(void)time_for(&w, &to, 4 * (uint64_t)RATE);
	world_close(&w);
}

/* The peer is given no more than its window and the rate. */
static void
test_in(void **state)
{
	struct party from = { 0 }, to = { 0 };
	struct world w;
	uint64_t took;

	(void)state;
	world_open(&w);
	open_pair(&w, &from, &to);
	channels_set_rate(w.b.chs, CHANNELS_IN, RATE);
	from.gives = UINT64_MAX;
	channel_wake(w.a.ch);
	took = time_for(&w, &to, w.b.ch->window.max + RATE / 2);
	assert_true(took >= 300);
	assert_true(channels_take_moved(w.b.chs).held[CHANNELS_IN]);
	channels_set_rate(w.b.chs, CHANNELS_IN, BUCKET_NO_LIMIT);
	(void)time_for(&w, &to, to.arrived + 4 * (uint64_t)RATE);
	world_close(&w);
}

static void
test_interactive(void **state)
{
	struct party bulk = { .gives = UINT64_MAX }, got = { 0 };
	struct party keys = { 0 }, shown = { 0 };
	struct channel *key;
	struct world w;

	(void)state;
	world_open(&w);
	open_pair(&w, &bulk, &got);
	channel_wake(w.a.ch);
	open_pair(&w, &keys, &shown);
	key = w.a.ch;
	channel_set_interactive(key, true);
	/* The first packet is a debt of a minute at least. */
	channels_set_rate(w.a.chs, CHANNELS_OUT, 100);
	got.arrived = 0;
	assert_int_equal(world_run(&w, 5), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		keys.gives = 1;
		channel_wake(key);
		(void)time_for(&w, &shown, i);
	}
	assert_int_equal(channels_take_moved(w.a.chs).held[CHANNELS_OUT],
	    true);
	world_close(&w);
}

/* A channel that is called interactive, and is bulk: beyond a little it keeps
 * to the rate, and counts. */
static void
test_interactive_bulk(void **state)
{
	struct party from = { 0 }, to = { 0 };
	struct channels_moved m;
	struct world w;
	uint64_t began, ms, most;

	(void)state;
	world_open(&w);
	open_pair(&w, &from, &to);
	channel_set_interactive(w.a.ch, true);
	channels_set_rate(w.a.chs, CHANNELS_OUT, RATE);
	from.gives = UINT64_MAX;
	channel_wake(w.a.ch);
	assert_true(time_for(&w, &to, RATE / 2) >= 250);
	m = channels_take_moved(w.a.chs);
	assert_true(m.held[CHANNELS_OUT]);
	assert_true(m.bytes[CHANNELS_OUT] >= RATE / 4);
	/* Where bulk has left nothing, the little is all there is. */
	channels_set_rate(w.a.chs, CHANNELS_OUT, 1);
	to.arrived = 0;
	began = clock_ms();
	while (clock_ms() - began < 500) {
		assert_int_equal(world_run(&w, 1), 0);
		clock_sleep_us(100);
	}
	ms = clock_ms() - began;
	most = 3 * (uint64_t)CHANNEL_PACKET_LARGE +
	    CHANNELS_RATE_CALM * ms / 1000;
	assert_in_range(to.arrived, 1, most);
	world_close(&w);
}

/* The first windows are paid for, too: of each channel the peer has only a
 * little before. */
static void
test_first_windows(void **state)
{
	enum { CHANNELS = 20 };
	struct party from[CHANNELS] = { 0 }, to[CHANNELS] = { 0 };
	uint64_t sum = 0, began, ms;
	struct world w;

	(void)state;
	world_open(&w);
	channels_set_rate(w.b.chs, CHANNELS_IN, RATE);
	began = clock_ms();
	for (int i = 0; i < CHANNELS; i++) {
		open_pair(&w, &from[i], &to[i]);
		from[i].gives = UINT64_MAX;
		channel_wake(w.a.ch);
	}
	assert_int_equal(world_run(&w, 5), 0);
	ms = clock_ms() - began;
	for (int i = 0; i < CHANNELS; i++)
		sum += to[i].arrived;
	assert_in_range(sum, 1, CHANNELS * CHANNELS_RATE_FIRST + 96 * 1024 +
	    RATE * ms / 1000);
	/* The rest comes, in its time. */
	for (int i = 0; i < CHANNELS; i++)
		(void)time_for(&w, &to[i], CHANNELS_RATE_FIRST + 20000);
	world_close(&w);
}

/* What was given and not used is there for others, when a channel ends. */
static void
test_unused_window(void **state)
{
	struct party from = { 0 }, to = { 0 };
	struct world w;
	struct bucket *b;
	int64_t before;

	(void)state;
	world_open(&w);
	channels_set_rate(w.b.chs, CHANNELS_IN, 100);
	open_pair(&w, &from, &to);
	b = &w.b.chs->rate.bucket[CHANNELS_IN];
	before = b->left;
	assert_true(before < 0);
	channel_close(w.a.ch, false);
	channel_close(w.b.ch, false);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(channels_count(w.b.chs), 0);
	assert_true(b->left > before + CHANNELS_RATE_FIRST - 100);
	world_close(&w);
}

static void
note(void *arg)
{
	++*(int *)arg;
}

static void
test_is_told_of_the_first(void **state)
{
	struct party from = { 0 }, to = { 0 };
	struct world w;
	int told = 0;

	(void)state;
	world_open(&w);
	open_pair(&w, &from, &to);
	channels_on_move(w.a.chs, note, &told);
	channels_on_move(w.b.chs, note, &told);
	assert_int_equal(told, 0);
	from.gives = 200;
	channel_wake(w.a.ch);
	(void)time_for(&w, &to, 200);
	assert_int_equal(told, 2);
	from.gives = 1;
	channel_wake(w.a.ch);
	(void)time_for(&w, &to, 201);
	assert_int_equal(told, 2);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_out),
		cmocka_unit_test(test_in), cmocka_unit_test(test_interactive),
		cmocka_unit_test(test_interactive_bulk),
		cmocka_unit_test(test_first_windows),
		cmocka_unit_test(test_unused_window),
		cmocka_unit_test(test_is_told_of_the_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
