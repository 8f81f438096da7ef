/* SPDX-License-Identifier: ISC */
/* Names that a file system may take for one. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/name-form.h"

#define E_ACUTE "\xc3\xa9"   /* U+00E9 */
#define E_BIG "\xc3\x89"     /* U+00C9 */
#define ACUTE "\xcc\x81"     /* U+0301 */
#define DOT_BELOW "\xcc\xa3" /* U+0323 */
#define HAN "\xed\x95\x9c"   /* U+D55C, a syllable of three letters */
#define HAN_3 "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"
#define GA "\xea\xb0\x80"    /* U+AC00, a syllable of two */
#define GA_2 "\xe1\x84\x80\xe1\x85\xa1"
#define GA_KANA "\xe3\x81\x8c"		     /* U+304C */
#define GA_KANA_2 "\xe3\x81\x8b\xe3\x82\x99" /* U+304B, U+3099 */
#define VIET "\xe1\xbb\x87" /* U+1EC7: e, circumflex, dot below */
#define EMOJI "\xf0\x9f\x98\x80"

static const struct {
	const char *a, *b;
	unsigned ways; /* the fewest in which they are one; 0: never */
} pairs[] = {
	{ "readme", "README", NAME_CASE },
	{ "readme", "readme2", 0 },
	{ "caf" E_ACUTE, "cafe" ACUTE, NAME_FORM },
	{ "caf" E_ACUTE, "CAF" E_BIG, NAME_CASE },
	{ "caf" E_ACUTE, "CAFE" ACUTE, NAME_CASE | NAME_FORM },
	{ "caf" E_ACUTE, "cafe", 0 },
	{ VIET, "e\xcc\x82" DOT_BELOW, NAME_FORM },
	{ VIET, "e" DOT_BELOW "\xcc\x82", NAME_FORM },
	/* marks of one class: their order is seen */
	{ "e\xcc\x82" ACUTE, "e" ACUTE "\xcc\x82", 0 },
	/* a mark never leaves its letter */
	{ "a" ACUTE "b" DOT_BELOW, "ab" ACUTE DOT_BELOW, 0 },
	{ HAN, HAN_3, NAME_FORM },
	{ GA, GA_2, NAME_FORM },
	{ HAN, GA, 0 },
	{ GA_KANA, GA_KANA_2, NAME_FORM },
	{ "\xd0\xb9", "\xd0\xb8\xcc\x86", NAME_FORM }, /* Cyrillic short i */
	{ "\xd0\x99", "\xd0\xb9", NAME_CASE },
	{ "\xce\xac", "\xce\x86", NAME_CASE }, /* Greek alpha with tonos */
	{ "\xe1\xbc\x81", "\xce\xb1\xcc\x94", NAME_FORM },
	{ EMOJI, EMOJI "\xcc\x80", 0 },
	/* no UTF-8: bytes */
	{ "\xe9", "\xc3\xa9", 0 },
	{ "x\xff", "X\xff", NAME_CASE },
	{ "\xe9" ACUTE DOT_BELOW, "\xe9" DOT_BELOW ACUTE, NAME_FORM },
};

static bool
are_one(const char *a, const char *b, unsigned ways)
{
	char *fa = name_fold(a, ways), *fb = name_fold(b, ways);
	bool one;

	assert_non_null(fa);
	assert_non_null(fb);
	one = strcmp(fa, fb) == 0;
	free(fa);
	free(fb);
	return one;
}

static void
test_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		for (unsigned ways = 1; ways <= 3; ways++) {
			unsigned need = pairs[i].ways;

			print_message("%zu, ways %u\n", i, ways);
			assert_int_equal(need != 0 && (need & ways) == need,
			    are_one(pairs[i].a, pairs[i].b, ways));
		}
}

static void
test_same_form(void **state)
{
	(void)state;
	assert_int_equal(name_ways_of("a", "a"), 0);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		assert_int_equal(name_ways_of(pairs[i].a, pairs[i].b),
		    pairs[i].ways);
	assert_true(name_is_ascii("plain ~"));
	assert_false(name_is_ascii("caf" E_ACUTE));
}

/* A fold is its own fold, and bytes that are no UTF-8 come out as they were. */
static void
test_fold_again(void **state)
{
	char *once, *twice;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		once = name_fold(pairs[i].a, NAME_CASE | NAME_FORM);
		assert_non_null(once);
		twice = name_fold(once, NAME_CASE | NAME_FORM);
		assert_string_equal(once, twice);
		free(once);
		free(twice);
	}
	once = name_fold("\xff\xc3.\xe2\x82", NAME_CASE | NAME_FORM);
	assert_string_equal(once, "\xff\xc3.\xe2\x82");
	free(once);
	once = name_fold(EMOJI "A", NAME_CASE | NAME_FORM);
	assert_string_equal(once, EMOJI "a");
	free(once);
}

/* A peer's name of nothing but marks costs no more than others. */
static void
test_many_marks(void **state)
{
	enum { MARKS = 100000 };
	char *name = malloc(2 * MARKS + 1), *fold;

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < MARKS; i++)
		memcpy(name + 2 * i, i % 2 ? DOT_BELOW : ACUTE, 2);
	name[2 * MARKS] = '\0';
	fold = name_fold(name, NAME_FORM);
	assert_string_equal(fold, name);
	free(fold);
	free(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_same_form),
		cmocka_unit_test(test_fold_again),
		cmocka_unit_test(test_many_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
