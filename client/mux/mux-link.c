/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-link.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/mux/mux-wire.h"

enum {
	LENGTH = 4,
	READ_MAX = 16 * 1024, /* bytes of a message, read in one piece */
	STEPS_MAX = 64,	      /* reads in a row, before others have a turn */
	FULL = 64 * 1024,     /* bytes unsent: nothing more is read */
};

struct mux_link {
	struct loop *loop;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *failed; /* it is about to end */
	struct mux_link_hooks hooks;
	struct buf in, out;
	size_t awaited; /* descriptors */
	bool paused, finishing, ended;
	int err; /* of sending */
};

static void
update_watch(struct mux_link *l)
{
	bool reads = !l->paused && !l->finishing && l->err == 0 &&
	    !mux_link_is_full(l);
	bool writes = buf_len(&l->out) > 0 || l->finishing || l->err != 0;

	if (!l->ended)
		loop_fd_want(l->watch,
		    (reads ? LOOP_READ : 0) | (writes ? LOOP_WRITE : 0));
}

static void
end(struct mux_link *l, int err)
{
	l->ended = true;
	loop_fd_want(l->watch, 0);
	l->hooks.ended(l->hooks.arg, err);
}

/* Bytes that the message in front lacks. Not one more is read, because a
 * descriptor may come with the next. */
static size_t
missing(const struct mux_link *l)
{
	size_t have = buf_len(&l->in);

	if (have < LENGTH)
		return LENGTH - have;
	return LENGTH + (size_t)wire_get_u32(buf_data(&l->in)) - have;
}

static int
read_some(struct mux_link *l)
{
	size_t want = missing(l);
	uint8_t *to;
	ssize_t n;

	want = want < READ_MAX ? want : READ_MAX;
	if ((to = buf_reserve(&l->in, want)) == NULL)
		return buf_err(&l->in);
	n = fd_read(l->fd, to, want);
	if (n == 0)
		return ERR_CLOSED;
	if (n == -1)
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN :
								 ERR_CLOSED;
	buf_commit(&l->in, (size_t)n);
	return 0;
}

static int
read_message(struct mux_link *l)
{
	struct rd message;
	int r = read_some(l);

	if (r != 0 || (r = mux_unframe(&l->in, &message)) <= 0)
		return r;
	r = l->hooks.message(l->hooks.arg, message);
	mux_consume(&l->in);
	if (buf_len(&l->in) == 0)
		buf_clear(&l->in); /* most of them wait for very long */
	return r;
}

static int
read_descriptor(struct mux_link *l)
{
	int fd, r = fd_receive_fds(l->fd, &fd, 1);

	if (r == ERR_SYSTEM)
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN :
								 ERR_CLOSED;
	if (r != 0)
		return r == ERR_EOF ? ERR_CLOSED : r;
	l->awaited--;
	return l->hooks.descriptor(l->hooks.arg, fd);
}

static int
receive(struct mux_link *l)
{
	int r = 0;

	for (int i = 0; i < STEPS_MAX && r == 0 && !l->paused &&
	     !l->finishing && !mux_link_is_full(l); i++)
		r = l->awaited > 0 ? read_descriptor(l) : read_message(l);
	return r == ERR_AGAIN ? 0 : r;
}

static int
send_some(struct mux_link *l)
{
	ssize_t n;

	if (l->err != 0)
		return l->err;
	while (buf_len(&l->out) > 0) {
		n = fd_write(l->fd, buf_data(&l->out), buf_len(&l->out));
		if (n == -1)
			return errno == EAGAIN || errno == EWOULDBLOCK ?
			    0 : ERR_CLOSED;
		buf_consume(&l->out, (size_t)n);
	}
	buf_clear(&l->out);
	return 0;
}

static void
on_socket(void *arg, int fd, int events)
{
	struct mux_link *l = arg;
	int r = 0;

	(void)fd;
	if (l->ended)
		return;
	if ((events & LOOP_READ) != 0)
		r = receive(l);
	if (r == 0)
		r = send_some(l);
	if (r != 0)
		end(l, r);
	else if (l->finishing && buf_len(&l->out) == 0)
		end(l, 0);
	else
		update_watch(l);
}

int
mux_link_new(struct mux_link **out, struct loop *loop, int fd,
    const struct mux_link_hooks *hooks)
{
	struct mux_link *l = calloc(1, sizeof *l);
	int r;

	if (l == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	l->loop = loop;
	l->fd = fd;
	l->hooks = *hooks;
	if ((r = fd_set_nonblock(fd, true)) == 0) {
		l->watch = loop_watch(loop, fd, LOOP_READ, on_socket, l);
		r = l->watch == NULL ? ERR_NOMEM : 0;
	}
	if (r != 0) {
		mux_link_free(l);
		return r;
	}
	*out = l;
	return 0;
}

void
mux_link_free(struct mux_link *l)
{
	if (l == NULL)
		return;
	loop_unwatch(l->loop, l->watch);
	loop_cancel(l->loop, l->failed);
	fd_close(&l->fd);
	buf_clear(&l->in);
	buf_clear(&l->out);
	free(l);
}

void
mux_link_send(struct mux_link *l, const struct buf *message)
{
	int r = l->err == 0 ? mux_frame(&l->out, message) : 0;

	if (r != 0)
		mux_link_fail(l, r);
	else
		update_watch(l);
}

static void
on_failed(void *arg)
{
	struct mux_link *l = arg;

	l->failed = NULL;
	if (!l->ended)
		end(l, l->err);
}

void
mux_link_fail(struct mux_link *l, int err)
{
	if (l->err != 0 || l->ended)
		return;
	l->err = err;
	buf_clear(&l->out);
	/* The socket may never be writable again. */
	l->failed = loop_after(l->loop, 0, on_failed, l);
	update_watch(l);
}

void
mux_link_await_fds(struct mux_link *l, size_t n)
{
	l->awaited = n;
}

void
mux_link_pause(struct mux_link *l, bool paused)
{
	l->paused = paused;
	update_watch(l);
}

void
mux_link_finish(struct mux_link *l)
{
	l->finishing = true;
	update_watch(l);
}

size_t
mux_link_backlog(const struct mux_link *l)
{
	return buf_len(&l->out);
}

bool
mux_link_is_full(const struct mux_link *l)
{
	return buf_len(&l->out) >= FULL;
}
