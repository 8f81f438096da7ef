/* SPDX-License-Identifier: ISC */
#include "base/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/owners.h"
#include "base/resolve.h"
#include "compat/proc.h"
#include "compat/sock.h"

enum {
	FD_SOCK = STDERR_FILENO + 1, /* the socket in each of these processes */
	/* processes of a starter at the same time */
	PROCESSES_MAX = 8,
};

static int starter = -1; /* our end */
static const char *executed_as; /* NULL: it is forked */

extern char **environ;

/* The argument of a process that was executed. */
static const struct role {
	enum lookup_kind kind;
	const char *word;
} roles[] = {
	{ LOOKUP_HOSTS, "[names of hosts]" },
	{ LOOKUP_OWNERS, "[names of owners]" },
};

/* ---- in a process of its own -------------------------------------------- */

/* The process holds nothing of this one but the socket: a connection would not
 * end as long as somebody else has its descriptor. */
static void
hold_only(int sock)
{
	int null = open("/dev/null", O_RDWR);

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	for (int fd = 0; null != -1 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (dup2(sock, FD_SOCK) == -1)
		_exit(1);
	proc_close_from(FD_SOCK + 1);
}

static _Noreturn void
serve(enum lookup_kind kind, bool shown_only)
{
	if (kind == LOOKUP_HOSTS)
		resolve_serve(FD_SOCK);
	else if (kind == LOOKUP_OWNERS)
		owners_serve(FD_SOCK, shown_only);
	_exit(0);
}

/* The process hides from a user's other programs, which run as the same user:
 * they must not get at what is outside of their root directory by way of it. */
static void
hide(void)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	if ((proc_hide() == -1 || proc_no_new_privs() == -1) &&
	    errno != ENOSYS)
		_exit(1);
}

/* The program is executed by the file that the system knows for it, whatever
 * has become of its name. */
static void
execute(enum lookup_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		char *argv[] = { (char *)(uintptr_t)executed_as,
			(char *)(uintptr_t)roles[i].word, NULL };

		if (roles[i].kind == kind)
			proc_execute_self(argv, environ);
	}
	_exit(1);
}

void
lookup_main(const char *argument)
{
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		if (strcmp(roles[i].word, argument) != 0)
			continue;
		hide();
		proc_close_from(FD_SOCK + 1);
		serve(roles[i].kind, false);
	}
}

/* The process is forked twice, so that nobody has to wait for its end. */
static int
fork_process(enum lookup_kind kind, int sock)
{
	int status;
	pid_t pid = fork();

	if (pid == -1)
		return ERR_SYSTEM;
	if (pid == 0) {
		pid = fork();
		if (pid == 0) {
			hold_only(sock);
			if (executed_as != NULL)
				execute(kind);
			serve(kind, false);
		}
		_exit(pid == -1 ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return ERR_SYSTEM;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ERR_SYSTEM;
}

/* ---- the starter -------------------------------------------------------- */

static void
start_one(uint8_t kind, int sock)
{
	static int running;
	pid_t pid;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		running--;
	if (running >= PROCESSES_MAX || (pid = fork()) == -1)
		return;
	if (pid == 0) {
		hold_only(sock);
		serve((enum lookup_kind)kind, true);
	}
	running++;
}

static _Noreturn void
serve_starts(void)
{
	uint8_t kind;
	int sock;

	while (fd_receive_with(FD_SOCK, &kind, 1, &sock) == 1) {
		if (sock != -1)
			start_one(kind, sock);
		fd_close(&sock);
	}
	_exit(0);
}

/* ---- in the process that asks ------------------------------------------- */

int
lookup_begin(void (*become)(const void *arg), const void *arg)
{
	int ends[2];
	pid_t pid;

	if (sock_pair(SOCK_STREAM, ends) == -1)
		return ERR_SYSTEM;
	pid = fork();
	if (pid == 0) {
		hold_only(ends[1]);
		become(arg);
		proc_title("[names]");
		hide();
		if (chdir("/") == -1)
			_exit(1);
		serve_starts();
	}
	fd_close(&ends[1]);
	if (pid == -1) {
		fd_close(&ends[0]);
		return ERR_SYSTEM;
	}
	starter = ends[0];
	return 0;
}

void
lookup_end(void)
{
	fd_close(&starter);
}

void
lookup_execute(const char *name)
{
	executed_as = name;
}

int
lookup_process(enum lookup_kind kind, int sock)
{
	uint8_t byte = (uint8_t)kind;

	if (starter == -1)
		return fork_process(kind, sock);
	return fd_send_with(starter, &byte, 1, sock);
}
