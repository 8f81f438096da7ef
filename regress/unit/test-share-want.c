/* SPDX-License-Identifier: ISC */
/* What a connection wants: more than it moves, much more when it is held back,
 * little when it rests. */
#include "server/events/share-want.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MB = 1000 * 1000 };

static void
test_wants(void **state)
{
	struct share_want w = { 0 };

	(void)state;
	assert_int_equal(share_want_note(&w, 0, 0, false, 0), MB);
	assert_int_equal(share_want_note(&w, MB, 100, false, 50 * MB), 15 * MB);
	assert_int_equal(share_want_note(&w, MB, 100, true, 10 * MB), 40 * MB);
	/* A short pause changes nothing, a longer one does. */
	for (int i = 0; i < 6; i++)
		assert_int_equal(share_want_note(&w, 0, 100, false, 9),
		    15 * MB);
	for (int i = 0; i < 2; i++)
		(void)share_want_note(&w, 0, 100, false, 9);
	assert_int_equal(share_want_note(&w, 0, 100, false, 9), MB);
}

/* From a share of nothing a connection that is held back gets to any share. */
static void
test_grows(void **state)
{
	struct share_want w = { 0 };
	uint64_t got = 0;

	(void)state;
	for (int i = 0; i < 12; i++)
		got = share_want_note(&w, got / 10, 100, true, got);
	assert_true(got > 1000 * (uint64_t)MB);
	assert_true(share_want_note(&w, UINT64_MAX, 1, true, UINT64_MAX) ==
	    UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_wants),
		cmocka_unit_test(test_grows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
