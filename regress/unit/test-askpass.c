/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/clock.h"
#include "base/loop.h"
#include "compat/bsd.h"

static struct loop *loop;

static struct {
	int calls;
	bool agreed;
	char answer[2 * ASKPASS_ANSWER_MAX];
} told;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(loop = loop_new());
	memset(&told, 0, sizeof told);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all are reaped */
	return 0;
}

static void
on_told(void *arg, bool agreed, const char *answer)
{
	assert_ptr_equal(arg, &told);
	told.calls++;
	told.agreed = agreed;
	strlcpy(told.answer, answer != NULL ? answer : "(none)",
	    sizeof told.answer);
}

static void
use_program(const char *script)
{
	char text[512], *path;

	snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
	path = temp_file("program", text);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(setenv("SSH_ASKPASS", path, 1), 0);
	free(path);
}

static struct askpass *
ask(enum askpass_kind kind)
{
	struct askpass *a = askpass_ask(loop, kind, "a question?", on_told,
	    &told);

	assert_non_null(a);
	assert_int_equal(told.calls, 0);
	return a;
}

static void
wait_until_told(void)
{
	uint64_t began = clock_ms();

	while (told.calls == 0 && clock_ms() - began < 60000)
		assert_int_equal(loop_turn(loop, 20), 0);
	assert_int_equal(told.calls, 1);
}

static bool
agrees(enum askpass_kind kind, const char *script)
{
	memset(&told, 0, sizeof told);
	use_program(script);
	(void)ask(kind);
	wait_until_told();
	return told.agreed;
}

static void
test_confirm(void **state)
{
	(void)state;
	assert_true(agrees(ASKPASS_CONFIRM, "exit 0"));
	assert_string_equal(told.answer, "(none)");
	assert_true(agrees(ASKPASS_CONFIRM, "echo yes"));
	assert_true(agrees(ASKPASS_CONFIRM, "echo YES"));
	assert_false(agrees(ASKPASS_CONFIRM, "echo no"));
	assert_false(agrees(ASKPASS_CONFIRM, "echo yes, but"));
	assert_false(agrees(ASKPASS_CONFIRM, "echo yes; exit 1"));
	assert_false(agrees(ASKPASS_CONFIRM, "kill -9 $$"));
	assert_false(agrees(ASKPASS_CONFIRM, "yes | head -c 100000"));
}

static void
test_what_it_is_told(void **state)
{
	(void)state;
	assert_true(agrees(ASKPASS_CONFIRM,
	    "test \"$1 $SSH_ASKPASS_PROMPT\" = 'a question? confirm'"));
	assert_true(agrees(ASKPASS_NOTICE,
	    "test \"$SSH_ASKPASS_PROMPT\" = none"));
	assert_int_equal(setenv("SSH_ASKPASS_PROMPT", "confirm", 1), 0);
	assert_true(agrees(ASKPASS_SECRET,
	    "test -z \"${SSH_ASKPASS_PROMPT+set}\""));
}

static void
test_secret(void **state)
{
	(void)state;
	assert_true(agrees(ASKPASS_SECRET, "echo the PIN"));
	assert_string_equal(told.answer, "the PIN");
	assert_true(agrees(ASKPASS_SECRET, "true"));
	assert_string_equal(told.answer, "");
	assert_false(agrees(ASKPASS_SECRET, "echo the PIN; exit 1"));
	assert_string_equal(told.answer, "(none)");
	assert_true(agrees(ASKPASS_SECRET,
	    "head -c 16384 /dev/zero | tr '\\0' x; echo"));
	assert_int_equal(strlen(told.answer), ASKPASS_ANSWER_MAX);
	/* A part of a secret is none. */
	assert_false(agrees(ASKPASS_SECRET,
	    "head -c 16385 /dev/zero | tr '\\0' x; echo"));
	assert_string_equal(told.answer, "(none)");
	assert_false(agrees(ASKPASS_SECRET, "printf 'the\\0PIN\\n'"));
	assert_string_equal(told.answer, "(none)");
}

static void
test_cannot_run(void **state)
{
	(void)state;
	assert_int_equal(setenv("SSH_ASKPASS", "/nonexistent", 1), 0);
	(void)ask(ASKPASS_CONFIRM);
	wait_until_told();
	assert_false(told.agreed);
}

static void
test_drop(void **state)
{
	struct askpass *a;

	(void)state;
	use_program("exec sleep 100");
	a = ask(ASKPASS_NOTICE);
	for (int i = 0; i < 5; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	askpass_drop(a);
	askpass_drop(NULL);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(told.calls, 0);
}

static void
test_display(void **state)
{
	(void)state;
	assert_int_equal(unsetenv("DISPLAY"), 0);
	assert_int_equal(unsetenv("WAYLAND_DISPLAY"), 0);
	assert_false(askpass_has_display());
	assert_int_equal(setenv("DISPLAY", "", 1), 0);
	assert_false(askpass_has_display());
	assert_int_equal(setenv("WAYLAND_DISPLAY", "wayland-0", 1), 0);
	assert_true(askpass_has_display());
	assert_int_equal(unsetenv("SSH_ASKPASS"), 0);
	assert_string_equal(askpass_program(), "/usr/bin/ssh-askpass");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_confirm),
		TEST(test_what_it_is_told),
		TEST(test_secret),
		TEST(test_cannot_run),
		TEST(test_drop),
		TEST(test_display),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
