/* SPDX-License-Identifier: ISC */
#include "base/askpass.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/sock.h"

#define ASKPASS_DEFAULT "/usr/bin/ssh-askpass"

enum { REAP_MS = 20, CANNOT_RUN = 127 };

struct askpass {
	enum askpass_kind kind;
	struct loop *loop;
	struct loop_fd *watch;
	struct loop_timer *timer;
	int fd;
	pid_t pid;
	char answer[ASKPASS_BUFFER_BYTES]; /* the output's first bytes */
	size_t len;
	askpass_fn told;
	void *arg;
};

/* The value of SSH_ASKPASS_PROMPT, which tells the program its task. */
static const char *const prompts[] = {
	[ASKPASS_CONFIRM] = "confirm",
	[ASKPASS_SECRET] = NULL,
	[ASKPASS_NOTICE] = "none",
};

const char *
askpass_program(void)
{
	const char *program = getenv("SSH_ASKPASS");

	return program != NULL && *program != '\0' ? program :
						      ASKPASS_DEFAULT;
}

bool
askpass_has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x != NULL && *x != '\0') ||
	    (wayland != NULL && *wayland != '\0');
}

bool
askpass_possible(void)
{
	const char *require = getenv("SSH_ASKPASS_REQUIRE");

	if (require != NULL && strcasecmp(require, "force") == 0)
		return true;
	if (require != NULL && strcasecmp(require, "never") == 0)
		return false;
	return askpass_has_display();
}

static bool
set_prompt(enum askpass_kind kind)
{
	if (prompts[kind] == NULL)
		return unsetenv("SSH_ASKPASS_PROMPT") == 0;
	return setenv("SSH_ASKPASS_PROMPT", prompts[kind], 1) == 0;
}

static _Noreturn void
run_program(enum askpass_kind kind, const char *text, int out)
{
	const char *program = askpass_program();

	if (dup2(out, STDOUT_FILENO) != -1 && set_prompt(kind)) {
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execlp(program, program, text, (char *)NULL);
	}
	_exit(CANNOT_RUN);
}

/* Starts the program; *fd is where its answer is read from. */
static pid_t
start_program(enum askpass_kind kind, const char *text, int *fd)
{
	int p[2];
	pid_t pid;

	if (sock_pipe(p, SOCK_WAITS) == -1) {
		log_error("askpass: pipe: %s", strerror(errno));
		return -1;
	}
	pid = fork();
	if (pid == 0)
		run_program(kind, text, p[1]);
	fd_close(&p[1]);
	if (pid == -1) {
		log_error("askpass: fork: %s", strerror(errno));
		fd_close(&p[0]);
		return -1;
	}
	*fd = p[0];
	return pid;
}

static void
release(struct askpass *a)
{
	loop_unwatch(a->loop, a->watch);
	loop_cancel(a->loop, a->timer);
	fd_close(&a->fd);
	mem_free_secret(a, sizeof *a);
}

/* Cuts the answer to the first line of the output. False, which is logged: the
 * line is too long, or has a NUL in it. */
static bool
cut_line(struct askpass *a)
{
	size_t got = MIN(a->len, sizeof a->answer - 1), len;

	a->answer[got] = '\0';
	len = strcspn(a->answer, "\r\n");
	if (len > ASKPASS_ANSWER_MAX)
		log_error("askpass: an answer of more than %d bytes is not "
			  "taken",
		    (int)ASKPASS_ANSWER_MAX);
	else if (len < got && a->answer[len] == '\0')
		log_error("askpass: an answer with a NUL is not taken");
	else {
		a->answer[len] = '\0';
		return true;
	}
	return false;
}

static bool
is_agreed(struct askpass *a, int status)
{
	if (!cut_line(a))
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_RUN)
			log_error("askpass: cannot run %s", askpass_program());
		return false;
	}
	return a->kind != ASKPASS_CONFIRM || a->answer[0] == '\0' ||
	    strcasecmp(a->answer, "yes") == 0;
}

/* A program whose output has ended will end soon. As nothing here may wait, a
 * timer looks for its end again and again. */
