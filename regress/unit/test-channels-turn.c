/* SPDX-License-Identifier: ISC */
/* Turns with many channels: who is looked at, who is served first and how
 * fairly, and what stopped ones cost the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "regress/unit/channels-host.h"
#include "regress/unit/dice.h"
#include "regress/unit/window-sum.h"

enum { MANY = 1000, BULKS = 7, TURNS = 300, CHUNK = 1 << 20 };

/* A source that never ends (or has so many bytes), and a sink that counts what
 * it takes. The sinks of a test note in common what arrived so far. */
struct party {
	struct channel *c;
	uint64_t read, arrived, looks;
	uint64_t gives; /* bytes that the source still has */
	size_t at_once; /* the most bytes that a read gets; 0: any number */
	bool stopped;	/* the sink takes nothing */
	uint64_t *common; /* bytes that arrived anywhere */
	uint64_t seen;	  /* common when it got its last bytes */
};

static ssize_t
party_read(void *arg, uint8_t *p, size_t max)
{
	struct party *q = arg;
	size_t n = (size_t)MIN((uint64_t)max, q->gives);

	if (q->at_once != 0)
		n = MIN(n, q->at_once);
	q->looks++;
	if (n == 0)
		return ERR_AGAIN;
	memset(p, 'x', n);
	q->gives -= n;
	q->read += n;
	return (ssize_t)n;
}

static ssize_t
party_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct party *q = arg;

	(void)ext;
	(void)p;
	if (q->stopped)
		return ERR_AGAIN;
	q->arrived += len;
	if (q->common != NULL)
		q->seen = *q->common += len;
	return (ssize_t)len;
}

static const struct channel_io party_io = { .read = party_read,
	.write = party_write };

/* a's end reads from one party, b's writes to the other. */
struct pair {
	struct party from, to;
};

static void
open_pair(struct world *w, struct pair *p)
{
	int before = w->a.opened;

	world_open_session(w);
	for (int i = 0; i < 20 && w->a.opened == before; i++)
		assert_int_equal(world_run(w, 1), 0);
	assert_int_equal(w->a.opened, before + 1);
	p->from.c = w->a.ch;
	p->to.c = w->b.ch;
	channel_set_io(p->from.c, &party_io, &p->from);
	channel_set_io(p->to.c, &party_io, &p->to);
	assert_int_equal(world_run(w, 2), 0);
}

/* A turn looks at the channels with which something happened, and at no
 * others. */
static void
test_idle_ones_are_left_alone(void **state)
{
	static struct pair pairs[MANY];
	uint64_t before[MANY];
	struct world w;

	(void)state;
	world_open(&w);
	memset(pairs, 0, sizeof pairs);
	for (int i = 0; i < MANY; i++)
		open_pair(&w, &pairs[i]);
	assert_null(w.a.chs->active.first);
	for (int i = 0; i < MANY; i++)
		before[i] = pairs[i].from.looks;
	pairs[500].from.gives = CHUNK;
	channel_wake(pairs[500].from.c);
	assert_ptr_equal(w.a.chs->active.first, pairs[500].from.c);
	assert_ptr_equal(w.a.chs->active.last, pairs[500].from.c);
	for (int i = 0; i < 100 && pairs[500].to.arrived < CHUNK; i++)
		assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(pairs[500].to.arrived, CHUNK);
	for (int i = 0; i < MANY; i++)
		if (i != 500)
			assert_int_equal(pairs[i].from.looks, before[i]);
	assert_int_equal(world_run(&w, 2), 0);
	assert_null(w.a.chs->active.first);
	assert_null(w.b.chs->active.first);
	world_close(&w);
}

/* What is counted along is what a look at all of them would find. */
static void
check_counts(const struct channels *chs)
{
	size_t count = 0, sink = 0;
	uint64_t offered = 0;

	for (size_t i = 0; i < chs->n; i++) {
		const struct channel *c = chs->v[i];

		if (c == NULL)
			continue;
		count++;
		offered += (uint64_t)c->window.max + c->window.withheld;
		sink += c->sink[0].queue.len > 0;
	}
	assert_int_equal(count, chs->count);
	assert_int_equal(offered, chs->offered);
	assert_int_equal(sink, chs->waiting_sink);
	assert_true(offered <= window_sum_max(count));
}

