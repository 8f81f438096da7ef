/* SPDX-License-Identifier: ISC */
/* When a client that has lost its connection tries again: by itself, and after
 * events. */
#include "client/survive-pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

enum { NOW = 1000 * 1000 };

/* Waits between so many tries, and as many more. */
static void
expect_waits(struct survive_pace *p, const unsigned *ms, size_t n)
{
	survive_pace_lost(p);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(survive_pace_wait_ms(p, NOW), ms[i]);
		(void)survive_pace_try(p, NOW);
	}
	for (size_t i = 0; i < 40; i++) {
		assert_int_equal(survive_pace_wait_ms(p, NOW), ms[n - 1]);
		(void)survive_pace_try(p, NOW);
	}
}

static void
test_waits(void **state)
{
	static const unsigned with[] = { 0, 250, 500, 1000, 2000 };
	static const unsigned without[] = { 0, 250, 500, 1000, 2000, 4000, 8000,
		10000 };
	struct survive_pace p = { .tty = true }, q = { 0 };

	(void)state;
	expect_waits(&p, with, ARRAY_LEN(with));
	expect_waits(&q, without, ARRAY_LEN(without));
	expect_waits(&p, with, ARRAY_LEN(with)); /* another loss */
}

/* The path's round trips count, and a slow host gets more time. */
static void
test_limits(void **state)
{
	struct survive_pace p = { .tty = true }, far = { .rtt_us = 1200000 };
	struct survive_limits l = survive_pace_try(&p, NOW);

	(void)state;
	assert_int_equal(l.step_s, 3);
	assert_int_equal(l.first_ms, 3000);
	assert_int_equal(l.whole_ms, 9000);
	l = survive_pace_try(&far, NOW);
	assert_int_equal(l.step_s, 5);
	assert_int_equal(l.first_ms, 5000);
	survive_pace_late(&p, false);
	l = survive_pace_try(&p, NOW);
	assert_int_equal(l.step_s, 3);
	for (unsigned i = 1; i < 30; i++) {
		survive_pace_late(&p, true);
		l = survive_pace_try(&p, NOW);
		assert_int_equal(l.first_ms, 3000);
		assert_int_equal(l.step_s, MIN(3 + i, 20));
		assert_int_equal(l.whole_ms, MIN((3 + i) * 3000, 30000));
	}
}

/* Through another program a silent path must not make all tries long, as
 * nothing tells when the path is back; but a host that is slow to log in to is
 * waited for now and then. */
