/* SPDX-License-Identifier: ISC */
/*
 * How much is kept follows models of paths: a long one is as fast as if nothing
 * were kept, from its first round trip on and in later trials; little is kept
 * where more is no faster, also after a first round trip that took long because
 * the machine was busy.
 */
#include "regress/unit/help.h"

#include "base/mem.h"
#include "packet-internal.h"

enum { MIB = 1024 * 1024, GRANT = 32 * MIB, STEP_MS = 10 };

/* A path: bytes a second that it carries, and its round trip. */
struct path {
	uint64_t rate, rtt_ms;
};

static const struct path loopback = { 1500u * 1000 * 1000, 0 };
static const struct path far = { 125u * 1000 * 1000, 100 };
static const struct path fast = { 1250u * 1000 * 1000, 20 };
static const struct path farther = { 1250u * 1000 * 1000, 300 };

struct run {
	struct packet_keep_pace t;
	uint64_t now_ms, acked;
	uint64_t possible;	  /* bytes, if nothing waited */
	uint64_t kept_sum, steps; /* of limits, to see their mean */
};

static void
begin(struct run *r, uint64_t first_trip_ms)
{
	*r = (struct run){ .now_ms = 1000 };
	packet_keep_pace_begin(&r->t, GRANT, r->now_ms);
	packet_keep_pace_round_trip(&r->t, first_trip_ms);
}

/* Sends all that the limit and the path allow. The rate differs by noise
 * percent from one window to the next. */
static void
run_for(struct run *r, const struct path *p, uint64_t ms, unsigned noise)
{
	r->acked = r->possible = r->kept_sum = r->steps = 0;
	r->t.start_acked = 0;
	for (uint64_t end = r->now_ms + ms; r->now_ms < end;) {
		uint64_t rate = p->rate, most = UINT64_MAX;

		if (p->rtt_ms > 0)
			most = r->t.limit * 1000 / p->rtt_ms;
		rate -= rate * (r->now_ms / 130 % 3) * noise / 300;
		r->acked += MIN(rate, most) * STEP_MS / 1000;
		r->possible += rate * STEP_MS / 1000;
		r->now_ms += STEP_MS;
		packet_keep_pace_acked(&r->t, r->acked, r->t.limit < GRANT,
		    r->now_ms);
		r->kept_sum += r->t.limit;
		r->steps++;
	}
}

static void
assert_percent(const struct run *r, unsigned percent)
{
	assert_true(r->acked >= r->possible / 100 * percent);
}

static void
test_long_path(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 104);
	run_for(&r, &far, 5000, 10);
	assert_percent(&r, 100);
	run_for(&r, &far, 120 * 1000, 10);
	assert_percent(&r, 99);
}

static void
test_fast_path(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 21);
	assert_true(r.t.limit < GRANT);
	run_for(&r, &fast, 5000, 10);
	assert_percent(&r, 94);
}

static void
test_loopback(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 1);
	run_for(&r, &loopback, 300 * 1000, 20);
	assert_true(r.kept_sum / r.steps < 5 * MIB / 4);
}

/* The first round trip took long, because the machine was busy. */
static void
test_busy_at_first(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 60);
	assert_true(r.t.limit == GRANT);
	run_for(&r, &loopback, 60 * 1000, 20);
	assert_true(r.t.limit <= 2 * MIB);
	run_for(&r, &loopback, 300 * 1000, 20);
	assert_true(r.kept_sum / r.steps < 5 * MIB / 4);
}

static void
test_comes_down(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 104);
	run_for(&r, &far, 10 * 1000, 10);
	run_for(&r, &loopback, 90 * 1000, 10);
	assert_true(r.t.limit <= 2 * MIB);
	run_for(&r, &far, 130 * 1000, 10);
	assert_true(r.t.limit > 6 * MIB);
}

/* Until a window was measured, a shorter round trip tells more. */
static void
test_shortest_trip(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 1000);
	assert_true(r.t.limit == GRANT);
	packet_keep_pace_round_trip(&r.t, 2);
	assert_true(r.t.limit < 2 * MIB);
	packet_keep_pace_round_trip(&r.t, 100);
	assert_true(r.t.limit < 2 * MIB);
	run_for(&r, &fast, 60 * 1000, 10);
	assert_true(r.t.limit > 16 * MIB);
	packet_keep_pace_round_trip(&r.t, 0);
	assert_true(r.t.limit > 16 * MIB);
}

static void
test_grant(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 1000 * 1000);
	run_for(&r, &farther, 100 * 1000, 10);
	assert_true(r.t.limit <= GRANT && r.t.limit > GRANT / 4);
	packet_keep_pace_limit(&r.t, MIB);
	assert_int_equal(r.t.limit, MIB);
	packet_keep_pace_begin(&r.t, 1000, 0);
	assert_int_equal(r.t.limit, 1000);
	packet_keep_pace_round_trip(&r.t, 0);
	assert_int_equal(r.t.limit, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_fast_path),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_busy_at_first),
		cmocka_unit_test(test_comes_down),
		cmocka_unit_test(test_shortest_trip),
		cmocka_unit_test(test_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