/* Channels come, move data, stop, go on and go; whatever happens, nobody who
 * has something to do is forgotten. */
static void
test_nobody_is_forgotten(void **state)
{
	enum { SOME = 40, STEPS = 4000 };
	struct pair p[SOME];
	struct world w;
	struct dice dice = { 1 };

	(void)state;
	memset(p, 0, sizeof p);
	world_open(&w);
	for (int i = 0; i < STEPS; i++) {
		struct pair *one;

		one = &p[dice_below(&dice, SOME)];
		if (one->from.c == NULL) {
			open_pair(&w, one);
		} else if (dice_below(&dice, 50) == 0) {
			channel_leave(one->from.c);
			channel_leave(one->to.c);
			*one = (struct pair){ .from = { .c = NULL } };
		} else if (dice_below(&dice, 3) == 0) {
			one->to.stopped = !one->to.stopped;
			if (!one->to.stopped)
				channel_wake(one->to.c);
		} else {
			one->from.gives += dice_below(&dice, 300000);
			channel_wake(one->from.c);
		}
		/* What the kernel would say of a path of 1 ms. */
		w.b.chs->rtt_us = 1000;
		w.b.chs->rcvbuf = 4 * CHUNK;
		w.b.chs->sampled_ms = clock_ms();
		assert_int_equal(world_run(&w, 1), 0);
		check_counts(w.a.chs);
		check_counts(w.b.chs);
	}
	for (int i = 0; i < SOME; i++) {
		if (p[i].from.c == NULL)
			continue;
		p[i].to.stopped = false;
		channel_wake(p[i].to.c);
	}
	assert_int_equal(world_run(&w, 2000), 0);
	for (int i = 0; i < SOME; i++) {
		assert_int_equal(p[i].from.gives, 0);
		assert_int_equal(p[i].to.arrived, p[i].from.read);
	}
	assert_null(w.a.chs->active.first);
	assert_null(w.b.chs->active.first);
	world_close(&w);
}

/* Bulk of several channels: at any time none has had more than a few packets
 * more than another. */
static void
test_equal_shares(void **state)
{
	struct pair p[BULKS];
	uint64_t least, most;
	struct world w;

	(void)state;
	memset(p, 0, sizeof p);
	world_open(&w);
	for (int i = 0; i < BULKS; i++)
		open_pair(&w, &p[i]);
	for (int i = 0; i < BULKS; i++) {
		p[i].from.gives = UINT64_MAX;
		channel_wake(p[i].from.c);
	}
	for (int turn = 0; turn < TURNS; turn++) {
		assert_int_equal(world_run(&w, 1), 0);
		least = most = p[0].from.read;
		for (int i = 1; i < BULKS; i++) {
			least = MIN(least, p[i].from.read);
			most = MAX(most, p[i].from.read);
		}
		assert_in_range(most - least, 0, 4 * CHANNEL_PACKET_DEFAULT);
	}
	assert_true(least > 2 * CHUNK);
	world_close(&w);
}

/* Sources of which less can be read at once, as pipes that hold less, do not
 * get less. */
static void
test_equal_bytes(void **state)
{
	enum { NARROW = 16 * 1024 };
	struct pair p[BULKS];
	uint64_t least = UINT64_MAX, most = 0;
	struct world w;

	(void)state;
	memset(p, 0, sizeof p);
	world_open(&w);
	for (int i = 0; i < BULKS; i++) {
		open_pair(&w, &p[i]);
		p[i].from.at_once = i % 2 == 0 ? NARROW : 0;
	}
	for (int i = 0; i < BULKS; i++) {
		p[i].from.gives = UINT64_MAX;
		channel_wake(p[i].from.c);
	}
	assert_int_equal(world_run(&w, TURNS), 0);
	for (int i = 0; i < BULKS; i++) {
		least = MIN(least, p[i].from.read);
		most = MAX(most, p[i].from.read);
	}
	assert_true(least > 2 * CHUNK);
	assert_in_range(most - least, 0, least / 8);
	world_close(&w);
}

