/* SPDX-License-Identifier: ISC */
#include "regress/unit/foreign-host.h"
#include "regress/unit/help.h"
#include "regress/unit/channels-side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

struct foreign_world w;

static struct loop *loop;
static struct packet *near_packet, *far_packet;
static int sock[2];
static size_t far_count;
static int own_sink[2]; /* what the server got on our own channel */

/* ---- the server --------------------------------------------------------- */

static int
on_far_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	(void)arg;
	(void)c;
	(void)data;
	w.far_requests++;
	return span_equals(name, "exec") ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

static void
on_far_eof(void *arg, struct channel *c)
{
	(void)arg;
	(void)c;
	w.far_eofs++;
}

static void
on_far_closed(void *arg, struct channel *c)
{
	(void)arg;
	for (size_t i = 0; i < far_count; i++)
		if (w.far_channel[i] == c)
			w.far_channel[i] = NULL;
}

static void
on_far_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	(void)reason;
	(void)text;
	on_far_closed(arg, c);
}

static const struct channel_ops far_ops = { .request = on_far_request,
	.eof = on_far_eof, .closed = on_far_closed,
	.refused = on_far_refused };

static void
note_far(struct channel *c)
{
	size_t i = 0;

	while (i < far_count && w.far_channel[i] != NULL)
		i++;
	assert_true(i < FAR_MAX);
	w.far_channel[i] = c;
	far_count = MAX(far_count, i + 1);
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)arg;
	(void)chs;
	if (rd_end(data) != 0)
		return CHANNEL_FAILURE;
	assert_int_equal(channel_accept(c, &far_ops, NULL, FAR_WINDOW,
			     FAR_PACKET), 0);
	note_far(c);
	return CHANNEL_SUCCESS;
}

static int
on_listen(void *arg, struct rd *data, struct buf *reply)
{
	struct span host = rd_string(data);
	uint32_t port = rd_u32(data);

	(void)arg;
	assert_int_equal(rd_end(data), 0);
	if (w.answers_later)
		return channels_owe(w.far, &w.owed) == 0 ? CHANNEL_LATER :
						       CHANNEL_FAILURE;
	if (!span_equals(host, "here"))
		return CHANNEL_FAILURE;
	if (port == 0)
		buf_put_u32(reply, FAR_PORT);
	return CHANNEL_SUCCESS;
}

static int
on_cancel(void *arg, struct rd *data, struct buf *reply)
{
	(void)arg;
	(void)reply;
	assert_true(span_equals(rd_string(data), "here"));
	assert_int_equal(rd_u32(data), FAR_PORT);
	w.cancels++;
	return CHANNEL_SUCCESS;
}

static const struct channel_ops own_ops = { .closed = on_far_closed };

/* The server opens a channel for somebody who came to its port. */
struct channel *
come_to(const char *host, uint32_t port)
{
	struct channel *c;
	struct buf b = { 0 };

	buf_put_cstring(&b, host);
	buf_put_u32(&b, port);
	buf_put_cstring(&b, "192.0.2.1");
	buf_put_u32(&b, 1234);
	assert_int_equal(channel_open(&c, w.far, "forwarded-tcpip", &b,
			     &far_ops, NULL, FAR_WINDOW, FAR_PACKET), 0);
	note_far(c);
	buf_clear(&b);
	return c;
}

/* ---- both sides --------------------------------------------------------- */

void
run(int turns)
{
	for (int i = 0; i < turns; i++) {
		assert_int_equal(loop_turn(loop, 0), 0);
		side_step(near_packet, w.near);
		side_step(far_packet, w.far);
	}
}

void
empty_inbox(void)
{
	for (size_t i = 0; i < w.inbox_count; i++)
		buf_clear(&w.inbox[i].b);
	w.inbox_count = 0;
}

static void
on_message(void *arg, const struct buf *message)
{
	struct letter *l = &w.inbox[w.inbox_count];

	(void)arg;
	if (w.inbox_count == INBOX_MAX)
		return;
	w.inbox_count++;
	*l = (struct letter){ 0 };
	buf_put_buf(&l->b, message);
	l->r = rd_from_buf(&l->b);
	l->type = rd_u8(&l->r);
}

struct foreign *
new_owner(void)
{
	const struct foreign_hooks hooks = { .message = on_message };
	struct foreign *f;

	assert_int_equal(foreign_new(&f, w.near, &hooks), 0);
	return f;
}

int
setup(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	loop = loop_new();
	socket_pair(SOCK_STREAM, sock);
	near_packet = side_new(sock[0], false, loop, &w.near);
	far_packet = side_new(sock[1], true, loop, &w.far);
	assert_int_equal(channels_on_open(w.far, "session", on_open, NULL), 0);
	assert_int_equal(channels_on_global(w.far, "tcpip-forward", on_listen,
			     NULL), 0);
	assert_int_equal(channels_on_global(w.far, "cancel-tcpip-forward",
			     on_cancel, NULL), 0);
	far_count = w.far_eofs = w.far_requests = w.cancels = 0;
	w.answers_later = false;
	assert_int_equal(channel_open(&w.own, w.near, "session", NULL, &own_ops,
			     NULL, FAR_WINDOW, FAR_PACKET), 0);
	run(2);
	assert_int_equal(far_count, 1);
	assert_int_equal(pipe(own_sink), 0);
	assert_int_equal(fd_set_nonblock(own_sink[0], true), 0);
	assert_int_equal(fd_set_nonblock(own_sink[1], true), 0);
	channel_set_fds(w.far_channel[0], -1, own_sink[1], -1, -1);
	w.owner = new_owner();
	return 0;
}

