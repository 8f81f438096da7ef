/* SPDX-License-Identifier: ISC */
/* Asking the user and waiting: by a script that the test writes, or a line of
 * the standard input. */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/prompt.h"

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

/* ---- waiting ------------------------------------------------------------ */

static void
test_answers(void **state)
{
	static const struct {
		const char *body;
		enum askpass_kind kind;
		const char *want;
	} cases[] = {
	    {"echo a word", ASKPASS_SECRET, "a word"},
	    {"printf 'a word'", ASKPASS_SECRET, "a word"},
	    {"printf 'one\\r\\ntwo'", ASKPASS_SECRET, "one"},
	    {"echo", ASKPASS_SECRET, ""},
	    {"exit 0", ASKPASS_SECRET, NULL},
	    {"exit 0", ASKPASS_CONFIRM, ""},
	    {"echo a word; exit 1", ASKPASS_SECRET, NULL},
	    {"echo a word; kill -9 $$", ASKPASS_SECRET, NULL},
	    {"echo \"$1\"", ASKPASS_SECRET, "What?"},
	    {"echo \"${SSH_ASKPASS_PROMPT-not set}\"", ASKPASS_SECRET,
		"not set"},
	    {"echo yes", ASKPASS_CONFIRM, ""},
	    {"echo no", ASKPASS_CONFIRM, NULL},
	    {"exit 1", ASKPASS_CONFIRM, NULL},
	    {"test \"$SSH_ASKPASS_PROMPT\" = confirm", ASKPASS_CONFIRM, ""},
	    {"test \"$SSH_ASKPASS_PROMPT\" = none", ASKPASS_NOTICE, ""},
	};

	(void)state;
	setenv("SSH_ASKPASS_PROMPT", "from outside", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *answer;

		write_script(cases[i].body);
		answer = askpass_wait(cases[i].kind, "What?");
		if (cases[i].want == NULL)
			assert_null(answer);
		else
			assert_string_equal(answer, cases[i].want);
		askpass_free(answer);
	}
	unsetenv("SSH_ASKPASS_PROMPT");
}

/* More than there is room for is read, so that the program can end; it is no
 * answer, and neither is its beginning. */
static void
test_long_answer(void **state)
{
	char *answer;

	(void)state;
	write_script("head -c 300000 /dev/zero | tr '\\0' x");
	answer = askpass_wait(ASKPASS_SECRET, "What?");
	assert_null(answer);
	write_script("head -c 16384 /dev/zero | tr '\\0' x");
	answer = askpass_wait(ASKPASS_SECRET, "What?");
	assert_non_null(answer);
	assert_int_equal(strlen(answer), ASKPASS_ANSWER_MAX);
	askpass_free(answer);
	setenv("SSH_ASKPASS", "/nonexistent/askpass", 1);
	assert_null(askpass_wait(ASKPASS_SECRET, "What?"));
	setenv("SSH_ASKPASS", script, 1);
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

/* No display, no terminal: what is read ends with the line. */
static void
test_line_of_input(void **state)
{
	int p[2], tty = open("/dev/tty", O_RDWR), saved = dup(STDIN_FILENO);
	char *first, *second;

	(void)state;
	if (tty != -1) {
		close(tty);
		close(saved);
		print_message("there is a terminal\n");
		skip();
	}
	set_variable("SSH_ASKPASS_REQUIRE", "never");
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "one\ntwo\n", 8), 8);
	close(p[1]);
	assert_int_equal(dup2(p[0], STDIN_FILENO), STDIN_FILENO);
	first = prompt_ask_or_read("");
	second = prompt_ask_or_read("");
	assert_string_equal(first, "one");
	assert_string_equal(second, "two");
	prompt_free(first);
	prompt_free(second);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	close(p[0]);
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
	    cmocka_unit_test(test_possible),
	    cmocka_unit_test(test_line_of_input),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
