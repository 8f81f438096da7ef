/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "client/mux/connection-identity.h"
#include "client/mux/mux-socket.h"

enum { WHY_MAX = 1024, LENGTH = 4 };

/* Waits until the socket can be read: 0, or ERR_TIMEOUT at deadline_ms (0:
 * there is no deadline). */
static int
wait_for_input(int fd, uint64_t deadline_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int wait_ms = -1;
	uint64_t now;

	for (;;) {
		if (deadline_ms != 0) {
			now = clock_ms();
			if (now >= deadline_ms)
				return ERR_TIMEOUT;
			wait_ms = (int)(deadline_ms - now);
		}
		if (poll(&p, 1, wait_ms) > 0)
			return 0;
	}
}

static int
read_all(int fd, uint8_t *to, size_t len, uint64_t deadline_ms)
{
	ssize_t n;
	int r;

	while (len > 0) {
		if ((r = wait_for_input(fd, deadline_ms)) != 0)
			return r;
		n = fd_read(fd, to, len);
		if (n == 0)
			return ERR_CLOSED;
		if (n == -1 && errno != EAGAIN)
			return ERR_SYSTEM;
		if (n > 0) {
			to += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Reads one message, and no byte of the next: the descriptor may be handed on
 * to code that reads from there itself. */
static int
read_message(struct mux_conn *c, struct rd *message, uint64_t deadline_ms)
{
	uint8_t head[LENGTH], *to;
	uint32_t len;
	int r;

	if ((r = read_all(c->fd, head, sizeof head, deadline_ms)) != 0)
		return r;
	len = wire_get_u32(head);
	if (len > MUX_MESSAGE_MAX)
		return ERR_LIMIT;
	buf_reset(&c->answer);
	if ((to = buf_reserve(&c->answer, len)) == NULL)
		return buf_err(&c->answer);
	if ((r = read_all(c->fd, to, len, deadline_ms)) != 0)
		return r;
	buf_commit(&c->answer, len);
	*message = rd_from_buf(&c->answer);
	return 0;
}

static int
send_message(struct mux_conn *c, const struct buf *message)
{
	struct buf frame = { 0 };
	int r = mux_frame(&frame, message);

	if (r == 0)
		r = fd_write_all(c->fd, buf_data(&frame), buf_len(&frame));
	buf_clear(&frame);
	return r;
}

/* Notes which of the two extensions that we use a master's hello has. */
static void
note_extensions(struct mux_conn *c, struct rd r)
{
	struct span name, value;

	(void)rd_u32(&r); /* version */
	while (r.len > 0 && rd_err(&r) == 0) {
		name = rd_string(&r);
		value = rd_string(&r);
		if (span_equals(name, "info"))
			c->knows_info = true;
		else if (span_equals(name, CONNECTION_IDENTITY_NAME))
			c->knows_identity =
			    span_equals(value, CONNECTION_IDENTITY_VERSION);
	}
}

static int
say_hello(struct mux_conn *c, uint64_t deadline_ms)
{
	struct buf b = { 0 };
	struct rd message;
	int r;

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, NULL, NULL);
	r = send_message(c, &b);
	buf_clear(&b);
	if (r == 0)
		r = read_message(c, &message, deadline_ms);
	if (r != 0)
		return r;
	if (rd_u32(&message) != MUX_HELLO)
		return ERR_PROTOCOL;
	note_extensions(c, message);
	return mux_read_hello(&message);
}

int
mux_conn_open(struct mux_conn *c, const char *path, int timeout_ms)
{
	uint64_t deadline_ms =
	    timeout_ms >= 0 ? clock_ms() + (uint64_t)timeout_ms + 1 : 0;
	int r, saved;

	*c = (struct mux_conn){ .fd = -1 };
	if ((r = mux_socket_connect(&c->fd, path, timeout_ms)) == 0)
		r = say_hello(c, deadline_ms);
	if (r != 0) {
		saved = errno;
		mux_conn_close(c);
		errno = saved;
	}
	return r;
}

void
mux_conn_close(struct mux_conn *c)
{
	fd_close(&c->fd);
	buf_clear(&c->answer);
	free(c->why);
	c->why = NULL;
}

void
mux_conn_begin(struct mux_conn *c, struct buf *request, enum mux_type type)
{
	mux_begin_request(request, type, ++c->last_request);
}

static int
read_refusal(struct mux_conn *c, struct rd *rest)
{
	char *text = rd_cstring(rest, WHY_MAX);
	int r = rd_end(rest);

	free(c->why);
	c->why = xcalloc(1, WHY_MAX + 1);
	if (r == 0)
		str_escape(c->why, WHY_MAX + 1, text);
	free(text);
	return r == 0 ? ERR_DENIED : r;
}

int
mux_conn_send(struct mux_conn *c, const struct buf *request, const int *fds,
    size_t fd_count)
{
	int r = send_message(c, request);

	for (size_t i = 0; i < fd_count && r == 0; i++)
		r = fd_send_fds(c->fd, &fds[i], 1);
	if (r == ERR_SYSTEM && (errno == EPIPE || errno == ECONNRESET))
		r = ERR_CLOSED;
	return r;
}

int
mux_conn_take(struct mux_conn *c, struct rd *answer)
{
	uint32_t id;
	int r;

	c->type = rd_u32(answer);
	id = rd_u32(answer);
	if ((r = rd_err(answer)) != 0)
		return r;
	if (id != c->last_request)
		return ERR_PROTOCOL;
	return c->type == MUX_FAILURE || c->type == MUX_DENIED ?
	    read_refusal(c, answer) : 0;
}

int
mux_conn_ask(struct mux_conn *c, const struct buf *request, const int *fds,
    size_t fd_count, struct rd *rest)
{
	int r = mux_conn_send(c, request, fds, fd_count);

	if (r == 0)
		r = read_message(c, rest, 0);
	return r == 0 ? mux_conn_take(c, rest) : r;
}

int
mux_conn_check(struct mux_conn *c, uint32_t *pid)
{
	struct buf b = { 0 };
	struct rd rest;
	int r;

	mux_conn_begin(c, &b, MUX_CHECK);
	r = mux_conn_ask(c, &b, NULL, 0, &rest);
	buf_clear(&b);
	if (r != 0)
		return r;
	*pid = rd_u32(&rest);
	r = rd_end(&rest);
	return r == 0 && c->type != MUX_ALIVE ? ERR_PROTOCOL : r;
}
