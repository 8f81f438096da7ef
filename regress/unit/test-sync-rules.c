/* SPDX-License-Identifier: ISC */
/* Filter rules of a sync. Which are refused, and what each does, was
 * asked of rsync 3.5.0. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/rules/sync-rules.h"

static struct sync_rules *
some_rules(void)
{
	struct sync_rules *r = sync_rules_new();

	assert_non_null(r);
	return r;
}

static void
add(struct sync_rules *r, const char *rule)
{
	const char *why = NULL;
	int err = sync_rules_add(r, rule, &why);

	if (err != 0)
		fail_msg("%s: %d, %s", rule, err, why);
}

/* Rules with commas between them; a path with a slash behind it is that of a
 * directory. h: is it hidden, p: is it protected, g: also in a directory that
 * goes. */
static const struct {
	const char *rules, *path, *sides;
} cases[] = {
	{ "- foo", "foo", "hpg" },
	{ "- foo", "a/foo/", "hpg" },
	{ "-_foo", "foo", "hpg" },
	{ "exclude foo", "foo", "hpg" },
	{ "exclude_foo", "foo", "hpg" },
	{ "-! foo", "foo", "" },
	{ "-! foo", "bar", "hpg" },
	{ "-,! foo", "bar", "hpg" },
	{ "-! */", "foo", "hpg" },
	{ "-! */", "foo/", "" },
	{ "-  foo", " foo", "hpg" },
	{ "H foo", "foo", "h" },
	{ "hide foo", "foo", "h" },
	{ "-s foo", "foo", "h" },
	{ "-sr foo", "foo", "hpg" },
	{ "P foo", "foo", "pg" },
	{ "-r foo", "foo", "pg" },
	{ "protect,p foo", "foo", "p" },
	{ "-p foo", "foo", "hp" },
	{ "+ foo,- *", "foo", "" },
	{ "S foo,- *", "foo", "pg" },
	{ "show_foo,H_*", "foo", "" },
	{ "R foo,- *", "foo", "h" },
	{ "risk foo,- *", "bar", "hpg" },
	{ "- foo,!", "foo", "" },
	{ "- foo,clear,- bar", "bar", "hpg" },
	{ "- /a", "x/a", "" },
	{ "- /x/a/", "x/a/", "hpg" },
};

static void
test_sides(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sync_rules *r = some_rules();
		char *rules = strdup(cases[i].rules), *at = rules, *rule;
		char *path = strdup(cases[i].path), got[4] = "";
		size_t len = strlen(path);
		bool is_dir = path[len - 1] == '/';

		while ((rule = strsep(&at, ",")) != NULL) {
			/* A comma before a modifier. */
			if (at != NULL && (*at == '!' || *at == 'p') &&
			    at[1] == ' ')
				(at++)[-1] = ',', at = strchr(at, ',');
			add(r, rule);
		}
		if (is_dir)
			path[len - 1] = '\0';
		if (sync_rules_excludes(r, SYNC_SENDER, path, is_dir))
			strcat(got, "h");
		if (sync_rules_excludes(r, SYNC_RECEIVER, path, is_dir))
			strcat(got, "p");
		if (sync_rules_excludes(r, SYNC_RECEIVER_GONE, path, is_dir))
			strcat(got, "g");
		if (strcmp(got, cases[i].sides) != 0)
			fail_msg("%s, %s: \"%s\"", cases[i].rules,
			    cases[i].path, got);
		sync_rules_free(r);
		free(rules);
		free(path);
	}
}

static void
test_refused(void **state)
{
	static const struct {
		const char *rule;
		int err;
	} rules[] = {
		{ "foo", ERR_SYNTAX },		{ "-foo", ERR_SYNTAX },
		{ "- ", ERR_SYNTAX },		{ "-", ERR_SYNTAX },
		{ "excludefoo", ERR_SYNTAX },	{ "! ", ERR_SYNTAX },
		{ "!x", ERR_SYNTAX },		{ "clear x", ERR_SYNTAX },
		{ "Hs foo", ERR_SYNTAX },	{ "-n foo", ERR_SYNTAX },
		{ "-e foo", ERR_SYNTAX },	{ "-w foo", ERR_SYNTAX },
		{ ".! foo", ERR_SYNTAX },	{ ".-+ foo", ERR_SYNTAX },
		{ "merge-_foo", ERR_SYNTAX },	{ ":", ERR_SYNTAX },
		{ "dir-merge", ERR_SYNTAX },	{ "- [", ERR_SYNTAX },
		{ "-/ foo", ERR_UNSUPPORTED },	{ "-x foo", ERR_UNSUPPORTED },
		{ ": a/b", ERR_UNSUPPORTED },	{ ": ..", ERR_UNSUPPORTED },
		{ ". /nowhere/at/all", ERR_SYSTEM },
	};
	struct sync_rules *r = some_rules();
	const char *why;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int err = sync_rules_add(r, rules[i].rule, &why);

		if (err != rules[i].err || *why == '\0')
			fail_msg("%s: %d", rules[i].rule, err);
	}
	assert_null(sync_rules_wire(r, &len));
	assert_int_equal(sync_rules_add(r, "", &why), 0);
	sync_rules_free(r);
	sync_rules_free(NULL);
}

