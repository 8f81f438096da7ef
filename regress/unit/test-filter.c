/* SPDX-License-Identifier: ISC */
/* Rules of which files a copy is about. */
#include "regress/unit/help.h"

#include <string.h>

#include "base/mem.h"
#include "xfer/filter.h"

static const struct {
	const char *pattern, *path;
	bool is_dir, fits;
} cases[] = {
	{ "f", "f", false, true },
	{ "f", "a/b/f", false, true },
	{ "f", "ff", false, false },
	{ "f", "f/g", false, false },
	{ "/f", "f", false, true },
	{ "/f", "a/f", false, false },
	{ "/a/f", "a/f", false, true },
	{ "a/f", "a/f", false, true },
	{ "a/f", "x/a/f", false, true },
	{ "a/f", "xa/f", false, false },
	{ "d/", "d", true, true },
	{ "d/", "x/d", true, true },
	{ "d/", "d", false, false },
	{ "*.o", "x.o", false, true },
	{ "*.o", "a/x.o", false, true },
	{ "*.o", "x.oo", false, false },
	{ "*", "a/b", false, true },
	{ "/*", "a", false, true },
	{ "/*", "a/b", false, false },
	{ "/*/b", "a/b", false, true },
	{ "/*/b", "a/c/b", false, false },
	{ "/**/b", "a/c/b", false, true },
	{ "/a/**", "a/b/c", false, true },
	{ "/a/**", "a", true, false },
	{ "/a/***", "a", true, true },
	{ "/a/***", "a", false, false },
	{ "/a/***", "a/b/c", false, true },
	{ "/a/***", "ab/c", false, false },
	{ "a/***", "x/a/c", false, true },
	{ "?", "x", false, true },
	{ "?", "xx", false, false },
	{ "a?b", "a/b", false, false },
	{ "a*b", "a/b", false, false },
	{ "a**b", "a/x/b", false, true },
	{ "**/a", "a", false, true },
	{ "**/a", "x/y/a", false, true },
	{ "**/a", "xa", false, false },
	{ "**/x/**", "x/y", false, true },
	{ "/**/a", "a", false, false },
	{ "x/**/a", "x/a", false, false },
	{ "[a-c]x", "bx", false, true },
	{ "[a-c]x", "dx", false, false },
	{ "[!a-c]x", "dx", false, true },
	{ "[^a-c]x", "bx", false, false },
	{ "[]x]", "]", false, true },
	{ "[a-]", "-", false, true },
	{ "[[:digit:]]", "7", false, true },
	{ "[[:digit:]]", "x", false, false },
	{ "a[!x]b", "a/b", false, false },
	{ "[\\]]", "]", false, true },
	{ "\\*", "*", false, true },
	{ "\\*", "x", false, false },
	{ "a\\b", "a\\b", false, true }, /* no wildcards: as it is */
	{ "a\\b*", "ab", false, true },
	{ "\303\244?", "\303\244x", false, true },
};

static void
test_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct filter *f = filter_new();

		assert_non_null(f);
		assert_int_equal(filter_add(f, true, cases[i].pattern), 0);
		if (filter_excludes(f, cases[i].path, cases[i].is_dir) !=
		    cases[i].fits)
			fail_msg("\"%s\" and \"%s\"", cases[i].pattern,
			    cases[i].path);
		filter_free(f);
	}
}

static void
test_first_decides(void **state)
{
	static const char rules[] = "+ x\0-*";
	struct filter *f = filter_new();

	(void)state;
	assert_false(filter_excludes(f, "anything", false));
	assert_int_equal(filter_add(f, false, "keep.o"), 0);
	assert_int_equal(filter_add_wire(f, "-*.o\0+*", 8), 0);
	assert_int_equal(filter_add_wire(f, "-*", 3), 0);
	assert_false(filter_excludes(f, "a/keep.o", false));
	assert_true(filter_excludes(f, "a/other.o", false));
	assert_false(filter_excludes(f, "a/other.c", false));
	assert_int_equal(filter_add_wire(f, rules, 3), ERR_FORMAT);
	assert_int_equal(filter_add_wire(f, "x*", 3), ERR_FORMAT);
	filter_free(f);
}

static void
test_refused(void **state)
{
	static const char *const wrong[] = { "", "/", "[a",
		"x[", "[]", "[!]", "[[:alpha:]" };
	char longest[FILTER_PATTERN_MAX + 2];
	struct filter *f = filter_new();
	int r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(filter_add(f, true, wrong[i]), ERR_FORMAT);
	memset(longest, '*', sizeof longest);
	for (size_t i = 0; i < sizeof longest; i += 2)
		longest[i] = 'a';
	longest[FILTER_PATTERN_MAX + 1] = '\0';
	assert_int_equal(filter_add(f, true, longest), ERR_LIMIT);
	longest[FILTER_PATTERN_MAX] = '\0';
	assert_int_equal(filter_add(f, true, longest), 0);
	for (int i = 0; (r = filter_add(f, true, longest)) == 0; i++)
		assert_true(i * FILTER_PATTERN_MAX < FILTER_BYTES_MAX);
	assert_int_equal(r, ERR_LIMIT);
	/* What makes others go back takes no longer here. */
	memset(longest, 'a', 2000);
	longest[2000] = '\0';
	assert_false(filter_excludes(f, longest, false));
	filter_free(f);
	f = filter_new();
	for (int i = 0; i < FILTER_RULES_MAX; i++)
		assert_int_equal(filter_add(f, true, "x"), 0);
	assert_int_equal(filter_add(f, true, "x"), ERR_LIMIT);
	filter_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_first_decides),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
