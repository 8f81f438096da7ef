/* SPDX-License-Identifier: ISC */
/* Uses of a connection: the end of the last one is told, and of no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "regress/unit/dice.h"

#include "base/mem.h"
#include "client/common/uses.h"

static unsigned told;

static void
on_unused(void *arg)
{
	assert_false(uses_any(arg));
	told++;
}

static void
test_last_one(void **state)
{
	struct uses u = { .unused = on_unused, .arg = &u };

	(void)state;
	told = 0;
	assert_false(uses_any(&u));
	uses_begin(&u, USE_SESSION);
	uses_begin(&u, USE_STDIO_FORWARD);
	uses_begin(&u, USE_SESSION);
	uses_end(&u, USE_SESSION);
	uses_end(&u, USE_STDIO_FORWARD);
	assert_true(uses_any(&u));
	assert_int_equal(told, 0);
	uses_end(&u, USE_SESSION);
	assert_int_equal(told, 1);
	/* It can be taken up again. */
	uses_begin(&u, USE_NO_SESSION);
	assert_true(uses_any(&u));
	uses_end(&u, USE_NO_SESSION);
	assert_int_equal(told, 2);
}

/* In any order, as many ends as beginnings: told each time that none is left,
 * and only then. */
static void
test_any_order(void **state)
{
	struct uses u = { .unused = on_unused, .arg = &u };
	unsigned open[USE_COUNT] = { 0 }, total = 0, expected = 0;
	struct dice dice = { 1 };

	(void)state;
	told = 0;
	for (int i = 0; i < 10000; i++) {
		unsigned kind;
		bool begins;

		kind = dice_below(&dice, USE_COUNT);
		begins = dice_below(&dice, 8) == 0;
		if (begins) {
			uses_begin(&u, (enum use)kind);
			open[kind]++;
			total++;
		} else if (open[kind] > 0) {
			uses_end(&u, (enum use)kind);
			open[kind]--;
			expected += --total == 0;
		}
		assert_int_equal(told, expected);
		assert_int_equal(uses_any(&u), total > 0);
	}
	assert_true(expected > 10);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_one),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
