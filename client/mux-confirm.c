/* SPDX-License-Identifier: ISC */
#include "client/mux-confirm.h"

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
#include "client/prompt.h"

enum { ANSWER_MAX = 64, REAP_MS = 20 };

struct mux_confirm {
	struct loop *loop;
	struct loop_fd *watch;
	struct loop_timer *timer;
	int fd;
	pid_t pid;
	char answer[ANSWER_MAX]; /* its beginning */
	size_t len;
	void (*told)(void *arg, bool allowed);
	void *arg;
};

static _Noreturn void
run_askpass(const char *question, int out)
{
	const char *program = prompt_askpass();

	if (dup2(out, STDOUT_FILENO) != -1 &&
	    setenv("SSH_ASKPASS_PROMPT", "confirm", 1) == 0) {
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execlp(program, program, question, (char *)NULL);
	}
	_exit(127);
}

static void
release(struct mux_confirm *c)
{
	loop_unwatch(c->loop, c->watch);
	loop_cancel(c->loop, c->timer);
	fd_close(&c->fd);
	free(c);
}

/* It exited well, and said nothing else than yes. */
static bool
is_consent(struct mux_confirm *c, int status)
{
	c->answer[MIN(c->len, sizeof c->answer - 1)] = '\0';
	c->answer[strcspn(c->answer, "\r\n")] = '\0';
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
	    (c->answer[0] == '\0' || strcasecmp(c->answer, "yes") == 0);
}

/* Its output has ended, and it will end any moment: that is looked at now and
 * then, because nothing here may wait. */
static void
reap(void *arg)
{
	struct mux_confirm *c = arg;
	void (*told)(void *, bool) = c->told;
	void *told_arg = c->arg;
	bool allowed;
	int status;
	pid_t pid = waitpid(c->pid, &status, WNOHANG);

	c->timer = NULL;
	if (pid == 0 || (pid == -1 && errno == EINTR)) {
		c->timer = loop_after(c->loop, REAP_MS, reap, c);
		return;
	}
	allowed = pid == c->pid && is_consent(c, status);
	release(c);
	told(told_arg, allowed);
}

static void
on_answer(void *arg, int fd, int events)
{
	struct mux_confirm *c = arg;
	char piece[ANSWER_MAX];
	ssize_t n = fd_read(fd, piece, sizeof piece);
	size_t room = sizeof c->answer - c->len;

	(void)events;
	if (n == -1 && errno == EAGAIN)
		return;
	if (n > 0) {
		memcpy(c->answer + c->len, piece, MIN((size_t)n, room));
		c->len += MIN((size_t)n, room);
		return;
	}
	loop_unwatch(c->loop, c->watch);
	c->watch = NULL;
	reap(c);
}

struct mux_confirm *
mux_confirm_ask(struct loop *loop, const char *question,
    void (*told)(void *arg, bool allowed), void *arg)
{
	struct mux_confirm *c = xcalloc(1, sizeof *c);
	int p[2];

	c->loop = loop;
	c->told = told;
	c->arg = arg;
	c->fd = -1;
	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) == -1) {
		log_error("askpass: pipe: %s", err_text(ERR_SYSTEM));
		free(c);
		return NULL;
	}
	c->fd = p[0];
	c->watch = loop_watch(loop, p[0], LOOP_READ, on_answer, c);
	c->pid = c->watch != NULL ? fork() : -1;
	if (c->pid == 0)
		run_askpass(question, p[1]);
	fd_close(&p[1]);
	if (c->pid != -1)
		return c;
	log_error("askpass: fork: %s", err_text(ERR_SYSTEM));
	release(c);
	return NULL;
}

/* What SIGKILL has ended is there to be reaped: this does not wait for anything
 * that the program could still do. */
void
mux_confirm_drop(struct mux_confirm *c)
{
	int status;

	if (c == NULL)
		return;
	(void)kill(c->pid, SIGKILL);
	(void)!child_reap(c->pid, &status);
	release(c);
}
