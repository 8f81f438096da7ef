/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-transport.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/mux/mux-wire.h"

enum {
	LENGTH = 4,
	READ_MAX = 16 * 1024, /* bytes read at once, of one message */
	/* Reads in one turn of the loop, so that others have theirs. */
	STEPS_MAX = 64,
	/* Bytes unsent from which on nothing more is read. */
	FULL = 64 * 1024,
};

struct mux_transport {
	struct loop *loop;
	int fd;
	struct loop_fd *watch;
	/* Ends the transport in the loop after an error. */
	struct loop_timer *failed;
	struct mux_transport_hooks hooks;
	struct buf in, out;
	size_t awaited; /* descriptors still to be received */
	bool paused, finishing, ended;
	int err; /* why sending failed; 0: it did not */
};

static void
update_watch(struct mux_transport *t)
{
	bool reads = !t->paused && !t->finishing && t->err == 0 &&
	    !mux_transport_is_full(t);
	bool writes = buf_len(&t->out) > 0 || t->finishing || t->err != 0;

	if (!t->ended)
		loop_fd_want(t->watch,
		    (reads ? LOOP_READ : 0) | (writes ? LOOP_WRITE : 0));
}

static void
end(struct mux_transport *t, int err)
{
	t->ended = true;
	loop_fd_want(t->watch, 0);
	t->hooks.ended(t->hooks.arg, err);
}

/* How many bytes the message at the front of t->in still lacks. No more than
 * these are read, because a descriptor may come with the next byte, and a plain
 * read would lose it. */
static size_t
missing(const struct mux_transport *t)
{
	size_t have = buf_len(&t->in);

	if (have < LENGTH)
		return LENGTH - have;
	return LENGTH + (size_t)wire_get_u32(buf_data(&t->in)) - have;
}

static int
read_some(struct mux_transport *t)
{
	size_t want = missing(t);
	uint8_t *to;
	ssize_t n;

	want = want < READ_MAX ? want : READ_MAX;
	if ((to = buf_reserve(&t->in, want)) == NULL)
		return buf_err(&t->in);
	n = fd_read(t->fd, to, want);
	if (n == 0)
		return ERR_CLOSED;
	if (n == -1)
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN :
								 ERR_CLOSED;
	buf_commit(&t->in, (size_t)n);
	return 0;
}

static int
read_message(struct mux_transport *t)
{
	struct rd message;
	int r = read_some(t);

	if (r != 0 || (r = mux_unframe(&t->in, &message)) <= 0)
		return r;
	r = t->hooks.message(t->hooks.arg, message);
	mux_consume(&t->in);
	if (buf_len(&t->in) == 0)
		/* Frees memory: most transports are silent for very long. */
		buf_clear(&t->in);
	return r;
}

static int
read_descriptor(struct mux_transport *t)
{
	int fd, r = fd_receive_fds(t->fd, &fd, 1);

	if (r == ERR_SYSTEM)
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN :
								 ERR_CLOSED;
	if (r != 0)
		return r == ERR_EOF ? ERR_CLOSED : r;
	t->awaited--;
	return t->hooks.descriptor(t->hooks.arg, fd);
}

static int
receive(struct mux_transport *t)
{
	int r = 0;

	for (int i = 0; i < STEPS_MAX && r == 0 && !t->paused &&
	     !t->finishing && !mux_transport_is_full(t); i++)
		r = t->awaited > 0 ? read_descriptor(t) : read_message(t);
	return r == ERR_AGAIN ? 0 : r;
}

static int
send_some(struct mux_transport *t)
{
	ssize_t n;

	if (t->err != 0)
		return t->err;
	while (buf_len(&t->out) > 0) {
		n = fd_write(t->fd, buf_data(&t->out), buf_len(&t->out));
		if (n == -1)
			return errno == EAGAIN || errno == EWOULDBLOCK ?
			    0 : ERR_CLOSED;
		buf_consume(&t->out, (size_t)n);
	}
	buf_clear(&t->out);
	return 0;
}

static void
on_socket(void *arg, int fd, int events)
{
	struct mux_transport *t = arg;
	int r = 0;

	(void)fd;
	if (t->ended)
		return;
	if ((events & LOOP_READ) != 0)
		r = receive(t);
	if (r == 0)
		r = send_some(t);
	if (r != 0)
		end(t, r);
	else if (t->finishing && buf_len(&t->out) == 0)
		end(t, 0);
	else
		update_watch(t);
}

int
mux_transport_new(struct mux_transport **out, struct loop *loop, int fd,
    const struct mux_transport_hooks *hooks)
{
	struct mux_transport *t = calloc(1, sizeof *t);
	int r;

	if (t == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	t->loop = loop;
	t->fd = fd;
	t->hooks = *hooks;
	if ((r = fd_set_nonblock(fd, true)) == 0) {
		t->watch = loop_watch(loop, fd, LOOP_READ, on_socket, t);
		r = t->watch == NULL ? ERR_NOMEM : 0;
	}
	if (r != 0) {
		mux_transport_free(t);
		return r;
	}
	*out = t;
	return 0;
}

void
mux_transport_free(struct mux_transport *t)
{
	if (t == NULL)
		return;
	loop_unwatch(t->loop, t->watch);
	loop_cancel(t->loop, t->failed);
	fd_close(&t->fd);
	buf_clear(&t->in);
	buf_clear(&t->out);
	free(t);
}

void
mux_transport_send(struct mux_transport *t, const struct buf *message)
{
	int r = t->err == 0 ? mux_frame(&t->out, message) : 0;

	if (r != 0)
		mux_transport_fail(t, r);
	else
		update_watch(t);
}

static void
on_failed(void *arg)
{
	struct mux_transport *t = arg;

	t->failed = NULL;
	if (!t->ended)
		end(t, t->err);
}

void
mux_transport_fail(struct mux_transport *t, int err)
{
	if (t->err != 0 || t->ended)
		return;
	t->err = err;
	buf_clear(&t->out);
	/* By a timer, because the socket may never be writable again. */
	t->failed = loop_after(t->loop, 0, on_failed, t);
	update_watch(t);
}

void
mux_transport_await_fds(struct mux_transport *t, size_t n)
{
	t->awaited = n;
}

void
mux_transport_pause(struct mux_transport *t, bool paused)
{
	t->paused = paused;
	update_watch(t);
}

void
mux_transport_finish(struct mux_transport *t)
{
	t->finishing = true;
	update_watch(t);
}

size_t
mux_transport_backlog(const struct mux_transport *t)
{
	return buf_len(&t->out);
}

bool
mux_transport_is_full(const struct mux_transport *t)
{
	return buf_len(&t->out) >= FULL;
}
