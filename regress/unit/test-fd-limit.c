/* SPDX-License-Identifier: ISC */
/* The limit of descriptors: up to the hard one, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "base/fd-limit.h"

static rlim_t
soft(void)
{
	struct rlimit rl;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	return rl.rlim_cur;
}

static void
test_up_and_back(void **state)
{
	struct rlimit rl = { 64, 96 };

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
	fd_limit_restore(); /* of nothing */
	assert_int_equal(soft(), 64);
	fd_limit_raise();
	assert_int_equal(soft(), 96);
	fd_limit_raise();
	fd_limit_restore();
	assert_int_equal(soft(), 64);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
