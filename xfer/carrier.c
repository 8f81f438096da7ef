/* SPDX-License-Identifier: ISC */
#include "xfer/carrier.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

extern char **environ;

/* What we ask the kernel to hold between us and a child, per direction. */
enum {
	PIPE_BYTES = 1024 * 1024,
	DRAIN_BYTES = 64 * 1024 * 1024,
	DRAIN_MS = 5000,
};

static ssize_t
pipe_read(void *arg, uint8_t *p, size_t max)
{
	const struct xfer_pipe *pipe = arg;
	ssize_t n;

	do
		n = read(pipe->fd_in, p, max);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == ECONNRESET)
		return 0;
	return errno == EAGAIN ? ERR_AGAIN : ERR_SYSTEM;
}

static ssize_t
pipe_write(void *arg, const uint8_t *p, size_t len)
{
	const struct xfer_pipe *pipe = arg;
	ssize_t n;

	do
		n = write(pipe->fd_out, p, len);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EPIPE || errno == ECONNRESET)
		return ERR_CLOSED;
	return errno == EAGAIN ? ERR_AGAIN : ERR_SYSTEM;
}

static int
pipe_wait(void *arg, int events, int timeout_ms)
{
	const struct xfer_pipe *pipe = arg;
	struct pollfd pfd[2] = {
		{ .fd = events & XFER_READ ? pipe->fd_in : -1,
		    .events = POLLIN },
		{ .fd = events & XFER_WRITE ? pipe->fd_out : -1,
		    .events = POLLOUT },
	};

	if (poll(pfd, 2, timeout_ms) < 0)
		return errno == EINTR ? 0 : ERR_SYSTEM;
	return (pfd[0].revents != 0 ? XFER_READ : 0) |
	    (pfd[1].revents != 0 ? XFER_WRITE : 0);
}

static void
pipe_end(void *arg)
{
	struct xfer_pipe *pipe = arg;

	if (pipe->fd_out == pipe->fd_in)
		(void)shutdown(pipe->fd_out, SHUT_WR);
	else
		fd_close(&pipe->fd_out);
}

static const struct xfer_carrier_ops pipe_ops = {
	.read = pipe_read,
	.write = pipe_write,
	.wait = pipe_wait,
	.end = pipe_end,
};

struct xfer_carrier
xfer_pipe_carrier(struct xfer_pipe *p)
{
	return (struct xfer_carrier){ .ops = &pipe_ops, .arg = p };
}

int
xfer_pipe_open(struct xfer_pipe *p, int fd_in, int fd_out)
{
	int r;

	*p = (struct xfer_pipe){ .fd_in = fd_in, .fd_out = fd_out };
	if ((r = fd_set_nonblock(fd_in, true)) < 0)
		return r;
	return fd_set_nonblock(fd_out, true);
}

/* Pipes move whole pages; of all that was measured, they carry most. */
static int
make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return ERR_SYSTEM;
	/* The system may allow less; then it is as it was. */
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

int
xfer_pipe_spawn(struct xfer_pipe *p, char *const argv[])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	sigset_t defaults;
	pid_t pid = 0;
	int r, error;

	*p = (struct xfer_pipe){ .fd_in = -1, .fd_out = -1 };
	if ((r = make_pipe(to)) < 0 || (r = make_pipe(from)) < 0)
		goto out;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	/* We ignore SIGPIPE; the child decides for itself. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (error != 0) {
		errno = error;
		r = ERR_SYSTEM;
		goto out;
	}
	r = xfer_pipe_open(p, from[0], to[1]);
	p->pid = pid;
	from[0] = to[1] = -1;
out:
	fd_close(&to[0]);
	fd_close(&to[1]);
	fd_close(&from[0]);
	fd_close(&from[1]);
	return r;
}

/* Answers that nobody waits for any more; without a reader the child would
 * fail over them. Bounded, for the peer may never stop. */
static void
drain(struct xfer_pipe *p)
{
	size_t left = DRAIN_BYTES;
	uint8_t waste[4096];
	ssize_t n;

	while (left > 0 && pipe_wait(p, XFER_READ, DRAIN_MS) > 0) {
		n = pipe_read(p, waste, sizeof waste);
		if (n == 0 || (n < 0 && n != ERR_AGAIN))
			return;
		left -= n > 0 ? MIN(left, (size_t)n) : 0;
	}
}

int
xfer_pipe_close(struct xfer_pipe *p)
{
	int status = 0;

	if (p->pid != 0 && p->fd_in >= 0) {
		pipe_end(p);
		drain(p);
	}
	if (p->fd_out == p->fd_in)
		p->fd_out = -1;
	fd_close(&p->fd_in);
	fd_close(&p->fd_out);
	if (p->pid == 0)
		return 0;
	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	p->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}
