/* SPDX-License-Identifier: ISC */
/* A question on a terminal, asked by a child whose terminal is ours: our own
 * code, whether or not this C library has such a function too. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#if defined(__FreeBSD__)
#include <libutil.h>
#elif defined(__APPLE__)
/* <util.h>, which not every set of headers has. */
pid_t forkpty(int *terminal, char *name, struct termios *modes,
    struct winsize *size);
#else
#include <pty.h>
#endif

#include <cmocka.h>

#include "functions.h"

#undef HAVE_READPASSPHRASE
#define readpassphrase own_readpassphrase

#include "compat/readpassphrase.c"

enum { WAIT_SECONDS = 60, ROOM = 8 };

/* The child, our end of its terminal, and what it says of its answer. */
static struct {
	pid_t pid;
	int terminal, result;
} asked;

static void
answer_in_child(int to, int flags)
{
	char text[ROOM], line[64];
	const char *r;

	memset(text, '#', sizeof text);
	errno = 0;
	r = readpassphrase("Word? ", text, sizeof text, flags);
	snprintf(line, sizeof line, "%s/%d", r == NULL ? "NULL" : r,
	    r == NULL ? errno : 0);
	_exit(write(to, line, strlen(line)) > 0 ? 0 : 1);
}

static void
ask(int flags)
{
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	asked.pid = forkpty(&asked.terminal, NULL, NULL, NULL);
	assert_true(asked.pid >= 0);
	if (asked.pid == 0) {
		alarm(WAIT_SECONDS);
		answer_in_child(pipes[1], flags);
	}
	close(pipes[1]);
	asked.result = pipes[0];
}

/* What the terminal shows, up to the text. */
static void
shows(const char *wanted)
{
	char seen[128];
	size_t len = 0;

	do {
		assert_true(len < sizeof seen - 1);
		assert_int_equal(read(asked.terminal, seen + len, 1), 1);
		seen[++len] = '\0';
	} while (len < strlen(wanted));
	assert_string_equal(seen, wanted);
}

static void
type(const char *text)
{
	assert_int_equal(write(asked.terminal, text, strlen(text)),
	    strlen(text));
}

static bool
echoes(void)
{
	struct termios now;

	assert_int_equal(tcgetattr(asked.terminal, &now), 0);
	return now.c_lflag & ECHO;
}

/* The child ended, and said so. NULL: it was ended before it could. */
static int
says(const char *wanted)
{
	char line[64];
	ssize_t n = read(asked.result, line, sizeof line - 1);
	int status;

	assert_true(n >= 0);
	line[n] = '\0';
	assert_string_equal(line, wanted == NULL ? "" : wanted);
	assert_int_equal(waitpid(asked.pid, &status, 0), asked.pid);
	close(asked.result);
	close(asked.terminal);
	return status;
}

static void
hidden(void **state)
{
	(void)state;
	ask(RPP_ECHO_OFF);
	shows("Word? ");
	assert_false(echoes());
	type("open\n");
	shows("\r\n");
	assert_int_equal(says("open/0"), 0);
}

static void
shown(void **state)
{
	(void)state;
	ask(RPP_ECHO_ON | RPP_REQUIRE_TTY);
	shows("Word? ");
	assert_true(echoes());
	type("open\n");
	shows("open\r\n");
	assert_int_equal(says("open/0"), 0);
}

static void
cut(void **state)
{
	(void)state;
	ask(RPP_ECHO_OFF);
	shows("Word? ");
	type("123456789\n");
	shows("\r\n");
	assert_int_equal(says("1234567/0"), 0);
}

/* At the end of input there is an answer, of what was typed. */
static void
ended(void **state)
{
	(void)state;
	ask(RPP_ECHO_OFF);
	shows("Word? ");
	type("\004");
	shows("\r\n");
	assert_int_equal(says("/0"), 0);
}

/* It ends by the signal, and the terminal shows again what is typed. */
static void
interrupted(void **state)
{
	int status, held;

	(void)state;
	ask(RPP_ECHO_OFF);
	held = open(ptsname(asked.terminal), O_RDWR | O_NOCTTY);
	assert_true(held != -1);
	shows("Word? ");
	type("op\003");
	/* the character itself may be shown, as ^C */
	(void)waitid(P_PID, (id_t)asked.pid, &(siginfo_t){ 0 },
	    WEXITED | WNOWAIT);
	assert_true(echoes());
	status = says(NULL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	close(held);
}

/* The terminal is as it was in between; then the question is asked anew. The
 * child leads its session, so the kernel does not stop it. */
static void
stopped(void **state)
{
	(void)state;
	ask(RPP_ECHO_OFF);
	shows("Word? ");
	assert_int_equal(kill(asked.pid, SIGTSTP), 0);
	shows("\r\n");
	shows("Word? ");
	assert_false(echoes());
	type("open\n");
	shows("\r\n");
	assert_int_equal(says("open/0"), 0);
}

/* A child without a terminal, and with a standard input. */
static void
no_terminal(void **state)
{
	static const struct {
		int flags;
		const char *wanted;
	} cases[] = { { RPP_ECHO_OFF, "open/0" },
		{ RPP_REQUIRE_TTY, "NULL/25" } };
	int in[2], out[2], status;
	char line[64];
	ssize_t n;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		pid_t pid;

		assert_int_equal(pipe(in), 0);
		assert_int_equal(pipe(out), 0);
		assert_int_equal(write(in[1], "open\nmore", 9), 9);
		if ((pid = fork()) == 0) {
			int null = open("/dev/null", O_WRONLY);

			alarm(WAIT_SECONDS);
			setsid();
			dup2(in[0], STDIN_FILENO);
			dup2(null, STDERR_FILENO);
			answer_in_child(out[1], cases[i].flags);
		}
		close(out[1]);
		n = read(out[0], line, sizeof line - 1);
		assert_true(n >= 0);
		line[n] = '\0';
		assert_string_equal(line, cases[i].wanted);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		close(in[0]);
		close(in[1]);
		close(out[0]);
	}
}

static void
no_room(void **state)
{
	char text[1] = { '#' };

	(void)state;
	errno = 0;
	assert_null(readpassphrase("Word? ", text, 0, RPP_ECHO_OFF));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(text[0], '#');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden),
		cmocka_unit_test(shown),
		cmocka_unit_test(cut),
		cmocka_unit_test(ended),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(stopped),
		cmocka_unit_test(no_terminal),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