/* A keystroke among bulk: what arrives between the moment when it can be read
 * and its own arrival is no more than may wait for the socket, and what the
 * socket holds. */
static void
test_interactive_first(void **state)
{
	enum { BOUND = 2 * 1024 * 1024, KEYS = 50, BULK = 60 };
	struct pair key, p[BULK];
	uint64_t common = 0, begin;
	struct world w;

	(void)state;
	memset(p, 0, sizeof p);
	memset(&key, 0, sizeof key);
	world_open(&w);
	open_pair(&w, &key);
	channel_set_interactive(key.from.c, true);
	key.to.common = &common;
	for (int i = 0; i < BULK; i++) {
		open_pair(&w, &p[i]);
		p[i].to.common = &common;
		p[i].from.gives = UINT64_MAX;
		channel_wake(p[i].from.c);
	}
	for (int i = 1; i <= KEYS; i++) {
		assert_int_equal(world_run(&w, 5), 0);
		key.from.gives = 1;
		begin = common;
		channel_wake(key.from.c);
		for (int k = 0; k < 100 && key.to.arrived < (uint64_t)i; k++)
			assert_int_equal(world_run(&w, 1), 0);
		assert_int_equal(key.to.arrived, i);
		assert_in_range(key.to.seen - begin, 1, BOUND);
	}
	assert_true(common > 10 * CHUNK);
	world_close(&w);
}

/* A sink that stops costs its window and no more, and the others go on. */
static void
test_stopped_sink_stops_alone(void **state)
{
	struct pair stopped = { .to = { .stopped = true } }, other;
	struct world w;

	(void)state;
	memset(&other, 0, sizeof other);
	world_open(&w);
	open_pair(&w, &stopped);
	open_pair(&w, &other);
	stopped.from.gives = other.from.gives = UINT64_MAX;
	channel_wake(stopped.from.c);
	channel_wake(other.from.c);
	assert_int_equal(world_run(&w, TURNS), 0);
	assert_int_equal(stopped.to.arrived, 0);
	assert_int_equal(stopped.from.read, CHANNEL_WINDOW_DEFAULT);
	assert_int_equal(stopped.to.c->sink[0].queue.len,
	    CHANNEL_WINDOW_DEFAULT);
	assert_true(other.to.arrived > 10 * CHUNK);
	/* And it has lost nothing when it goes on. */
	stopped.from.gives = 0;
	stopped.to.stopped = false;
	channel_wake(stopped.to.c);
	assert_int_equal(world_run(&w, 10), 0);
	assert_int_equal(stopped.to.arrived, CHANNEL_WINDOW_DEFAULT);
	world_close(&w);
}

/* Whoever comes when others have large windows gets as large a one, and so
 * does as well: ten that send all the time, from the first to the last. */
static void
test_equal_windows(void **state)
{
	enum { TEN = 10 };
	struct pair p[TEN];
	uint64_t least = UINT64_MAX, most = 0;
	struct world w;

	(void)state;
	memset(p, 0, sizeof p);
	world_open(&w);
	for (int i = 0; i < TEN; i++) {
		open_pair(&w, &p[i]);
		p[i].from.gives = UINT64_MAX;
		channel_wake(p[i].from.c);
	}
	assert_true(p[TEN - 1].to.c->window.max < CHANNEL_WINDOW_DEFAULT);
	assert_int_equal(world_run(&w, TURNS), 0);
	for (int i = 0; i < TEN; i++) {
		least = MIN(least, p[i].to.c->window.max);
		most = MAX(most, p[i].to.c->window.max);
	}
	assert_int_equal(least, most);
	world_close(&w);
}

/* A turn serves the first in the row, as far as there is room, and is not
 * about the others; in the end all were served equally often. */
