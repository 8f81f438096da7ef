/* SPDX-License-Identifier: ISC */
/* A question on the terminal, where the C library does not ask it. */
#include "compat/bsd.h"

#ifndef HAVE_READPASSPHRASE

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <termios.h>

#include "compat/bsd-mem.h"

/* The signals that end or stop programs. They are held back, because the
 * program would leave a terminal that does not show what is typed. */
static const int caught[] = { SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT,
	SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU };
enum { CAUGHT = sizeof caught / sizeof *caught };

static volatile sig_atomic_t arrived[CAUGHT];

struct asking {
	int in, out;
	bool shown; /* what is typed */
	bool is_changed;
	struct termios before;
	struct sigaction actions[CAUGHT];
	sigset_t mask;
};

static void
note(int signo)
{
	for (int i = 0; i < CAUGHT; i++)
		if (caught[i] == signo)
			arrived[i] = 1;
}

static bool
has_arrived(void)
{
	for (int i = 0; i < CAUGHT; i++)
		if (arrived[i])
			return true;
	return false;
}

static bool
is_stop(int signo)
{
	return signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

/* Notes signals in place of their effect. Signals from the keyboard or another
 * process are blocked, and arrive only in pselect(): so none gets lost just
 * before it. SIGTTIN and SIGTTOU are not blocked, because then the kernel would
 * let a process in the background use the terminal. A stop signal that is
 * ignored is not caught: passed on, it would not stop the program, and the
 * question would be repeated for ever. */
static void
catch_signals(struct asking *a)
{
	struct sigaction action = { .sa_handler = note };
	sigset_t held;

	sigemptyset(&action.sa_mask);
	sigemptyset(&held);
	for (int i = 0; i < CAUGHT; i++) {
		arrived[i] = 0;
		(void)sigaction(caught[i], &action, &a->actions[i]);
		if (is_stop(caught[i]) && a->actions[i].sa_handler == SIG_IGN)
			(void)sigaction(caught[i], &a->actions[i], NULL);
		if (caught[i] != SIGTTIN && caught[i] != SIGTTOU)
			sigaddset(&held, caught[i]);
	}
	(void)pthread_sigmask(SIG_BLOCK, &held, &a->mask);
}

static bool
set_terminal(int fd, const struct termios *to)
{
	int r;

	do
		r = tcsetattr(fd, TCSAFLUSH, to);
	while (r != 0 && errno == EINTR && !has_arrived());
	return r == 0;
}

static void
hide_typing(struct asking *a)
{
	struct termios now;

	if (a->shown || tcgetattr(a->in, &a->before) != 0)
		return;
	now = a->before;
	now.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	/* In a background process this fails with SIGTTOU, which pass_on()
	 * passes on: it stops the process, which asks again when it goes on. */
	a->is_changed = set_terminal(a->in, &now);
}

/* Restores the terminal and the signals: other processes find the terminal as
 * it was before the question. */
static void
put_back(struct asking *a)
{
	(void)pthread_sigmask(SIG_SETMASK, &a->mask, NULL);
	if (a->is_changed && !set_terminal(a->in, &a->before))
		(void)tcsetattr(a->in, TCSANOW, &a->before);
	for (int i = 0; i < CAUGHT; i++)
		(void)sigaction(caught[i], &a->actions[i], NULL);
}

/* pselect() works with the terminals of all systems (poll() does not), but not
 * with descriptors from FD_SETSIZE on. */
static ssize_t
read_byte(const struct asking *a, char *c)
{
	fd_set set;

	FD_ZERO(&set);
	if (a->in < FD_SETSIZE) {
		FD_SET(a->in, &set);
		if (pselect(a->in + 1, &set, NULL, NULL, NULL, &a->mask) == -1)
			return -1;
	} else
		(void)pthread_sigmask(SIG_SETMASK, &a->mask, NULL);
	return read(a->in, c, 1);
}

/* Reads a line. 1, or 0 at the end of input; -1: error. What does not fit is
 * read too, so that it is not what the next reader gets. */
static ssize_t
read_line(const struct asking *a, char *answer, size_t size)
{
	size_t len = 0;
	ssize_t n;
	char c;

	for (;;) {
		n = read_byte(a, &c);
		if (n == -1 && errno == EINTR && !has_arrived())
			continue;
		if (n != 1 || c == '\n' || c == '\r')
			break;
		if (len < size - 1)
			answer[len++] = c;
	}
	answer[len] = '\0';
	explicit_bzero(&c, sizeof c);
	return n;
}

static ssize_t
ask_once(struct asking *a, const char *prompt, char *answer, size_t size)
{
	ssize_t n = -1;
	int why;

	a->is_changed = false;
	catch_signals(a);
	hide_typing(a);
	if (!has_arrived()) {
		(void)!write(a->out, prompt, strlen(prompt));
		n = read_line(a, answer, size);
		if (a->is_changed)
			(void)!write(a->out, "\n", 1);
	}
	why = errno;
	put_back(a);
	errno = why;
	return n;
}

/* Sends this process the signals that have arrived, now with their effect.
 * True: one of them was a stop signal. */
static bool
pass_on(void)
{
	const int why = errno;
	bool stopped = false;

	for (int i = 0; i < CAUGHT; i++) {
		if (!arrived[i])
			continue;
		(void)kill(getpid(), caught[i]);
		stopped |= is_stop(caught[i]);
	}
	errno = why;
	return stopped;
}

char *
readpassphrase(const char *prompt, char *answer, size_t size, int flags)
{
	struct asking a = { .in = STDIN_FILENO, .out = STDERR_FILENO,
		.shown = flags & RPP_ECHO_ON };
	int tty;
	ssize_t n;

	if (size == 0) {
		errno = EINVAL;
		return NULL;
	}
	if ((tty = open(_PATH_TTY, O_RDWR | O_CLOEXEC)) != -1)
		a.in = a.out = tty;
	else if (flags & RPP_REQUIRE_TTY) {
		errno = ENOTTY;
		return NULL;
	}
	do
		n = ask_once(&a, prompt, answer, size);
	while (pass_on());
	if (n == -1)
		explicit_bzero(answer, size);
	if (tty != -1) {
		const int why = errno;

		close(tty);
		errno = why;
	}
	return n == -1 ? NULL : answer;
}

#endif
