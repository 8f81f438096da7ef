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

#define DEFAULT_PROGRAM "/usr/bin/ssh-askpass"

enum { REAP_MS = 20 };

/* What the program prints, as far as there is room. */
struct answer {
	char text[ASKPASS_ANSWER_MAX];
	size_t len;
};

struct askpass {
	struct loop *loop;
	struct loop_fd *watch;
	struct loop_timer *timer;
	int fd;
	pid_t pid; /* -1: it has ended */
	enum askpass_kind kind;
	struct answer answer;
	askpass_told_fn told;
	void *arg;
};

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

bool
askpass_possible(void)
{
	const char *require = getenv("SSH_ASKPASS_REQUIRE");

	if (require != NULL && strcasecmp(require, "force") == 0)
		return true;
	if (require != NULL && strcasecmp(require, "never") == 0)
		return false;
	return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

static const char *
program(void)
{
	return is_set("SSH_ASKPASS") ? getenv("SSH_ASKPASS") : DEFAULT_PROGRAM;
}

/* --- the program ------------------------------------------------------- */

static int
set_kind(enum askpass_kind kind)
{
	static const char name[] = "SSH_ASKPASS_PROMPT";

	switch (kind) {
	case ASKPASS_TEXT:
		return unsetenv(name);
	case ASKPASS_CONFIRM:
		return setenv(name, "confirm", 1);
	case ASKPASS_NOTICE:
		return setenv(name, "none", 1);
	}
	return -1;
}

static _Noreturn void
run_program(enum askpass_kind kind, const char *text, int out)
{
	if (dup2(out, STDOUT_FILENO) != -1 && set_kind(kind) == 0) {
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execlp(program(), program(), text, (char *)NULL);
	}
	_exit(127);
}

/* *fd is where its answer is read. */
static pid_t
start_program(enum askpass_kind kind, const char *text, int *fd)
{
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) == -1) {
		log_error("askpass: pipe: %s", err_text(ERR_SYSTEM));
		return -1;
	}
	pid = fork();
	if (pid == 0)
		run_program(kind, text, p[1]);
	fd_close(&p[1]);
	if (pid == -1) {
		log_error("askpass: fork: %s", err_text(ERR_SYSTEM));
		fd_close(&p[0]);
		return -1;
	}
	*fd = p[0];
	return pid;
}

/* Takes what has come; false at the end of it, or where there is nothing yet
 * (errno EAGAIN). What is beyond the room is read and forgotten. */
static bool
take(struct answer *a, int fd)
{
	char rest[64];
	size_t room = sizeof a->text - 1 - a->len;
	ssize_t n;

	errno = 0;
	n = room > 0 ? fd_read(fd, a->text + a->len, room) :
		       fd_read(fd, rest, sizeof rest);
	explicit_bzero(rest, sizeof rest);
	if (n > 0 && room > 0)
		a->len += (size_t)n;
	return n > 0;
}

/* Its first line; NULL if it ended badly, or said nothing at all where a text
 * was asked for. */
static const char *
conclude(struct answer *a, enum askpass_kind kind, int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
			log_error("askpass: cannot run %s", program());
		return NULL;
	}
	if (kind == ASKPASS_TEXT && a->len == 0)
		return NULL;
	a->text[a->len] = '\0';
	a->text[strcspn(a->text, "\r\n")] = '\0';
	return a->text;
}

/* --- waiting ----------------------------------------------------------- */

char *
askpass_ask(enum askpass_kind kind, const char *text)
{
	struct answer *a;
	const char *line = NULL;
	char *copy = NULL;
	int fd, status;
	pid_t pid = start_program(kind, text, &fd);

	if (pid == -1)
		return NULL;
	a = xcalloc(1, sizeof *a);
	while (take(a, fd))
		;
	fd_close(&fd);
	if (child_reap(pid, &status) == 0)
		line = conclude(a, kind, status);
	if (line != NULL) {
		copy = xcalloc(1, ASKPASS_ANSWER_MAX);
		memcpy(copy, line, strlen(line));
	}
	freezero(a, sizeof *a);
	return copy;
}

void
askpass_free(char *answer)
{
	if (answer != NULL)
		freezero(answer, ASKPASS_ANSWER_MAX);
}

bool
askpass_is_consent(const char *answer)
{
	return answer != NULL &&
	    (*answer == '\0' || strcasecmp(answer, "yes") == 0);
}

/* --- in the loop ------------------------------------------------------- */

static void
release(struct askpass *a)
{
	loop_unwatch(a->loop, a->watch);
	loop_cancel(a->loop, a->timer);
	fd_close(&a->fd);
	freezero(a, sizeof *a);
}

/* The object is gone before told is called, which may ask the next question. A
 * notice that the user closed stays until its owner drops it. */
static void
tell(struct askpass *a, int status)
{
	char text[ASKPASS_ANSWER_MAX];
	const char *line = conclude(&a->answer, a->kind, status);
	askpass_told_fn told = a->told;
	void *arg = a->arg;

	a->pid = -1;
	if (told == NULL)
		return;
	if (line != NULL)
		strlcpy(text, line, sizeof text);
	release(a);
	told(arg, line != NULL ? text : NULL);
	explicit_bzero(text, sizeof text);
}

/* Its output has ended, and it will end any moment: that is looked at now and
 * then, because nothing here may wait. */
static void
reap(void *arg)
{
	struct askpass *a = arg;
	int status = 0;
	pid_t pid = waitpid(a->pid, &status, WNOHANG);

	a->timer = NULL;
	if (pid == 0 || (pid == -1 && errno == EINTR))
		a->timer = loop_after(a->loop, REAP_MS, reap, a);
	else
		tell(a, pid == a->pid ? status : -1);
}

static void
on_answer(void *arg, int fd, int events)
{
	struct askpass *a = arg;

	(void)events;
	if (take(&a->answer, fd) || errno == EAGAIN)
		return;
	loop_unwatch(a->loop, a->watch);
	a->watch = NULL;
	reap(a);
}

/* What SIGKILL has ended is there to be reaped: this does not wait for anything
 * that the program could still do. */
static void
end_program(struct askpass *a)
{
	int status;

	if (a->pid == -1)
		return;
	(void)kill(a->pid, SIGKILL);
	(void)!child_reap(a->pid, &status);
}

struct askpass *
askpass_start(struct loop *loop, enum askpass_kind kind, const char *text,
    askpass_told_fn told, void *arg)
{
	struct askpass *a = xcalloc(1, sizeof *a);

	a->loop = loop;
	a->kind = kind;
	a->told = told;
	a->arg = arg;
	a->fd = -1;
	a->pid = start_program(kind, text, &a->fd);
	if (a->pid == -1) {
		release(a);
		return NULL;
	}
	a->watch = fd_set_nonblock(a->fd, true) == 0 ?
	    loop_watch(loop, a->fd, LOOP_READ, on_answer, a) :
	    NULL;
	if (a->watch == NULL) {
		log_error("askpass: %s", err_text(ERR_SYSTEM));
		askpass_drop(a);
		return NULL;
	}
	return a;
}

void
askpass_drop(struct askpass *a)
{
	if (a == NULL)
		return;
	end_program(a);
	release(a);
}
