/* SPDX-License-Identifier: ISC */
#include "regress/unit/refuse-call.h"

#include "regress/unit/help.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compat/proc.h"

static int arguments;
static char **words;

/* ---- descriptors -------------------------------------------------------- */

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Some with gaps between them, also above a limit that was lowered. */
static int
close_some(void)
{
	static const int far_ones[] = { 40, 41, 100, 250, 251, 900 };
	struct rlimit rl;

	for (size_t i = 0; i < sizeof far_ones / sizeof far_ones[0]; i++)
		if (dup2(STDIN_FILENO, far_ones[i]) == -1)
			return 1;
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return 2;
	rl.rlim_cur = 64;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		return 3;
	proc_close_from(41);
	if (!is_open(40) || !is_open(STDERR_FILENO))
		return 4;
	for (int fd = 41; fd < 1000; fd++)
		if (is_open(fd))
			return 5;
	return 0;
}

static int
close_without_call(void)
{
#ifdef SYS_close_range
	if (!refuse_call(SYS_close_range, ENOSYS))
		return 77;
	return close_some();
#else
	return 77;
#endif
}

/* Neither the call nor /proc, as in a root of its own. */
static int
close_blindly(void)
{
#if defined(SYS_close_range) && defined(SYS_openat)
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return 1;
	/* To be done soon. */
	if (rl.rlim_max > 4096)
		rl.rlim_cur = rl.rlim_max = 4096;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		return 2;
	if (!refuse_call(SYS_close_range, ENOSYS) ||
	    !refuse_call(SYS_openat, ENOENT))
		return 77;
	return close_some();
#else
	return 77;
#endif
}

static void
test_close(void **state)
{
	(void)state;
	in_child(close_some);
}

static void
test_close_without_call(void **state)
{
	(void)state;
	in_child(close_without_call);
}

static void
test_close_blindly(void **state)
{
	(void)state;
	in_child(close_blindly);
}

/* ---- title, environment, program ---------------------------------------- */

#if defined(__linux__)
/* What ps(1) shows, with spaces for zeros within it. */
static size_t
shown(char *out, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, out, size - 1);

	close(fd);
	while (n > 0 && out[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (out[i] == '\0')
			out[i] = ' ';
	out[n > 0 ? n : 0] = '\0';
	return strlen(out);
}

static int
set_titles(void)
{
	char got[4096], want[4096], *home, first[256];

	snprintf(first, sizeof first, "%s", words[0]);
	if (setenv("HPN_TEST", "is kept", 1) != 0)
		return 1;
	proc_title_begin(arguments, words, "told");
	if (strcmp(words[0], first) != 0 || strcmp(proc_name(), "told") != 0)
		return 2;
	proc_title("%s@%d", "user", 7);
	shown(got, sizeof got);
	if (strcmp(got, "told: user@7") != 0)
		return 3;
	/* Into the place of the environment; then a short one again. */
	memset(want, 'x', 200);
	want[200] = '\0';
	proc_title("%s", want);
	shown(got, sizeof got);
	if (strncmp(got, "told: xxx", 9) != 0 || strlen(got) != 206)
		return 4;
	proc_title("s");
	shown(got, sizeof got);
	if (strcmp(got, "told: s") != 0)
		return 5;
	/* More than there is room for. */
	for (int i = 0; i < 3; i++)
		proc_title("%4000d", i);
	home = getenv("HPN_TEST");
	if (home == NULL || strcmp(home, "is kept") != 0 ||
	    getenv("PATH") == NULL || strcmp(words[0], first) != 0)
		return 6;
	if (strstr(program_invocation_name, "proc") == NULL)
		return 7;
	return 0;
}
#endif

static void
test_title(void **state)
{
	(void)state;
#if defined(__linux__)
	in_child(set_titles);
#else
	skip();
#endif
}

static int
forget_environment(void)
{
	if (proc_clear_env() != 0 || getenv("PATH") != NULL ||
	    getenv("HOME") != NULL)
		return 1;
	if (setenv("NEW", "1", 1) != 0 || getenv("NEW") == NULL)
		return 2;
	return proc_clear_env() == 0 && getenv("NEW") == NULL ? 0 : 3;
}

static void
test_environment(void **state)
{
	(void)state;
	in_child(forget_environment);
}

static int
run_again(void)
{
	char word[] = "again", name[] = "other-name", *argv[] = { name, word,
		NULL }, *env[] = { NULL };

	proc_execute_self(argv, env);
	return 1;
}

static void
test_program(void **state)
{
	char path[4096], little[4];

	(void)state;
	assert_int_equal(proc_self_path(path, sizeof path), 0);
	assert_non_null(strstr(path, "test-proc"));
	assert_int_equal(access(path, X_OK), 0);
	assert_int_equal(proc_self_path(little, sizeof little), -1);
	in_child(run_again);
}

/* ---- signals ------------------------------------------------------------ */

static int
drop_signals(void)
{
	sigset_t some, come;

	sigemptyset(&some);
	sigaddset(&some, SIGINT);
	sigaddset(&some, SIGQUIT);
	sigaddset(&some, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &some, NULL) != 0)
		return 1;
	raise(SIGINT);
	raise(SIGQUIT);
	raise(SIGTERM);
	sigdelset(&some, SIGTERM);
	proc_drop_signals(&some);
	if (sigpending(&come) != 0 || sigismember(&come, SIGINT) ||
	    sigismember(&come, SIGQUIT) || !sigismember(&come, SIGTERM))
		return 2;
	proc_drop_signals(&some); /* there are none: it does not wait */
	return 0;
}

static void
test_signals(void **state)
{
	(void)state;
	in_child(drop_signals);
}

/* ---- what it gives up --------------------------------------------------- */

static int
give_up(void)
{
	if (proc_hide() != 0 && errno != ENOSYS)
		return 1;
	if (proc_no_new_privs() != 0 && errno != ENOSYS)
		return 2;
	if (proc_end_with_parent() != 0 && errno != ENOSYS)
		return 3;
#if defined(__linux__)
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (strstr(text, "NoNewPrivs:\t1") == NULL)
		return 4;
	if (proc_keeps_caps())
		return 5;
	proc_keep_caps();
	if (!proc_keeps_caps())
		return 6;
#endif
	return proc_unhide() == 0 || errno == ENOSYS ? 0 : 7;
}

static void
test_give_up(void **state)
{
	(void)state;
	in_child(give_up);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_close_without_call),
		cmocka_unit_test(test_close_blindly),
		cmocka_unit_test(test_title),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_give_up),
	};

	if (argc == 2 && strcmp(argv[1], "again") == 0)
		return 0;
	arguments = argc;
	words = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
