/* SPDX-License-Identifier: ISC */
/* Names of a directory that may be one: what is known of their classes. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <string.h>

#include "xfer/name-folds.h"

#define E_ACUTE "\xc3\xa9"
#define E_APART "e\xcc\x81"
#define KELVIN "\xe2\x84\xaa"

static struct name_folds folds;

static int
begin(void **state)
{
	(void)state;
	name_folds_init(&folds);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	name_folds_clear(&folds);
	return 0;
}

static void
test_one_name_meets_none(void **state)
{
	(void)state;
	assert_int_equal(name_folds_note(&folds, "a", true, false), 0);
	assert_int_equal(folds.used, 0);
	assert_int_equal(name_folds_note(&folds, "B", true, false), 0);
	assert_int_equal(name_folds_note(&folds, "c", false, true), 0);
	assert_int_equal(name_folds_of(&folds, "B"), 0);
	assert_int_equal(folds.used, 1);
}

static void
test_classes(void **state)
{
	(void)state;
	assert_int_equal(name_folds_note(&folds, "Makefile", false, true),
	    NAME_FOLD_TARGET);
	assert_int_equal(name_folds_note(&folds, E_APART, true, true),
	    NAME_FOLD_TARGET | NAME_FOLD_BOTH);
	assert_int_equal(name_folds_note(&folds, "makefile", true, false),
	    NAME_FOLD_TARGET | NAME_FOLD_MET);
	assert_int_equal(name_folds_note(&folds, E_ACUTE, false, true),
	    NAME_FOLD_TARGET | NAME_FOLD_BOTH | NAME_FOLD_MET |
	    NAME_FOLD_TWO);
	name_folds_mark(&folds, "MAKEFILE", NAME_FOLD_NEW);
	assert_int_equal(name_folds_of(&folds, "makefile"),
	    NAME_FOLD_TARGET | NAME_FOLD_MET | NAME_FOLD_NEW);
	name_folds_clear(&folds);
	assert_int_equal(name_folds_of(&folds, "makefile"), 0);
}

/* The sign for kelvin is one with a letter that was not kept. */
static void
test_kelvin(void **state)
{
	unsigned flags;

	(void)state;
	assert_int_equal(name_folds_note(&folds, "k", true, false), 0);
	flags = name_folds_note(&folds, KELVIN, true, false);
	assert_true(flags & NAME_FOLD_MET);
	assert_true(flags & NAME_FOLD_MAYBE);
	assert_true(flags & NAME_FOLD_MIXED);
	assert_true(name_folds_of(&folds, "k") & NAME_FOLD_MET);
}

static void
test_many(void **state)
{
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "Name%u", i);
		assert_int_equal(name_folds_note(&folds, name, true, false),
		    0);
	}
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "nAME%u", i);
		assert_int_equal(name_folds_note(&folds, name, true, false),
		    NAME_FOLD_MET);
	}
	assert_int_equal(folds.used, 20000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_name_meets_none,
		    begin, end),
		cmocka_unit_test_setup_teardown(test_classes, begin, end),
		cmocka_unit_test_setup_teardown(test_kelvin, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