static void
test_row_of_many(void **state)
{
	enum { SOME = 500, ROUNDS = 4 };
	static struct pair p[SOME];
	uint64_t before[SOME], sum = 0, least, most;
	struct world w;

	(void)state;
	memset(p, 0, sizeof p);
	world_open(&w);
	for (int i = 0; i < SOME; i++) {
		open_pair(&w, &p[i]);
		p[i].from.gives = UINT64_MAX;
		channel_wake(p[i].from.c);
	}
	assert_int_equal(world_run(&w, 200), 0);
	for (int i = 0; i < SOME; i++)
		before[i] = p[i].from.looks;
	for (int turn = 0; turn < 4000 && sum < ROUNDS * SOME; turn++) {
		assert_int_equal(world_run(&w, 1), 0);
		assert_null(w.a.chs->active.first);
		sum = 0;
		for (int i = 0; i < SOME; i++)
			sum += p[i].from.looks - before[i];
	}
	assert_true(sum >= ROUNDS * SOME);
	least = UINT64_MAX;
	most = 0;
	for (int i = 0; i < SOME; i++) {
		least = MIN(least, p[i].from.looks - before[i]);
		most = MAX(most, p[i].from.looks - before[i]);
	}
	assert_in_range(most - least, 0, 2 * ROUNDS);
	assert_true(least > 0);
	world_close(&w);
}

/* Numbers that are read and written one after the other; each call first wakes
 * the channel and moves nothing. */
struct counting {
	struct channel *c;
	uint32_t next, end;
	bool stopped, woke;
};

static bool
wakes_first(struct counting *q)
{
	q->woke = !q->woke;
	if (q->woke)
		channel_wake(q->c);
	return q->woke;
}

static ssize_t
counting_read(void *arg, uint8_t *p, size_t max)
{
	struct counting *q = arg;

	if (q->next == q->end || max < 4 || wakes_first(q))
		return ERR_AGAIN;
	wire_put_u32(p, q->next++);
	return 4;
}

static ssize_t
counting_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct counting *q = arg;

	(void)ext;
	if (q->stopped || wakes_first(q))
		return q->next % 2 == 0 ? ERR_AGAIN : 0;
	assert_true(len >= 4);
	assert_int_equal(wire_get_u32(p), q->next++);
	return 4;
}

/* A wake that a read or a write itself leads to is not lost, and brings nothing
 * twice: neither at once nor when what was queued is written. */
static void
test_woken_from_within(void **state)
{
	static const struct channel_io io = { .read = counting_read,
		.write = counting_write };
	enum { NUMBERS = 100 };
	struct counting from = { .end = NUMBERS }, to = { .end = 0 };
	struct world w;

	(void)state;
	world_open(&w);
	world_open_session(&w);
	for (int i = 0; i < 20 && w.a.opened == 0; i++)
		assert_int_equal(world_run(&w, 1), 0);
	from.c = w.a.ch;
	to.c = w.b.ch;
	channel_set_io(to.c, &io, &to);
	channel_set_io(from.c, &io, &from);
	for (int i = 0; i < 1000 && to.next < NUMBERS; i++)
		assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(to.next, NUMBERS);

	to.stopped = true;
	from.end = 2 * NUMBERS;
	channel_wake(from.c);
	for (int i = 0; i < 1000 && from.next < from.end; i++)
		assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(world_run(&w, 20), 0);
	assert_int_equal(to.c->sink[0].queue.len, 4 * NUMBERS);
	to.stopped = false;
	channel_wake(to.c);
	assert_int_equal(to.next, 2 * NUMBERS);
	assert_int_equal(to.c->sink[0].queue.len, 0);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_ones_are_left_alone),
		cmocka_unit_test(test_nobody_is_forgotten),
		cmocka_unit_test(test_equal_shares),
		cmocka_unit_test(test_equal_bytes),
		cmocka_unit_test(test_interactive_first),
		cmocka_unit_test(test_stopped_sink_stops_alone),
		cmocka_unit_test(test_equal_windows),
		cmocka_unit_test(test_row_of_many),
		cmocka_unit_test(test_woken_from_within),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-channels-turn", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