static void
test_limits_through_a_proxy(void **state)
{
	static const struct {
		bool tty;
		unsigned answer_ms, brief_s, patient_s;
	} cases[] = {
		{ true, 300, 3, 10 },
		{ false, 300, 3, 20 },
		{ true, 2500, 4, 10 },
		{ true, 9000, 5, 11 },
		{ false, 9000, 10, 20 },
		{ true, 90000, 5, 20 },
		{ false, 90000, 10, 20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct survive_pace p = { .tty = cases[i].tty, .proxied = true,
			.answer_ms = cases[i].answer_ms };
		struct survive_limits l;
		unsigned longest_ms = 0;

		for (unsigned n = 1; n <= 80; n++) {
			l = survive_pace_try(&p, NOW);
			survive_pace_late(&p, false);
			assert_true(l.whole_ms <= 30000);
			assert_true(l.step_s * 1000 >= l.first_ms);
			if (n % 4 != 0)
				assert_int_equal(l.first_ms,
				    cases[i].brief_s * 1000);
			else
				longest_ms = MAX(longest_ms,
				    (unsigned)l.first_ms);
		}
		assert_int_equal(longest_ms, cases[i].patient_s * 1000);
	}
}

/* An event ends the wait: a network's at once, a key's if there has been no try
 * just before. After it, tries are frequent again. */
static void
test_event_amid_a_wait(void **state)
{
	struct survive_pace p = { 0 };

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		(void)survive_pace_try(&p, NOW);
	assert_int_equal(survive_pace_wait_ms(&p, NOW), 10000);
	assert_int_equal(survive_pace_event_ms(&p, SURVIVE_EVENT_KEY,
			     NOW + 100), 150);
	assert_int_equal(survive_pace_event_ms(&p, SURVIVE_EVENT_KEY,
			     NOW + 250), 0);
	assert_int_equal(survive_pace_event_ms(&p, SURVIVE_EVENT_NET, NOW), 0);
	(void)survive_pace_try(&p, NOW);
	assert_int_equal(survive_pace_wait_ms(&p, NOW), 250);
}

/* A try that has just begun is left alone for a while, from which the answer to
 * its first packet would be there. */
static void
test_event_amid_a_try(void **state)
{
	struct survive_pace near = { .rtt_us = 1000 },
			    far = { .rtt_us = 200 * 1000 },
			    behind = { .rtt_us = 1000, .proxied = true,
				    .answer_ms = 600 };

	(void)state;
	(void)survive_pace_try(&near, NOW);
	assert_int_equal(survive_pace_spare_ms(&near, NOW + 20), 81);
	assert_int_equal(survive_pace_spare_ms(&near, NOW + 500), 0);
	(void)survive_pace_try(&far, NOW);
	assert_int_equal(survive_pace_spare_ms(&far, NOW + 100), 300);
	(void)survive_pace_try(&behind, NOW);
	assert_int_equal(survive_pace_spare_ms(&behind, NOW + 100), 900);
	/* Where it ends by itself, there is no more waiting than a key's. */
	assert_int_equal(survive_pace_wait_ms(&far, NOW + 100), 150);
	assert_int_equal(survive_pace_wait_ms(&near, NOW + 3000), 0);
	(void)survive_pace_try(&near, NOW + 3000);
	assert_int_equal(survive_pace_wait_ms(&near, NOW + 3000), 250);
}

/* A key is held down, through which 30 come each second, on a path on which
 * each try takes answer_ms until it has reached the host; 0: never, and it ends
 * after its time. How many tries began within 20 seconds; *reached: when. */
static unsigned
hold_down(struct survive_pace *p, unsigned answer_ms, unsigned fails_ms,
    uint64_t *reached)
{
	uint64_t due = NOW, over = 0, spare = 0;
	struct survive_limits l;
	bool trying = false;

	*reached = 0;
	survive_pace_lost(p);
	for (uint64_t t = NOW; t < NOW + 20000; t++) {
		if (trying && spare != 0 && t >= spare) {
			survive_pace_ended(p);
			trying = false;
			due = t;
		} else if (trying && t >= over) {
			survive_pace_late(p, false);
			trying = false;
			due = t + survive_pace_wait_ms(p, t);
		}
		if (!trying && t >= due) {
			l = survive_pace_try(p, t);
			over = t + (fails_ms > 0 ? fails_ms : l.first_ms);
			trying = true;
			spare = 0;
		}
		if (trying && answer_ms > 0 && t == p->try_ms + answer_ms) {
			*reached = t - NOW;
			break;
		}
		if (t % 33 != 0)
			continue;
		if (!trying)
			due = t + survive_pace_event_ms(p, SURVIVE_EVENT_KEY,
			    t);
		else if (spare == 0)
			spare = t + survive_pace_spare_ms(p, t);
	}
	return p->tries;
}

/* A key that is held down makes no storm, whether tries are silent or fail at
 * once, and keeps no try from getting through a path that has become longer. */
static void
test_a_key_is_held_down(void **state)
{
	static const unsigned long_ms[] = { 60, 400, 900, 2500 };
	struct survive_pace p = { .tty = true, .rtt_us = 20 * 1000 };
	uint64_t reached;
	unsigned n;

	(void)state;
	n = hold_down(&p, 0, 0, &reached);
	assert_in_range(n, 10, 40);
	n = hold_down(&p, 0, 1, &reached);
	assert_in_range(n, 70, 81);
	for (size_t i = 0; i < ARRAY_LEN(long_ms); i++) {
		(void)hold_down(&p, long_ms[i], 0, &reached);
		assert_in_range(reached, long_ms[i], 4 * long_ms[i] + 1000);
	}
}

/* A network resets all logins, and a key is held down: the penalties of a
 * second that a server gives for each never sum up to the 15 seconds by which
 * it locks an address out. */
static void
test_logins_that_break(void **state)
{
	for (unsigned tty = 0; tty < 2; tty++) {
		struct survive_pace p = { .tty = tty != 0 };
		uint64_t t = NOW, penalty_ms = 0, before = NOW;

		(void)state;
		survive_pace_lost(&p);
		t += survive_pace_wait_ms(&p, t);
		for (unsigned i = 0; i < 100; i++) {
			uint64_t due;

			(void)survive_pace_try(&p, t);
			penalty_ms -= MIN(penalty_ms, t - before);
			penalty_ms += 1000;
			before = t;
			assert_true(penalty_ms < 15 * 1000);
			t += 5;
			survive_pace_broken(&p);
			due = t + survive_pace_wait_ms(&p, t);
			due = MIN(due, t + 33 + survive_pace_event_ms(&p,
				      SURVIVE_EVENT_KEY, t + 33));
			t = due;
		}
		assert_true(t - NOW < 110 * 1000);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_through_a_proxy),
		cmocka_unit_test(test_event_amid_a_wait),
		cmocka_unit_test(test_event_amid_a_try),
		cmocka_unit_test(test_a_key_is_held_down),
		cmocka_unit_test(test_logins_that_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
