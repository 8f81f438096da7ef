/* SPDX-License-Identifier: ISC */
/* What happens to a target, for all facts that there may be. */
#include "regress/unit/hex.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/target-plan.h"

enum { HERE = TARGET_THERE | TARGET_REGULAR };

static void
test_examples(void **state)
{
	static const struct {
		unsigned facts;
		enum target_plan plan;
	} rows[] = {
		{ 0, TARGET_RENAME },
		{ HERE, TARGET_RENAME },
		{ TARGET_NO_PART, TARGET_IN_PLACE },
		{ HERE | TARGET_NO_PART, TARGET_IN_PLACE },
		{ TARGET_THERE, TARGET_IN_PLACE }, /* a link, a device */
		{ HERE | TARGET_NAMES, TARGET_IN_PLACE },
		{ HERE | TARGET_OTHER_OWNER, TARGET_IN_PLACE },
		{ HERE | TARGET_READ_ONLY, TARGET_REFUSE },
		{ HERE | TARGET_READ_ONLY | TARGET_NAMES, TARGET_REFUSE },
		{ HERE | TARGET_READ_ONLY | TARGET_NO_PART, TARGET_REFUSE },
		{ HERE | TARGET_IS_SOURCE, TARGET_KEEP },
		{ HERE | TARGET_IS_SOURCE | TARGET_READ_ONLY, TARGET_KEEP },
		{ HERE | TARGET_IS_SOURCE | TARGET_NO_PART, TARGET_KEEP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(target_plan(rows[i].facts), rows[i].plan);
}

/* What docs/TRANSFERS.md promises, each by itself. */
static void
test_all_facts(void **state)
{
	(void)state;
	for (unsigned f = 0; f < TARGET_FACTS; f++) {
		enum target_plan plan = target_plan(f);
		bool there = (f & TARGET_THERE) != 0;

		/* The source is never touched, and nothing else is kept. */
		assert_int_equal(plan == TARGET_KEEP,
		    (f & TARGET_IS_SOURCE) != 0);
		if (plan == TARGET_KEEP)
			continue;
		assert_int_equal(plan == TARGET_REFUSE,
		    there && (f & TARGET_READ_ONLY) != 0);
		if (plan == TARGET_REFUSE)
			continue;
		/* Only a plain file of ours with one name is replaced. */
		assert_int_equal(plan == TARGET_RENAME,
		    (f & TARGET_NO_PART) == 0 &&
		    (!there || ((f & TARGET_REGULAR) != 0 &&
		    (f & (TARGET_NAMES | TARGET_OTHER_OWNER)) == 0)));
	}
}

static void
test_read_only(void **state)
{
	char name[] = "/tmp/test-target-plan.XXXXXX";
	int fd = mkstemp(name);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(target_asks_writable(st.st_mode));
	assert_false(target_is_read_only(AT_FDCWD, name, st.st_mode));
	assert_int_equal(fchmod(fd, 0400), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(target_asks_writable(st.st_mode));
	/* Root may. */
	assert_int_equal(target_is_read_only(AT_FDCWD, name, st.st_mode),
	    geteuid() != 0);
	/* What is no file, or not there, is not asked about. */
	assert_false(target_asks_writable(S_IFIFO | 0400));
	assert_false(target_asks_writable(S_IFLNK | 0400));
	assert_int_equal(unlink(name), 0);
	assert_false(target_is_read_only(AT_FDCWD, name, S_IFREG | 0400));
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_all_facts),
		cmocka_unit_test(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