static void
reap(void *arg)
{
	struct askpass *a = arg;
	askpass_fn told = a->told;
	void *told_arg = a->arg;
	char answer[ASKPASS_BUFFER_BYTES];
	bool agreed, secret;
	int status;
	pid_t pid = waitpid(a->pid, &status, WNOHANG);

	a->timer = NULL;
	if (pid == 0 || (pid == -1 && errno == EINTR)) {
		a->timer = loop_after(a->loop, REAP_MS, reap, a);
		return;
	}
	agreed = pid == a->pid && is_agreed(a, status);
	secret = agreed && a->kind == ASKPASS_SECRET;
	memcpy(answer, a->answer, sizeof answer);
	release(a);
	told(told_arg, agreed, secret ? answer : NULL);
	explicit_bzero(answer, sizeof answer);
}

/* Reads a piece of the output. Bytes that a->answer has no room for are
 * lost. */
static ssize_t
take(struct askpass *a, int fd)
{
	char piece[64];
	ssize_t n = fd_read(fd, piece, sizeof piece);
	size_t room = sizeof a->answer - a->len;

	if (n > 0) {
		memcpy(a->answer + a->len, piece, MIN((size_t)n, room));
		a->len += MIN((size_t)n, room);
		explicit_bzero(piece, sizeof piece);
	}
	return n;
}

static void
on_answer(void *arg, int fd, int events)
{
	struct askpass *a = arg;
	ssize_t n = take(a, fd);

	(void)events;
	if (n > 0 || (n == -1 && errno == EAGAIN))
		return;
	loop_unwatch(a->loop, a->watch);
	a->watch = NULL;
	reap(a);
}

struct askpass *
askpass_ask(struct loop *loop, enum askpass_kind kind, const char *text,
    askpass_fn told, void *arg)
{
	struct askpass *a = calloc(1, sizeof *a);

	if (a == NULL) {
		log_error("askpass: %s", err_text(ERR_NOMEM));
		return NULL;
	}
	a->kind = kind;
	a->loop = loop;
	a->told = told;
	a->arg = arg;
	a->fd = -1;
	a->pid = start_program(kind, text, &a->fd);
	if (a->pid == -1) {
		release(a);
		return NULL;
	}
	if (fd_set_nonblock(a->fd, true) == 0)
		a->watch = loop_watch(loop, a->fd, LOOP_READ, on_answer, a);
	if (a->watch != NULL)
		return a;
	log_error("askpass: %s", err_text(ERR_SYSTEM));
	askpass_drop(a);
	return NULL;
}

/* Kills the program and waits for its end, which is not long then. */
void
askpass_drop(struct askpass *a)
{
	int status;

	if (a == NULL)
		return;
	(void)kill(a->pid, SIGKILL);
	(void)!child_reap(a->pid, &status);
	release(a);
}

/* ---- waiting ------------------------------------------------------------ */

char *
askpass_wait(enum askpass_kind kind, const char *text)
{
	struct askpass *a = xcalloc(1, sizeof *a);
	char *answer = NULL;
	int fd, status;
	pid_t pid = start_program(kind, text, &fd);
	bool agreed = false;

	a->kind = kind;
	if (pid != -1) {
		while (take(a, fd) > 0)
			;
		fd_close(&fd);
		agreed = child_reap(pid, &status) == 0 &&
		    is_agreed(a, status);
	}
	/* An empty text for a secret means that the user has cancelled. */
	if (agreed && (kind != ASKPASS_SECRET || a->len > 0)) {
		answer = xcalloc(1, ASKPASS_BUFFER_BYTES);
		if (kind == ASKPASS_SECRET)
			memcpy(answer, a->answer, ASKPASS_BUFFER_BYTES);
	}
	mem_free_secret(a, sizeof *a);
	return answer;
}

void
askpass_free(char *answer)
{
	mem_free_secret(answer, ASKPASS_BUFFER_BYTES);
}

/* ---- showing ------------------------------------------------------------ */

pid_t
askpass_show(const char *text)
{
	pid_t pid;
	int fd;

	if (!askpass_possible())
		return 0;
	pid = start_program(ASKPASS_NOTICE, text, &fd);
	if (pid == -1)
		return 0;
	fd_close(&fd);
	return pid;
}

void
askpass_hide(pid_t window)
{
	int status;

	if (window == 0)
		return;
	(void)kill(window, SIGKILL);
	(void)!child_reap(window, &status);
}
