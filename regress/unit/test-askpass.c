/* SPDX-License-Identifier: ISC */
/* The program that asks the user: a script that the test writes. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/fd.h"
#include "base/mem.h"

static char dir[] = "/tmp/hpn-askpass-XXXXXX";
static char script[sizeof dir + 16];

static void
write_script(const char *body)
{
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(script, 0700), 0);
}

/* --- waiting --- */

static void
test_answers(void **state)
{
	static const struct {
		const char *body;
		enum askpass_kind kind;
		const char *want;
	} cases[] = {
	    {"echo a word", ASKPASS_TEXT, "a word"},
	    {"printf 'a word'", ASKPASS_TEXT, "a word"},
	    {"printf 'one\\r\\ntwo'", ASKPASS_TEXT, "one"},
	    {"echo", ASKPASS_TEXT, ""},
	    {"exit 0", ASKPASS_TEXT, NULL},
	    {"exit 0", ASKPASS_CONFIRM, ""},
	    {"echo a word; exit 1", ASKPASS_TEXT, NULL},
	    {"echo a word; kill -9 $$", ASKPASS_TEXT, NULL},
	    {"echo \"$1\"", ASKPASS_TEXT, "What?"},
	    {"echo \"${SSH_ASKPASS_PROMPT-not set}\"", ASKPASS_TEXT,
		"not set"},
	    {"echo \"$SSH_ASKPASS_PROMPT\"", ASKPASS_CONFIRM, "confirm"},
	    {"echo \"$SSH_ASKPASS_PROMPT\"", ASKPASS_NOTICE, "none"},
	};

	(void)state;
	setenv("SSH_ASKPASS_PROMPT", "from outside", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *answer;

		write_script(cases[i].body);
		answer = askpass_ask(cases[i].kind, "What?");
		if (cases[i].want == NULL)
			assert_null(answer);
		else
			assert_string_equal(answer, cases[i].want);
		askpass_free(answer);
	}
	unsetenv("SSH_ASKPASS_PROMPT");
}

/* More than there is room for is read, so that the program can end. */
static void
test_long_answer(void **state)
{
	char *answer;

	(void)state;
	write_script("head -c 300000 /dev/zero | tr '\\0' x");
	answer = askpass_ask(ASKPASS_TEXT, "What?");
	assert_non_null(answer);
	assert_int_equal(strlen(answer), ASKPASS_ANSWER_MAX - 1);
	askpass_free(answer);
	setenv("SSH_ASKPASS", "/nonexistent/askpass", 1);
	assert_null(askpass_ask(ASKPASS_TEXT, "What?"));
	setenv("SSH_ASKPASS", script, 1);
}

static void
test_consent(void **state)
{
	(void)state;
	assert_true(askpass_is_consent(""));
	assert_true(askpass_is_consent("yes"));
	assert_true(askpass_is_consent("YES"));
	assert_false(askpass_is_consent(NULL));
	assert_false(askpass_is_consent("no"));
	assert_false(askpass_is_consent("yes, but"));
}

static void
set_variable(const char *name, const char *value)
{
	assert_int_equal(
	    value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void
test_possible(void **state)
{
	static const struct {
		const char *require, *x, *wayland;
		bool want;
	} cases[] = {
	    {NULL, NULL, NULL, false},
	    {NULL, "", "", false},
	    {NULL, ":0", NULL, true},
	    {NULL, NULL, "wayland-0", true},
	    {"prefer", NULL, NULL, false},
	    {"force", NULL, NULL, true},
	    {"never", ":0", "wayland-0", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_variable("SSH_ASKPASS_REQUIRE", cases[i].require);
		set_variable("DISPLAY", cases[i].x);
		set_variable("WAYLAND_DISPLAY", cases[i].wayland);
		assert_int_equal(askpass_possible(), cases[i].want);
	}
}

/* --- in the loop --- */

static struct {
	struct loop *loop;
	char answer[ASKPASS_ANSWER_MAX];
	bool told, none;
} heard;

static void
on_told(void *arg, const char *answer)
{
	assert_ptr_equal(arg, &heard);
	assert_false(heard.told);
	heard.told = true;
	heard.none = answer == NULL;
	strlcpy(heard.answer, answer != NULL ? answer : "",
	    sizeof heard.answer);
	loop_stop(heard.loop);
}

/* body NULL: the script stays as it is. */
static struct askpass *
start(const char *body, enum askpass_kind kind)
{
	struct askpass *a;

	heard.told = false;
	if (body != NULL)
		write_script(body);
	a = askpass_start(heard.loop, kind, "What?",
	    kind == ASKPASS_NOTICE ? NULL : on_told, &heard);
	assert_non_null(a);
	return a;
}

static void
test_in_the_loop(void **state)
{
	(void)state;
	heard.loop = loop_new();
	start("echo later", ASKPASS_TEXT);
	assert_false(heard.told);
	assert_int_equal(loop_run(heard.loop), 0);
	assert_string_equal(heard.answer, "later");
	start("exit 3", ASKPASS_CONFIRM);
	assert_int_equal(loop_run(heard.loop), 0);
	assert_true(heard.none);
	/* Its output ends before it does. */
	start("echo yes; exec >&-; sleep 0.1; exit 1", ASKPASS_CONFIRM);
	assert_int_equal(loop_run(heard.loop), 0);
	assert_true(heard.none);
	loop_free(heard.loop);
}

/* What is dropped is ended at once, and is not told. */
static void
test_drop(void **state)
{
	struct askpass *a, *notice;

	(void)state;
	heard.loop = loop_new();
	a = start("exec sleep 1000", ASKPASS_CONFIRM);
	/* A script that is written while it starts could not be run. */
	notice = start(NULL, ASKPASS_NOTICE);
	assert_int_equal(loop_turn(heard.loop, 0), 0);
	assert_false(heard.told);
	askpass_drop(a);
	askpass_drop(notice);
	askpass_drop(NULL);
	/* A notice that the user closed. */
	notice = start("exit 0", ASKPASS_NOTICE);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(heard.loop, 5), 0);
	askpass_drop(notice);
	assert_false(heard.told);
	loop_free(heard.loop);
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(script, sizeof script, "%s/ask", dir);
	return setenv("SSH_ASKPASS", script, 1);
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(script);
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answers),
	    cmocka_unit_test(test_long_answer),
	    cmocka_unit_test(test_consent),
	    cmocka_unit_test(test_possible),
	    cmocka_unit_test(test_in_the_loop),
	    cmocka_unit_test(test_drop),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
