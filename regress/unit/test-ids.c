/* SPDX-License-Identifier: ISC */
#include "regress/unit/refuse-call.h"

#include "regress/unit/help.h"

#include <unistd.h>

#include "compat/ids.h"

/* Nobody on any system of ours. */
enum { SOMEBODY = 65000, SOME_GROUP = 65001 };

static int
become(void)
{
	if (geteuid() != 0)
		return 77;
	if (ids_become(SOMEBODY, SOME_GROUP) != 0 ||
	    !ids_are(SOMEBODY, SOME_GROUP) || ids_are(0, SOME_GROUP) ||
	    ids_are(SOMEBODY, 0))
		return 1;
	return setuid(0) == -1 && seteuid(0) == -1 && setegid(0) == -1 ? 0 : 2;
}

/* What is saved, or only real, counts as well. */
static int
halves(void)
{
	if (geteuid() != 0)
		return 77;
	if (setegid(SOME_GROUP) != 0 || ids_are(0, 0) || ids_are(0, SOME_GROUP))
		return 1;
	if (setegid(0) != 0 || !ids_are(0, 0))
		return 2;
	if (seteuid(SOMEBODY) != 0 || ids_are(0, 0) || ids_are(SOMEBODY, 0))
		return 3;
	if (ids_become(SOMEBODY + 1, 0) == 0 && ids_are(SOMEBODY + 1, 0))
		return 4;
	return seteuid(0) == 0 && ids_are(0, 0) ? 0 : 5;
}

static int
own(void)
{
	return ids_become(getuid(), getgid()) == 0 &&
		ids_are(getuid(), getgid()) ? 0 : 1;
}

static void
test_become(void **state)
{
	(void)state;
	in_child(become);
}

static void
test_halves(void **state)
{
	(void)state;
	in_child(halves);
}

static void
test_own(void **state)
{
	(void)state;
	in_child(own);
}

static void
test_groups(void **state)
{
	gid_t groups[64];
	int n = 64;

	(void)state;
	assert_int_not_equal(ids_group_list("root", SOME_GROUP, groups, &n),
	    -1);
	assert_true(n >= 1);
	assert_int_equal(groups[0], SOME_GROUP);
	n = 0;
	assert_int_equal(ids_group_list("root", SOME_GROUP, groups, &n), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_become),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
