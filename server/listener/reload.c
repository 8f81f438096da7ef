/* SPDX-License-Identifier: ISC */
#include "server/listener/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "server/listener/listen-addresses.h"
#include "server/oom.h"

enum { NOT_STARTED = 127, LINES_MAX = 20 };

void
reload_init(struct reload *r, struct loop *loop, const char *exe, char **argv,
    const struct listen_set *sockets)
{
	*r = (struct reload){ .loop = loop, .exe = exe, .argv = argv,
		.sockets = sockets, .fd = -1 };
}

static void
stop_listening(struct reload *r)
{
	loop_unwatch(r->loop, r->watch);
	r->watch = NULL;
	fd_close(&r->fd);
}

void
reload_clear(struct reload *r)
{
	if (r->pid != 0)
		(void)kill(r->pid, SIGKILL);
	loop_cancel(r->loop, r->timer);
	stop_listening(r);
	buf_clear(&r->text);
}

/* Reads messages of the check. Those over the limit are read too and thrown
 * away, so that the check does not wait for room in the pipe. */
static void
read_text(struct reload *r)
{
	char chunk[512];
	ssize_t n;

	for (int i = 0; i < RELOAD_TEXT_MAX / (int)sizeof chunk; i++) {
		n = fd_read(r->fd, chunk, sizeof chunk);
		if (n > 0 && buf_len(&r->text) < RELOAD_TEXT_MAX)
			buf_put(&r->text, chunk, (size_t)n);
		if (n == 0 || (n == -1 && errno != EAGAIN))
			stop_listening(r);
		if (n <= 0)
			return;
	}
}

static void
on_text(void *arg, int fd, int events)
{
	(void)fd;
	(void)events;
	read_text(arg);
}

static void
on_too_long(void *arg)
{
	struct reload *r = arg;

	r->timer = NULL;
	log_error("the configuration is not read within %d s",
	    RELOAD_CHECK_MS / 1000);
	(void)kill(r->pid, SIGKILL);
}

/* In the child process: executes the listener's program with its arguments and
 * -t. out becomes its standard error. */
static void
become_check(const struct reload *r, int out)
{
	size_t n = 0;
	char **argv;

	oom_give_back(OOM_FILE, oom_before());
	while (r->argv[n] != NULL)
		n++;
	argv = xcalloc(n + 2, sizeof *argv);
	argv[0] = r->argv[0];
	argv[1] = xstrdup("-t");
	memcpy(argv + 2, r->argv + 1, (n - 1) * sizeof *argv);
	if (setenv(LISTEN_ADDRESSES_HELD, listen_addresses_text(r->sockets),
	    1) == -1)
		_exit(NOT_STARTED);
	if (dup2(out, STDERR_FILENO) != -1)
		(void)execv(r->exe, argv);
	dprintf(STDERR_FILENO, "%s: %s\n", r->exe, strerror(errno));
	_exit(NOT_STARTED);
}

static int
start(struct reload *r)
{
	int ends[2];

	if (sock_pipe(ends, SOCK_AT_ONCE) == -1)
		return ERR_SYSTEM;
	r->fd = ends[0];
	r->watch = loop_watch(r->loop, r->fd, LOOP_READ, on_text, r);
	r->pid = r->watch != NULL ? fork() : -1;
	if (r->pid == 0)
		become_check(r, ends[1]);
	(void)close(ends[1]);
	if (r->pid != -1) {
		r->timer = loop_after(r->loop, RELOAD_CHECK_MS, on_too_long,
		    r);
		return 0;
	}
	r->pid = 0;
	stop_listening(r);
	return ERR_SYSTEM;
}

void
reload_ask(struct reload *r)
{
	if (r->pid != 0) {
		r->again = true;
		return;
	}
	if (start(r) != 0)
		log_error("the configuration can't be checked, so the old one "
			  "stays: %s",
		    strerror(errno));
}

static void
log_text(const struct reload *r)
{
	const char *at = (const char *)buf_data(&r->text);
	size_t left = buf_len(&r->text), len;

	for (int i = 0; i < LINES_MAX && left > 0; i++) {
		const char *end = memchr(at, '\n', left);

		len = end != NULL ? (size_t)(end - at) : left;
		log_error("%.*s", (int)len, at);
		len = MIN(len + 1, left);
		at += len;
		left -= len;
	}
}

enum reload_answer
reload_child_ended(struct reload *r, pid_t pid, int status)
{
	bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	bool again = r->again;

	if (pid != r->pid || pid == 0)
		return RELOAD_NOT_MINE;
	if (r->fd != -1)
		read_text(r);
	stop_listening(r);
	loop_cancel(r->loop, r->timer);
	r->timer = NULL;
	r->pid = 0;
	r->again = false;
	if (again) {
		buf_clear(&r->text);
		reload_ask(r);
		if (r->pid != 0)
			return RELOAD_WAIT;
		ok = false;
	}
	if (!ok) {
		log_text(r);
		log_error("The new configuration is broken: the old one "
			  "stays.");
	}
	buf_clear(&r->text);
	return ok ? RELOAD_YES : RELOAD_NO;
}