/* Our own channel still carries what it is given. */
void
check_own(void)
{
	char got[16];
	uint32_t before = w.far_requests;

	assert_int_equal(channel_send_data(w.own, 0, "hello", 5), 0);
	assert_int_equal(channel_request(w.own, "exec", NULL, NULL, NULL), 0);
	run(4);
	assert_int_equal(fd_read(own_sink[0], got, sizeof got), 5);
	assert_memory_equal(got, "hello", 5);
	assert_int_equal(w.far_requests, before + 1);
}

static void
close_world(void)
{
	channels_free(w.near);
	channels_free(w.far);
	packet_free(near_packet);
	packet_free(far_packet);
	loop_free(loop);
	for (int i = 0; i < 2; i++) {
		fd_close(&sock[i]);
		fd_close(&own_sink[i]);
	}
}

int
teardown(void **state)
{
	(void)state;
	check_own();
	foreign_free(w.owner);
	run(6);
	empty_inbox();
	assert_int_equal(channels_count(w.near), 1);
	close_world();
	return 0;
}

int
teardown_lost(void **state)
{
	(void)state;
	foreign_free(w.owner);
	empty_inbox();
	close_world();
	return 0;
}

/* ---- what the owner says ------------------------------------------------ */

int
foreign_say(struct foreign *f, struct buf *b)
{
	int r;

	assert_int_equal(buf_err(b), 0);
	r = foreign_input(f, rd_from_buf(b));
	buf_clear(b);
	return r;
}

/* A type and numbers. */
int
say_numbers(struct foreign *f, uint8_t type, const uint32_t *v, size_t n)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	for (size_t i = 0; i < n; i++)
		buf_put_u32(&b, v[i]);
	return foreign_say(f, &b);
}

int
say_open(struct foreign *f, const char *type, uint32_t number)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, type);
	buf_put_u32(&b, number);
	buf_put_u32(&b, FAR_WINDOW);
	buf_put_u32(&b, FAR_PACKET);
	return foreign_say(f, &b);
}

int
say_data(struct foreign *f, uint32_t id, size_t len)
{
	static const uint8_t zeros[4 * FAR_PACKET];
	struct buf b = { 0 };

	assert_true(len <= sizeof zeros);
	buf_put_u8(&b, SSH_MSG_CHANNEL_DATA);
	buf_put_u32(&b, id);
	buf_put_string(&b, zeros, len);
	return foreign_say(f, &b);
}

int
say_request(struct foreign *f, uint32_t id, const char *name, bool reply)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_CHANNEL_REQUEST);
	buf_put_u32(&b, id);
	buf_put_cstring(&b, name);
	buf_put_bool(&b, reply);
	return foreign_say(f, &b);
}

int
say_global(struct foreign *f, const char *name, const char *host,
    uint32_t port, bool reply)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_GLOBAL_REQUEST);
	buf_put_cstring(&b, name);
	buf_put_bool(&b, reply);
	buf_put_cstring(&b, host);
	buf_put_u32(&b, port);
	return foreign_say(f, &b);
}

/* The only message that came has this type, and is for this number of the
 * owner; what is behind that. */
struct rd
expect(uint8_t type, uint32_t number)
{
	struct rd r;

	run(4);
	assert_int_equal(w.inbox_count, 1);
	assert_int_equal(w.inbox[0].type, type);
	r = w.inbox[0].r;
	assert_int_equal(rd_u32(&r), number);
	w.inbox_count = 0; /* its bytes stay until the teardown of this one */
	return r;
}

/* An open channel; its number as the owner knows it. */
uint32_t
open_channel(struct foreign *f, uint32_t number)
{
	struct rd r;
	uint32_t id;

	assert_int_equal(say_open(f, "session", number), 0);
	r = expect(SSH_MSG_CHANNEL_OPEN_CONFIRMATION, number);
	id = rd_u32(&r);
	assert_int_equal(rd_u32(&r), FAR_WINDOW);
	assert_int_equal(rd_u32(&r), FAR_PACKET);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&w.inbox[0].b);
	return id;
}

void
expect_only(uint8_t type, uint32_t number)
{
	struct rd r = expect(type, number);

	assert_int_equal(rd_end(&r), 0);
	buf_clear(&w.inbox[0].b);
}

uint32_t
offered_channel(void)
{
	struct rd r;
	uint32_t id;

	run(4);
	assert_int_equal(w.inbox_count, 1);
	assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_OPEN);
	r = w.inbox[0].r;
	assert_true(span_equals(rd_string(&r), "forwarded-tcpip"));
	id = rd_u32(&r);
	assert_int_equal(rd_u32(&r), FAR_WINDOW);
	assert_int_equal(rd_u32(&r), FAR_PACKET);
	assert_true(span_equals(rd_string(&r), "here"));
	assert_int_equal(rd_u32(&r), FAR_PORT);
	assert_true(span_equals(rd_string(&r), "192.0.2.1"));
	assert_int_equal(rd_u32(&r), 1234);
	assert_int_equal(rd_end(&r), 0);
	empty_inbox();
	return id;
}

void
listen_for_owner(void)
{
	struct rd r;

	assert_int_equal(say_global(w.owner, "tcpip-forward", "here", 0, true),
	    0);
	r = expect(SSH_MSG_REQUEST_SUCCESS, FAR_PORT);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&w.inbox[0].b);
}
