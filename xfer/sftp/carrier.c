/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/carrier.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/mem.h"
#include "xfer/sftp/sftp-engine.h"

enum {
	READ_BYTES = 1024 * 1024,
	DRAIN_BYTES = 64 * 1024 * 1024,
	DRAIN_MS = 5000,
};

static ssize_t
read_some(const struct xfer_pipe *p, uint8_t *to, size_t max)
{
	ssize_t n;

	n = fd_read(p->fd_in, to, max);
	if (n >= 0)
		return n;
	if (errno == ECONNRESET)
		return 0;
	return errno == EAGAIN ? ERR_AGAIN : ERR_SYSTEM;
}

/* ---- in the loop -------------------------------------------------------- */

/* Ends the session with err, and stops watching the descriptors. */
static void
lose(struct xfer_pipe *p, int err)
{
	struct sftp *s = p->sftp;

	loop_fd_want(p->in, 0);
	loop_fd_want(p->out, 0);
	p->sftp = NULL;
	(void)!sftp_feed_end(s, err);
}

/* For a socket both directions share one watch, which must keep LOOP_READ. */
static void
want_events(struct xfer_pipe *p, bool to_send)
{
	int want = to_send ? LOOP_WRITE : 0;

	if (p->in == p->out)
		want |= LOOP_READ;
	loop_fd_want(p->out, want);
}

/* Sends what the kernel takes; the loop waits for room for the rest. If the
 * reader is gone, the session does not end yet: the peer's last words may still
 * be unread, and tell why it went. */
static void
send_some(struct xfer_pipe *p)
{
	struct buf *out = sftp_output(p->sftp);
	ssize_t n;

	while (buf_len(out) > 0) {
		n = fd_write(p->fd_out, buf_data(out), buf_len(out));
		if (n >= 0) {
			sftp_output_sent(p->sftp, (size_t)n);
		} else if (errno == EPIPE || errno == ECONNRESET) {
			buf_reset(out);
		} else if (errno == EAGAIN) {
			return;
		} else {
			lose(p, ERR_SYSTEM);
			return;
		}
	}
	want_events(p, false);
}

static void
receive_some(struct xfer_pipe *p)
{
	ssize_t n = read_some(p, p->chunk, READ_BYTES);

	if (n == ERR_AGAIN)
		return;
	if (n <= 0)
		lose(p, n == 0 ? ERR_CLOSED : (int)n);
	else if (sftp_feed(p->sftp, p->chunk, (size_t)n) != 0)
		lose(p, sftp_error(p->sftp));
}

static void
on_ready(void *arg, int fd, int events)
{
	struct xfer_pipe *p = arg;

	(void)fd;
	/* Receives first, so that requests that replies lead to are sent in the
	 * same write. */
	if (p->sftp != NULL && (events & LOOP_READ))
		receive_some(p);
	if (p->sftp != NULL && (events & LOOP_WRITE))
		send_some(p);
}

static int
pipe_turn(void *arg, int timeout_ms)
{
	const struct xfer_pipe *p = arg;

	return loop_turn(p->loop, timeout_ms);
}

static void
pipe_wake(void *arg)
{
	struct xfer_pipe *p = arg;

	if (p->sftp != NULL)
		want_events(p, true);
}

static const struct xfer_carrier_ops pipe_ops = {
	.turn = pipe_turn,
	.wake = pipe_wake,
};

void
xfer_pipe_attach(struct xfer_pipe *p, struct sftp *s)
{
	p->sftp = s;
	sftp_attach(s, (struct xfer_carrier){ .ops = &pipe_ops, .arg = p });
}

/* ---- life --------------------------------------------------------------- */

int
xfer_pipe_open(struct xfer_pipe *p, struct loop *loop, int fd_in, int fd_out)
{
	int r;

	*p = (struct xfer_pipe){ .fd_in = fd_in, .fd_out = fd_out,
		.loop = loop };
	if ((r = fd_set_nonblock(fd_in, true)) < 0 ||
	    (r = fd_set_nonblock(fd_out, true)) < 0)
		return r;
	p->chunk = malloc(READ_BYTES);
	p->in = loop_watch(loop, fd_in, LOOP_READ, on_ready, p);
	p->out = fd_in == fd_out ? p->in :
				   loop_watch(loop, fd_out, 0, on_ready, p);
	if (p->chunk == NULL || p->in == NULL || p->out == NULL)
		return ERR_NOMEM;
	return 0;
}

int
xfer_pipe_spawn(struct xfer_pipe *p, struct loop *loop, char *const argv[])
{
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	pid_t pid = 0;
	int r;

	*p = (struct xfer_pipe){ .fd_in = -1, .fd_out = -1 };
	if ((r = child_pipe(to)) < 0 || (r = child_pipe(from)) < 0 ||
	    (r = child_spawn(&pid, argv, to[0], from[1])) < 0)
		goto out;
	r = xfer_pipe_open(p, loop, from[0], to[1]);
	p->pid = pid;
	from[0] = to[1] = -1;
out:
	fd_close(&to[0]);
	fd_close(&to[1]);
	fd_close(&from[0]);
	fd_close(&from[1]);
	return r;
}

/* Reads and drops the child's last replies, since a child that cannot write
 * them would fail. Limited in bytes and time, as the child may never stop. */
static void
drain(const struct xfer_pipe *p)
{
	struct pollfd pfd = { .fd = p->fd_in, .events = POLLIN };
	size_t left = DRAIN_BYTES;
	uint8_t waste[4096];
	ssize_t n;
	int r;

	while (left > 0 && (r = poll(&pfd, 1, DRAIN_MS)) != 0) {
		if (r < 0 && errno != EINTR)
			return;
		n = r < 0 ? ERR_AGAIN : read_some(p, waste, sizeof waste);
		if (n == 0 || (n < 0 && n != ERR_AGAIN))
			return;
		left -= n > 0 ? MIN(left, (size_t)n) : 0;
	}
}

static void
leave_loop(struct xfer_pipe *p)
{
	if (p->out != p->in)
		loop_unwatch(p->loop, p->out);
	loop_unwatch(p->loop, p->in);
	p->in = p->out = NULL;
	p->sftp = NULL;
}

int
xfer_pipe_close(struct xfer_pipe *p)
{
	int status;

	leave_loop(p);
	if (p->fd_out == p->fd_in)
		p->fd_out = -1;
	fd_close(&p->fd_out);
	if (p->pid != 0 && p->fd_in >= 0)
		drain(p);
	fd_close(&p->fd_in);
	free(p->chunk);
	p->chunk = NULL;
	if (p->pid == 0)
		return 0;
	status = child_wait(p->pid);
	p->pid = 0;
	return status < 0 ? 0 : status;
}