/* Values of --exclude and --include. */
static void
test_values(void **state)
{
	struct sync_rules *r = some_rules();
	const char *why;

	(void)state;
	assert_int_equal(sync_rules_add_pattern(r, true, "x", &why), 0);
	assert_int_equal(sync_rules_add_pattern(r, true, "!", &why), 0);
	assert_int_equal(sync_rules_add_pattern(r, true, "", &why), 0);
	assert_int_equal(sync_rules_add_pattern(r, true, "+ foo", &why), 0);
	assert_int_equal(sync_rules_add_pattern(r, false, "- bar", &why), 0);
	assert_int_equal(sync_rules_add_pattern(r, true, "f*", &why), 0);
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "x", false));
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "foo", false));
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "bar", false));
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "fox", false));
	sync_rules_free(r);
}

static void
test_files(void **state)
{
	char *patterns = temp_file("patterns",
	    "#a\r\n;b\n\n c\r\n+ d\n- e\n*d");
	char *inner = temp_file("inner", "- x # no comment\nP y\n");
	char *words = temp_file("words", "- a + b -_c\n\n  !  - z\t");
	char rule[200];
	struct sync_rules *r = some_rules();
	const char *why;

	(void)state;
	assert_int_equal(sync_rules_add_file(r, true, patterns, &why), 0);
	assert_true(sync_rules_excludes(r, SYNC_SENDER, " c", false));
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "#a", false));
	assert_false(sync_rules_excludes(r, SYNC_SENDER, ";b", false));
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "d", false));
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "ad", false));
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "e", false));
	add(r, "!");
	snprintf(rule, sizeof rule, "merge,e %s", inner);
	add(r, rule);
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "x # no comment",
	    false));
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "y", false));
	assert_true(sync_rules_excludes(r, SYNC_RECEIVER, "y", false));
	assert_true(sync_rules_excludes(r, SYNC_RECEIVER, "a/inner", false));
	snprintf(rule, sizeof rule, ".w %s", words);
	add(r, rule);
	assert_false(sync_rules_excludes(r, SYNC_SENDER, "a", false));
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "z", false));
	/* Rules of a file for one side may not say one. */
	snprintf(rule, sizeof rule, ".s %s", inner);
	assert_int_equal(sync_rules_add(r, rule, &why), ERR_SYNTAX);
	assert_non_null(strstr(why, "inner, line 2: "));
	snprintf(rule, sizeof rule, ".p- %s", patterns);
	add(r, rule);
	assert_true(sync_rules_excludes(r, SYNC_RECEIVER, "+ d", false));
	assert_false(sync_rules_excludes(r, SYNC_RECEIVER_GONE, "+ d", false));
	sync_rules_free(r);
	free(patterns);
	free(inner);
	free(words);
}

/* A file that names itself, and one with a secret in it. */
static void
test_hostile_files(void **state)
{
	char rule[200], *text;
	struct sync_rules *r = some_rules();
	const char *why;
	char *secret = temp_file("secret", "- a\nroot:x:0\n");

	(void)state;
	snprintf(rule, sizeof rule, ". %s/loop", temp_dir);
	text = temp_file("loop", rule);
	assert_int_equal(sync_rules_add(r, rule, &why), ERR_LIMIT);
	snprintf(rule, sizeof rule, ". %s", secret);
	assert_int_equal(sync_rules_add(r, rule, &why), ERR_SYNTAX);
	assert_non_null(strstr(why, "secret, line 2: "));
	assert_null(strstr(why, "root"));
	sync_rules_free(r);
	free(text);
	free(secret);
}

static void
enter(struct sync_rules *r, const char *path, const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;
	const char *why = "";

	if (sync_rules_enter(r, path, &text, &len, &why) != 0)
		fail_msg("%s: %s", path, why);
}

static bool
hides(const struct sync_rules *r, const char *path)
{
	return sync_rules_excludes(r, SYNC_SENDER, path, false);
}

