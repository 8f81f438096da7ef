/* SPDX-License-Identifier: ISC */
#include "base/child.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"

extern char **environ;

enum {
	PIPE_BYTES = 1024 * 1024,
	READ_BYTES = 64 * 1024,
	LOOK_MS = 1, /* time between looks at a child that ends soon */
	POLL_MS = 60 * 1000,
	ABANDONED_MAX = 64,
};

/* A pipe's size is whole pages. The size here moved data fastest of all sizes
 * that were measured. */
int
child_pipe(int ends[2])
{
	if (sock_pipe(ends, SOCK_WAITS) != 0)
		return ERR_SYSTEM;
	sock_pipe_room(ends[1], PIPE_BYTES);
	return 0;
}

int
child_spawn(pid_t *pid, char *const argv[], int in, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	/* The child has the default action for SIGPIPE, which this process
	 * ignores. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	errno = error;
	return error == 0 ? 0 : ERR_SYSTEM;
}

int
child_reap(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) == -1)
		if (errno != EINTR)
			return ERR_SYSTEM;
	return 0;
}

int
child_wait(pid_t pid)
{
	int status = 0;

	if (child_reap(pid, &status) != 0)
		return ERR_SYSTEM;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static int
wait_readable(int fd, uint64_t deadline_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now = clock_ms();
		int n;

		if (now >= deadline_ms)
			return ERR_TIMEOUT;
		n = poll(&p, 1, (int)MIN(deadline_ms - now, (uint64_t)POLL_MS));
		if (n > 0)
			return 0;
		if (n == -1 && errno != EINTR)
			return ERR_SYSTEM;
	}
}

int
child_read_all(int fd, uint64_t deadline_ms, size_t max, struct buf *out)
{
	size_t start = buf_len(out);
	uint8_t *room;
	ssize_t n;
	int r;

	for (;;) {
		if ((r = wait_readable(fd, deadline_ms)) != 0)
			return r;
		if ((room = buf_reserve(out, READ_BYTES)) == NULL)
			return buf_err(out);
		if ((n = fd_read(fd, room, READ_BYTES)) <= 0)
			return n == 0 ? 0 : ERR_SYSTEM;
		buf_commit(out, (size_t)n);
		if (buf_len(out) - start > max)
			return ERR_LIMIT;
	}
}

/* Looks for the child's end again and again, as nothing tells when it ends.
 * Most children end together with their output. */
int
child_reap_until(pid_t pid, uint64_t deadline_ms, int *status)
{
	for (;;) {
		pid_t done = waitpid(pid, status, WNOHANG);

		if (done == pid)
			return 0;
		if (done == -1 && errno != EINTR)
			return ERR_SYSTEM;
		if (clock_ms() >= deadline_ms)
			return ERR_TIMEOUT;
		(void)poll(NULL, 0, LOOK_MS);
	}
}

/* Children that were killed, but not waited for yet; 0: the entry is free. */
static pid_t abandoned[ABANDONED_MAX];

void
child_reap_abandoned(void)
{
	int status;

	for (size_t i = 0; i < ABANDONED_MAX; i++)
		if (abandoned[i] != 0 &&
		    waitpid(abandoned[i], &status, WNOHANG) != 0)
			abandoned[i] = 0;
}

void
child_abandon(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	child_reap_abandoned();
	for (size_t i = 0; i < ABANDONED_MAX; i++) {
		if (abandoned[i] == 0) {
			abandoned[i] = pid;
			break;
		}
	}
	child_reap_abandoned();
}

bool
child_crashed(int wait_status)
{
	if (!WIFSIGNALED(wait_status))
		return false;
	switch (WTERMSIG(wait_status)) {
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGSEGV:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}
