/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/flags-getopt.h"
#include "base/mem.h"
#include "compat/sock.h"

static const struct option names[] = {
	{ "times", required_argument, NULL, 256 },
	{ "plain", no_argument, NULL, 257 },
	{ NULL, 0, NULL, 0 },
};

/* What is said on standard error of the one argument. */
static void
assert_said(char *argument, bool is_long, int want, const char *text)
{
	char *argv[] = { "program", argument, NULL }, got[128];
	int pair[2], saved = dup(STDERR_FILENO), letter;
	ssize_t n;

	assert_int_equal(sock_pipe(pair, SOCK_AT_ONCE), 0);
	assert_int_equal(dup2(pair[1], STDERR_FILENO), STDERR_FILENO);
	optind = 0; /* begins anew */
	letter = is_long ? flags_getopt_long(2, argv, "+ab:", names) :
			   flags_getopt(2, argv, "+ab:");
	fflush(stderr);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	n = read(pair[0], got, sizeof got - 1);
	got[n > 0 ? n : 0] = '\0';
	close(pair[0]);
	close(pair[1]);
	close(saved);
	assert_int_equal(letter, want);
	assert_string_equal(got, text);
}

static void
test_letters(void **state)
{
	(void)state;
	assert_said("-a", false, 'a', "");
	assert_said("-bx", false, 'b', "");
	assert_said("-9", false, '?', "unknown option -- 9\n");
	assert_said("-?", false, '?', "unknown option -- ?\n");
	assert_said("-:", false, '?', "unknown option -- :\n");
	assert_said("-b", false, '?', "option requires an argument -- b\n");
	assert_said("--a", false, '?', "unknown option -- -\n");
	assert_said("word", false, -1, "");
}

static void
test_names(void **state)
{
	(void)state;
	assert_said("--plain", true, 257, "");
	assert_said("--times=2", true, 256, "");
	assert_said("-9", true, '?', "unknown option -- 9\n");
	assert_said("--nosuch", true, '?', "unknown option -- nosuch\n");
	assert_said("--times", true, '?',
	    "option requires an argument -- times\n");
	assert_said("--plain=2", true, '?',
	    "option doesn't take an argument -- plain=2\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
