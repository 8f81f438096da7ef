/* SPDX-License-Identifier: ISC */
/*
 * When threads start and stop: some histories, and what is true of every one,
 * told by dice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "regress/unit/dice.h"

enum { MB = 1000 * 1000 };

static void
test_verdicts(void **state)
{
	static const struct {
		const char *what;
		uint64_t now_ms, ms, cpu_ms, bytes, total;
		size_t threads;
		enum packet_verdict want;
	} rows[] = {
		{ "young", 1000, 200, 200, 50 * MB, 50 * MB, 0,
		    PACKET_THREADS_KEEP },
		{ "not busy", 1200, 200, 150, 50 * MB, 100 * MB, 0,
		    PACKET_THREADS_KEEP },
		{ "a long window", 1700, 500, 490, 50 * MB, 150 * MB, 0,
		    PACKET_THREADS_KEEP },
		{ "busy", 1900, 200, 190, 100 * MB, 250 * MB, 0,
		    PACKET_THREADS_START },
		{ "settling", 2100, 200, 190, 50 * MB, 300 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "does not pay", 2300, 200, 190, 104 * MB, 400 * MB, 2,
		    PACKET_THREADS_STOP },
		{ "too early", 2500, 200, 190, 100 * MB, 500 * MB, 0,
		    PACKET_THREADS_KEEP },
		{ "again", 12301, 200, 190, 100 * MB, 600 * MB, 0,
		    PACKET_THREADS_START },
		{ "settling", 12501, 200, 190, 100 * MB, 700 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "pays", 12701, 200, 190, 120 * MB, 820 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "slow 1", 12901, 200, 190, 90 * MB, 910 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "slow 2", 13101, 200, 190, 90 * MB, 1000 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "fast", 13301, 200, 190, 130 * MB, 1130 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "idle 1", 14301, 1000, 0, 100, 1130 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "idle 2", 15301, 1000, 0, 0, 1130 * MB, 2,
		    PACKET_THREADS_KEEP },
		{ "idle 3", 16301, 1000, 0, 0, 1130 * MB, 2,
		    PACKET_THREADS_STOP },
		{ "busy again", 16501, 200, 190, 90 * MB, 1220 * MB, 0,
		    PACKET_THREADS_START },
	};
	struct packet_trial t = { .threads_max = 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet_window w = { .now_ms = rows[i].now_ms,
			.ms = rows[i].ms,
			.cpu_ms = rows[i].cpu_ms,
			.bytes = rows[i].bytes,
			.total = rows[i].total,
			.threads = rows[i].threads };

		if (packet_trial_judge(&t, &w) != rows[i].want)
			fail_msg("%s", rows[i].what);
	}
}

/* Two forms are measured, and the faster one is kept if it pays. */
static void
test_verdicts_of_two(void **state)
{
	enum { KEEP = PACKET_THREADS_KEEP, OTHER = PACKET_THREADS_OTHER,
		STOP = PACKET_THREADS_STOP };
	/* Megabytes of the windows: both of a form, then of the other. */
	static const struct {
		uint64_t mb[6];
		int want[6];
	} rows[] = {
		/* the second is faster */
		{ { 150, 150, 200, 200, 200, 200 },
		    { KEEP, OTHER, KEEP, KEEP, KEEP, KEEP } },
		/* the first is */
		{ { 150, 150, 120, 120, 150, 150 },
		    { KEEP, OTHER, KEEP, OTHER, KEEP, KEEP } },
		/* none is fast enough */
		{ { 90, 90, 101, 101 }, { KEEP, OTHER, KEEP, STOP } },
		{ { 101, 101, 90, 90, 101, 101 },
		    { KEEP, OTHER, KEEP, OTHER, KEEP, STOP } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet_trial t = { .threads_max = 2 };
		struct packet_window w = { .now_ms = 1000,
			.ms = 200,
			.cpu_ms = 200,
			.bytes = 100 * MB,
			.total = 100 * MB };

		assert_int_equal(packet_trial_judge(&t, &w),
		    PACKET_THREADS_START);
		t.has_second = true;
		w.threads = 2;
		for (size_t n = 0; n < 6; n++) {
			w.now_ms += 200;
			w.bytes = rows[i].mb[n] * MB;
			if (packet_trial_judge(&t, &w) !=
			    (enum packet_verdict)rows[i].want[n])
				fail_msg("row %zu, window %zu", i, n);
			if (rows[i].want[n] == STOP)
				break;
		}
	}
}

/* ---- what is always true ----------------------------------------------- */

static void
test_phases(void **state)
{
	(void)state;
	for (int from = 0; from <= PACKET_KEEP_KEYSTREAM; from++) {
		assert_false(packet_phase_may_become(from, from));
		/* Threads may end at any time, and begin with a trial. */
		assert_int_equal(packet_phase_may_become(from, PACKET_SERIAL),
		    from != PACKET_SERIAL);
		assert_int_equal(packet_phase_may_become(PACKET_SERIAL, from),
		    from == PACKET_TRY_PIPELINE);
		/* What is kept is kept until there are none. */
		if (from == PACKET_KEEP_PIPELINE ||
		    from == PACKET_KEEP_KEYSTREAM) {
			assert_false(packet_phase_may_become(from,
			    PACKET_TRY_PIPELINE));
			assert_false(packet_phase_may_become(from,
			    PACKET_TRY_KEYSTREAM));
		}
	}
}

/* A connection, as far as the judge knows it. */
struct history {
	struct packet_trial t;
	struct packet_window w;
	uint64_t not_before_ms; /* after threads that did not pay */
	unsigned others;	/* changes of form since the start */
};

static void
next_window(struct history *h, struct dice *dice)
{
	struct packet_window *w = &h->w;

	w->ms = PACKET_WINDOW_MS + dice_below(dice, 300);
	if (dice_below(dice, 50) == 0)
		w->ms += dice_below(dice, 60 * 1000);
	w->now_ms += w->ms;
	w->cpu_ms = w->ms * (50 + dice_below(dice, 51)) / 100;
	w->bytes = dice_below(dice, 10) == 0 ?
	    dice_below(dice, 2 * 1024 * 1024) :
	    w->ms * (100 + dice_below(dice, 500)) * 1000;
	w->total += w->bytes;
	/* A child after fork(2) has none, and nobody said so. */
	if (dice_below(dice, 100) == 0)
		w->threads = 0;
}

static void
check_start(struct history *h, struct dice *dice)
{
	const struct packet_window *w = &h->w;

	assert_true(h->t.threads_max > 0);
	assert_int_equal(w->threads, 0);
	assert_true(w->now_ms >= h->not_before_ms);
	assert_true(w->cpu_ms * 100 >= w->ms * 80);
	assert_true(w->total >= 64 * 1024 * 1024);
	assert_int_equal(h->t.phase, PACKET_TRY_PIPELINE);
	h->others = 0;
	h->t.has_second = dice_below(dice, 2) == 0;
	if (dice_below(dice, 8) == 0) {
		packet_trial_give_up(&h->t, w->now_ms);
		h->not_before_ms = h->t.retry_ms;
	} else {
		h->w.threads = 2;
	}
}

static void
check_stop(struct history *h, uint64_t retry_before_ms)
{
	assert_true(h->w.threads > 0);
	assert_int_equal(h->t.phase, PACKET_SERIAL);
	h->w.threads = 0;
	if (h->t.retry_ms == retry_before_ms)
		return; /* they idled */
	assert_in_range(h->t.retry_ms - h->w.now_ms, PACKET_BACKOFF_FIRST_MS,
	    PACKET_BACKOFF_MAX_MS);
	h->not_before_ms = h->t.retry_ms;
}

static unsigned
tell(struct history *h, struct dice *dice)
{
	enum packet_phase before = h->t.phase;
	uint64_t retry_ms = h->t.retry_ms;
	unsigned starts = 0;

	next_window(h, dice);
	if (h->w.threads == 0)
		before = PACKET_SERIAL;
	switch (packet_trial_judge(&h->t, &h->w)) {
	case PACKET_THREADS_START:
		check_start(h, dice);
		starts = 1;
		break;
	case PACKET_THREADS_OTHER:
		assert_true(h->t.has_second);
		assert_in_range(++h->others, 1, 2);
		assert_int_equal(h->t.phase, h->others == 1 ?
		    PACKET_TRY_KEYSTREAM : PACKET_KEEP_PIPELINE);
		break;
	case PACKET_THREADS_STOP:
		check_stop(h, retry_ms);
		break;
	case PACKET_THREADS_KEEP:
		break;
	}
	assert_true(h->t.phase == before || starts ||
	    packet_phase_may_become(before, h->t.phase));
	assert_int_equal(h->t.phase == PACKET_SERIAL, h->w.threads == 0);
	return starts;
}

static void
test_histories(void **state)
{
	unsigned starts = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct dice dice = { seed };
		struct history h = { .t.threads_max = seed % 4,
			.w.now_ms = 1000 };
		unsigned mine = 0;

		for (int i = 0; i < 2000; i++)
			mine += tell(&h, &dice);
		assert_int_equal(mine > 0, seed % 4 != 0);
		starts += mine;
	}
	assert_true(starts > 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_verdicts_of_two),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_histories),
	};

	log_init("test-packet-trial", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
