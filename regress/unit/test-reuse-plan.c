/* SPDX-License-Identifier: ISC */
/* What is used of what is there, for all facts that there may be, and when two
 * times are the same. */
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "xfer/reuse-plan.h"

enum {
	HERE = REUSE_WANTED | REUSE_TARGET | REUSE_CONTENT,
	EQUAL = HERE | REUSE_SAME_SIZE | REUSE_SAME_TIME,
	ALL = EQUAL | REUSE_SAME_MODE | REUSE_PRESERVES,
	EMPTY = ALL & ~REUSE_CONTENT,
};

static void
test_examples(void **state)
{
	static const struct {
		unsigned facts;
		enum reuse_plan plan;
	} rows[] = {
		{ 0, REUSE_PLAN_NOTHING },
		{ REUSE_WANTED, REUSE_PLAN_NOTHING },
		{ ALL & ~REUSE_WANTED, REUSE_PLAN_NOTHING },
		/* as rsync -t */
		{ ALL, REUSE_PLAN_KEEP },
		{ ALL | REUSE_DIGESTS, REUSE_PLAN_KEEP },
		{ ALL | REUSE_DIGESTS | REUSE_IN_PLACE, REUSE_PLAN_KEEP },
		{ EMPTY | REUSE_DIGESTS, REUSE_PLAN_KEEP },
		{ EQUAL | REUSE_PRESERVES | REUSE_DIGESTS, REUSE_PLAN_ATTRS },
		{ ALL | REUSE_DIGESTS | REUSE_VERIFIES, REUSE_PLAN_COMPARE },
		{ ALL | REUSE_VERIFIES, REUSE_PLAN_COMPARE },
		{ EMPTY | REUSE_VERIFIES, REUSE_PLAN_NOTHING },
		/* without -p */
		{ EQUAL | REUSE_DIGESTS, REUSE_PLAN_COMPARE },
		{ EQUAL, REUSE_PLAN_KEEP },
		/* size alone */
		{ ALL & ~REUSE_SAME_TIME, REUSE_PLAN_NOTHING },
		{ (ALL & ~REUSE_SAME_TIME) | REUSE_DIGESTS,
		    REUSE_PLAN_COMPARE },
		{ EMPTY & ~REUSE_SAME_TIME, REUSE_PLAN_NOTHING },
		/* time alone */
		{ ALL & ~REUSE_SAME_SIZE, REUSE_PLAN_NOTHING },
		{ (ALL & ~REUSE_SAME_SIZE) | REUSE_DIGESTS | REUSE_IN_PLACE,
		    REUSE_PLAN_TARGET },
		/* a part comes first */
		{ ALL | REUSE_DIGESTS | REUSE_PART, REUSE_PLAN_PART },
		{ REUSE_WANTED | REUSE_PART, REUSE_PLAN_PART },
		{ ALL | REUSE_PART, REUSE_PLAN_PART },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(reuse_plan(rows[i].facts), rows[i].plan);
}

/* What docs/TRANSFERS.md promises, each by itself. */
static void
test_all_facts(void **state)
{
	(void)state;
	for (unsigned f = 0; f < REUSE_FACTS; f++) {
		enum reuse_plan plan = reuse_plan(f);
		bool same = (f & REUSE_TARGET) && (f & REUSE_SAME_SIZE) &&
		    (f & REUSE_SAME_TIME);
		bool content = plan == REUSE_PLAN_COMPARE ||
		    plan == REUSE_PLAN_TARGET;

		if ((f & REUSE_WANTED) == 0)
			assert_int_equal(plan, REUSE_PLAN_NOTHING);
		/* Without a look at the content only what has size and time,
		 * and never where --verify was asked for. */
		if (plan == REUSE_PLAN_KEEP || plan == REUSE_PLAN_ATTRS) {
			assert_true(same);
			assert_false(f & REUSE_VERIFIES);
			assert_true((f & REUSE_PRESERVES) ||
			    (f & REUSE_DIGESTS) == 0);
		}
		/* -p gives the mode. */
		if (plan == REUSE_PLAN_KEEP && (f & REUSE_PRESERVES))
			assert_true(f & REUSE_SAME_MODE);
		if (content)
			assert_true((f & REUSE_CONTENT) && (f & REUSE_TARGET));
		if (plan == REUSE_PLAN_PART)
			assert_true(f & REUSE_PART);
	}
}

#define AT(s, n) { .known = true, .exact = true, .sec = (s), .nsec = (n) }
#define WHOLE(s) { .known = true, .sec = (s) }

static void
test_times(void **state)
{
	enum { NOW = 1000000 };
	static const struct {
		struct reuse_time source, target;
		bool same;
	} rows[] = {
		{ { .known = false }, WHOLE(5), false },
		{ WHOLE(5), { .known = false }, false },
		/* nanoseconds: also of just now, and of a clock that is odd */
		{ AT(NOW, 7), AT(NOW, 7), true },
		{ AT(NOW + 99, 7), AT(NOW + 99, 7), true },
		{ AT(-5, 7), AT(-5, 7), true },
		{ AT(5, 7), AT(5, 8), false },
		{ AT(5, 7), AT(6, 7), false },
		/* whole seconds: on either side, of a file system or of SFTP */
		{ AT(5, 7), AT(5, 0), true },
		{ AT(5, 0), AT(5, 7), true },
		{ AT(5, 0), AT(5, 0), true },
		{ AT(5, 7), WHOLE(5), true },
		{ WHOLE(5), WHOLE(5), true },
		{ WHOLE(5), WHOLE(6), false },
		/* over two seconds old */
		{ WHOLE(NOW - 3), WHOLE(NOW - 3), true },
		{ WHOLE(NOW - 2), WHOLE(NOW - 2), false },
		{ WHOLE(NOW), WHOLE(NOW), false },
		{ WHOLE(NOW + 99), WHOLE(NOW + 99), false },
		{ AT(NOW - 2, 7), WHOLE(NOW - 2), false },
		{ AT(NOW - 2, 0), AT(NOW - 2, 0), false },
		/* 32 bits on the wire, 64 here */
		{ AT(-1, 7), WHOLE(UINT32_MAX), true },
		{ AT(-1, 0), AT(UINT32_MAX, 0), false },
		{ AT(INT64_MIN, 0), AT(INT64_MIN, 0), true },
		{ AT(INT64_MAX, 0), AT(INT64_MAX, 0), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (reuse_same_time(&rows[i].source, &rows[i].target, NOW) !=
		    rows[i].same)
			fail_msg("row %zu", i);
	/* A clock that stands at its beginning. */
	assert_false(reuse_same_time(&rows[8].source, &rows[8].target, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_all_facts),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
