/* SPDX-License-Identifier: ISC */
/* When keystrokes leave: whatever is typed, a watcher sees one write a tick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "client/session/keystrokes.h"

enum { MS = 20, US = 1000, KEY_BYTES = 60, STEPS = 200000 };

/* A terminal, its keystrokes, and what a watcher of the network sees. */
struct story {
	struct keystrokes k;
	struct keystrokes_now now;
	uint64_t wait_us;
	uint32_t dice;
};

static uint32_t
roll(struct story *s)
{
	s->dice = s->dice * 1103515245u + 12345u;
	return s->dice ^ s->dice >> 15;
}

static void
begin(struct story *s, uint32_t interval_ms)
{
	*s = (struct story){ .dice = 7 };
	keystrokes_init(&s->k, interval_ms);
	s->now = (struct keystrokes_now){ .us = 5000000, .terminal = true,
		.chaff = true };
}

static enum keystrokes_verdict
step(struct story *s, bool typed)
{
	enum keystrokes_verdict v;

	if (typed)
		s->now.pending += KEY_BYTES;
	s->now.typed = typed;
	s->now.random = roll(s) << 16 | (roll(s) & 0xffff);
	v = keystrokes_decide(&s->k, &s->now, &s->wait_us);
	if (v != KEYSTROKES_HOLD)
		s->now.pending = 0;
	return v;
}

static void
after(struct story *s, uint64_t us)
{
	s->now.us += us;
}

/* Between the first key and the end of chaff there is one write in each tick,
 * however keys are pressed, and no key waits longer than one. */
static void
test_one_write_a_tick(void **state)
{
	struct story s;
	uint64_t last = 0, pressed = 0, gap, writes = 0;
	bool was_active;

	(void)state;
	begin(&s, MS);
	for (int i = 0; i < STEPS; i++) {
		bool typed = roll(&s) % 200 == 0;
		bool full = s.now.pending > 400; /* one more is too much */
		enum keystrokes_verdict v;

		after(&s, roll(&s) % US);
		was_active = s.k.active;
		if (typed && s.now.pending == 0)
			pressed = s.now.us;
		v = step(&s, typed && !full);
		if (v == KEYSTROKES_HOLD) {
			assert_in_range(s.wait_us, 1, MS * US * 11 / 10);
			if (s.now.pending > 0)
				assert_true(s.now.us - pressed <=
				    MS * US * 11 / 10);
			continue;
		}
		if (was_active && s.k.active) {
			gap = s.now.us - last;
			/* A turn may come 1 ms late, and the next on time. */
			assert_in_range(gap, MS * US * 9 / 10 - US,
			    MS * US * 11 / 10 + US);
			writes++;
		}
		last = s.now.us;
	}
	assert_true(writes > 1000);
}

/* At once: the first key, what is no typing, and all when it is off. */
static void
test_never_held(void **state)
{
	struct story s;

	(void)state;
	begin(&s, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	begin(&s, MS);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(step(&s, false), KEYSTROKES_WRITE);
		assert_int_equal(s.wait_us, 0);
	}
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
	s.now.pending = KEYSTROKES_PENDING_MAX + 1;
	assert_int_equal(step(&s, false), KEYSTROKES_WRITE);
	assert_string_equal(s.k.ended, "output buffer filling");
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
	s.now.rekeying = true;
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_string_equal(s.k.ended, "rekeying started");
	s.now.rekeying = false;
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
	s.now.terminal = false;
	assert_int_equal(step(&s, false), KEYSTROKES_WRITE);
	assert_string_equal(s.k.ended, "no active channels");
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
}

/* What other channels send is not held, nor what follows it soon. */
static void
test_others_lift_it(void **state)
{
	struct story s;

	(void)state;
	begin(&s, MS);
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
	s.now.other = true;
	assert_int_equal(step(&s, false), KEYSTROKES_WRITE);
	s.now.other = false;
	for (int i = 0; i < 9; i++) {
		after(&s, 100 * US);
		assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
		assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	}
	after(&s, 101 * US);
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
}

/* Chaff goes on for 1 to 3 s after the last key, and then nothing. */
static void
test_chaff_ends(void **state)
{
	struct story s;
	uint64_t chaff, began;

	(void)state;
	for (int peer = 0; peer < 2; peer++) {
		begin(&s, MS);
		s.now.chaff = peer != 0;
		assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
		began = s.now.us;
		for (chaff = 0; s.k.active;) {
			after(&s, s.wait_us);
			chaff += step(&s, false) == KEYSTROKES_CHAFF;
		}
		assert_string_equal(s.k.ended, "chaff time expired");
		assert_in_range(s.now.us - began, 1024 * US,
		    (3072 + 2 * MS) * US);
		assert_int_equal(chaff > 40, peer != 0);
		assert_int_equal(s.wait_us, 0);
	}
}

/* After a pause the ticks go on from now. */
static void
test_missed_ticks(void **state)
{
	struct story s;

	(void)state;
	begin(&s, MS);
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	after(&s, 500 * US);
	assert_int_equal(step(&s, true), KEYSTROKES_WRITE);
	assert_int_equal(step(&s, true), KEYSTROKES_HOLD);
	assert_in_range(s.wait_us, 1, MS * US * 11 / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_write_a_tick),
		cmocka_unit_test(test_never_held),
		cmocka_unit_test(test_others_lift_it),
		cmocka_unit_test(test_chaff_ends),
		cmocka_unit_test(test_missed_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
