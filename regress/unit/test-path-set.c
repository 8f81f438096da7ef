/* SPDX-License-Identifier: ISC */
/* A set of paths: beside a list that is the model of it. */
#include "regress/unit/help.h"

#include <stdio.h>

#include "client/copy/path-set.h"

enum { PATHS = 5000 };

static void
path_of(char text[32], int i)
{
	snprintf(text, 32, "dir%d/file-%d", i % 7, i);
}

static void
paths_and_numbers(void **state)
{
	struct path_set s = { .n = 0 };
	uint64_t number = 7;
	char text[32];

	(void)state;
	assert_false(path_set_has(&s, "a", &number));
	for (int i = 0; i < PATHS; i++) {
		path_of(text, i);
		assert_false(path_set_has(&s, text, NULL));
		path_set_put(&s, text, (uint64_t)i);
		assert_true(path_set_has(&s, text, NULL));
	}
	assert_int_equal(s.n, PATHS);
	for (int i = 0; i < PATHS; i += 2) {
		path_of(text, i);
		path_set_put(&s, text, (uint64_t)i * 10);
	}
	assert_int_equal(s.n, PATHS);
	for (int i = 0; i < PATHS; i++) {
		path_of(text, i);
		assert_true(path_set_has(&s, text, &number));
		assert_int_equal(number, i % 2 == 0 ? i * 10 : i);
	}
	assert_false(path_set_has(&s, "", &number));
	assert_false(path_set_has(&s, "dir0", &number));
	path_set_clear(&s);
	assert_false(path_set_has(&s, "dir0/file-0", NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