static void
test_directories(void **state)
{
	struct sync_rules *r = some_rules();

	(void)state;
	add(r, "+ *.keep");
	add(r, ": /.f");
	add(r, "- last");
	assert_string_equal(sync_rules_dir_file(r, 0), ".f");
	assert_null(sync_rules_dir_file(r, 1));
	enter(r, "", "- a\n- /b\n- *.keep\n");
	assert_true(hides(r, "a"));
	assert_true(hides(r, "b"));
	assert_false(hides(r, "x.keep"));
	assert_true(hides(r, "last"));
	enter(r, "d", "+ a\n- /b\n- d/c\n");
	assert_false(hides(r, "d/a"));
	assert_true(hides(r, "d/b"));
	assert_true(hides(r, "d/c"));
	enter(r, "d/e", "!\n- g\n");
	assert_false(hides(r, "d/e/a"));
	assert_false(hides(r, "d/e/b"));
	assert_true(hides(r, "d/e/g"));
	assert_true(hides(r, "d/e/last"));
	/* What was left does not count any more. */
	enter(r, "d2", NULL);
	assert_true(hides(r, "d2/a"));
	assert_false(hides(r, "d2/b"));
	assert_false(hides(r, "d2/g"));
	sync_rules_free(r);
}

static void
test_not_below(void **state)
{
	struct sync_rules *r = some_rules();

	(void)state;
	add(r, ":n- .x");
	enter(r, "", "a\n");
	assert_true(hides(r, "a"));
	enter(r, "d", NULL);
	assert_false(hides(r, "d/a"));
	sync_rules_free(r);
}

static void
test_directory_refused(void **state)
{
	static const char *const texts[] = { ". /etc/passwd", ": .g",
		"merge x", "what\n" };
	struct sync_rules *r = some_rules();

	(void)state;
	add(r, ": .f");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t len = strlen(texts[i]);
		const char *why = NULL;

		assert_true(sync_rules_enter(r, "d", &texts[i], &len,
		    &why) < 0);
		assert_non_null(strstr(why, "d/.f, line 1: "));
	}
	sync_rules_free(r);
}

static void
test_limits(void **state)
{
	struct sync_rules *r = some_rules();
	const char *why;
	char long_one[3000] = "- ";

	(void)state;
	for (int i = 0; i < SYNC_RULES_MAX; i++)
		add(r, "- a");
	assert_int_equal(sync_rules_add(r, "- a", &why), ERR_LIMIT);
	add(r, "!");
	memset(long_one + 2, 'x', sizeof long_one - 3);
	for (size_t n = 0; n + sizeof long_one < SYNC_RULES_BYTES_MAX;
	    n += sizeof long_one)
		add(r, long_one);
	assert_int_equal(sync_rules_add(r, long_one, &why), ERR_LIMIT);
	sync_rules_free(r);
}

static void
test_deletes_of_excluded(void **state)
{
	struct sync_rules *r = some_rules();

	(void)state;
	sync_rules_sender_only(r);
	add(r, "- a");
	add(r, "P b");
	add(r, "-sr c");
	assert_true(sync_rules_excludes(r, SYNC_SENDER, "a", false));
	assert_false(sync_rules_excludes(r, SYNC_RECEIVER, "a", false));
	assert_true(sync_rules_excludes(r, SYNC_RECEIVER, "b", false));
	assert_true(sync_rules_excludes(r, SYNC_RECEIVER, "c", false));
	sync_rules_free(r);
}

static void
test_wire(void **state)
{
	/* The file of rules is told in any case, for it is read. */
	static const char want[] = "+\\[.f\0+a\0-/b/\0";
	struct sync_rules *r = some_rules();
	const void *wire;
	size_t len;

	(void)state;
	add(r, "+ a");
	add(r, "P p");
	add(r, "- /b/");
	add(r, ": [.f");
	add(r, "- c");
	wire = sync_rules_wire(r, &len);
	assert_int_equal(len, sizeof want - 1);
	assert_memory_equal(wire, want, len);
	sync_rules_free(r);
}

static void
test_cvs(void **state)
{
	char *ignore = temp_file(".cvsignore", "mine *.m\n! *.n\n");
	struct sync_rules *r = some_rules();

	(void)state;
	assert_int_equal(setenv("HOME", temp_dir, 1), 0);
	assert_int_equal(setenv("CVSIGNORE", "env", 1), 0);
	add(r, "+ keep.o");
	add(r, ":C");
	add(r, "-C");
	assert_string_equal(sync_rules_dir_file(r, 0), ".cvsignore");
	assert_true(hides(r, "x.n"));
	assert_false(hides(r, "x.m"));
	assert_true(hides(r, "env"));
	sync_rules_free(r);
	free(ignore);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sides),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_not_below),
		cmocka_unit_test(test_directory_refused),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_deletes_of_excluded),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_cvs),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
