/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <string.h>
#include <sys/resource.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/hide.h"

static void
test_process(void **state)
{
	struct rlimit rl;

	(void)state;
	hide_process();
#if defined(__linux__)
	assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
#endif
	assert_int_equal(getrlimit(RLIMIT_CORE, &rl), 0);
	assert_int_equal(rl.rlim_cur, 0);
	assert_int_equal(rl.rlim_max, 0);
}

static void
test_pages(void **state)
{
	static const char zeros[10000];
	char *p = hide_alloc(sizeof zeros);

	(void)state;
	assert_non_null(p);
	assert_memory_equal(p, zeros, sizeof zeros);
	memset(p, 1, sizeof zeros);
	hide_free(p, sizeof zeros);
	hide_free(NULL, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
