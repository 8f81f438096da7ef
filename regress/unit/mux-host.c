/* SPDX-License-Identifier: ISC */
#include "regress/unit/mux-host.h"
#include "regress/unit/help.h"
#include "regress/unit/channels-side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-socket.h"
#include "client/mux/mux-wire.h"
#include "compat/bsd.h"
#include "packet.h"

struct mux_world mw;

static struct packet *far_packet;
static struct channels *far;

/* ---- the server --------------------------------------------------------- */

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	char *word = xstrndup((const char *)name.p, name.len), *text;

	(void)arg;
	(void)c;
	strlcat(mw.requests, word, sizeof mw.requests);
	free(word);
	if (span_equals(name, "env") || span_equals(name, "exec")) {
		text = rd_cstring(data, 100);
		strlcat(mw.requests, ":", sizeof mw.requests);
		strlcat(mw.requests, text, sizeof mw.requests);
		free(text);
	}
	strlcat(mw.requests, " ", sizeof mw.requests);
	return span_equals(name, "pty-req") ? CHANNEL_FAILURE :
					      CHANNEL_SUCCESS;
}

static void
on_far_closed(void *arg, struct channel *c)
{
	(void)arg;
	for (unsigned i = 0; i < mw.far_count; i++)
		if (mw.far_channel[i] == c)
			mw.far_channel[i] = NULL;
}

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	static const struct channel_ops ops = {
		.request = on_request,
		.closed = on_far_closed,
	};

	(void)arg;
	(void)chs;
	assert_int_equal(rd_end(data), 0);
	if (mw.refuses || mw.far_count == CHANNELS)
		return CHANNEL_FAILURE;
	assert_int_equal(channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
			     CHANNEL_PACKET_DEFAULT),
	    0);
	mw.far_channel[mw.far_count++] = c;
	return CHANNEL_SUCCESS;
}

void
mw_run(void)
{
	for (int i = 0; i < 12; i++) {
		assert_int_equal(loop_turn(mw.loop, 0), 0);
		side_step(mw.near_packet, mw.near);
		side_step(far_packet, far);
	}
}

void
mw_send_status(unsigned which, uint32_t status)
{
	struct buf b = { 0 };

	buf_put_u32(&b, status);
	assert_int_equal(channel_request(mw.far_channel[which], "exit-status",
	    &b,
			     NULL, NULL), 0);
	buf_clear(&b);
	channel_close(mw.far_channel[which], false);
}

/* ---- the master --------------------------------------------------------- */

static void
on_unused(void *arg)
{
	(void)arg;
	mw.unused++;
}

static void
on_exit_wanted(void *arg)
{
	(void)arg;
	mw.exits++;
}

static void
on_stop_wanted(void *arg)
{
	(void)arg;
	mw.stops++;
}

static struct packet *
make_side(int fd, bool server, struct channels **chs)
{
	struct packet *p = packet_new(fd, fd, server);

	assert_non_null(p);
	assert_int_equal(channels_new(chs, p, mw.loop), 0);
	assert_int_equal(packet_authenticated(p), 0);
	return p;
}

void
mw_make_pair(int pair[2])
{
	socket_pair(SOCK_STREAM, pair);
}

void
mw_make_master(const char *path, int persist_s)
{
	struct mux_master_params params = {
		.session = {
			.conf = &mw.conf,
			.loop = mw.loop,
			.packet = mw.near_packet,
			.channels = mw.near,
		},
		.uses = &mw.uses,
		.persist_s = persist_s,
		.exit = on_exit_wanted,
		.stop = on_stop_wanted,
	};

	assert_int_equal(mux_master_new(&mw.master, &params, path), 0);
}

int
mw_setup(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	mw.loop = loop_new();
	mw_make_pair(mw.sock);
	mw.near_packet = make_side(mw.sock[0], false, &mw.near);
	far_packet = make_side(mw.sock[1], true, &far);
	assert_int_equal(channels_on_open(far, "session", on_open, NULL), 0);
	mw.requests[0] = '\0';
	mw.far_count = mw.unused = mw.exits = mw.stops = 0;
	mw.refuses = false;
	memset(&mw.conf, 0, sizeof mw.conf);
	mw.conf.session.escape_char = CLIENT_ESCAPE_NONE;
	mw.uses = (struct uses){ .unused = on_unused };
	mw_make_master(NULL, -1);
	return 0;
}

int
mw_teardown(void **state)
{
	(void)state;
	mux_master_free(mw.master);
	mw_run();
	channels_free(mw.near);
	channels_free(far);
	packet_free(mw.near_packet);
	packet_free(far_packet);
	loop_free(mw.loop);
	for (int i = 0; i < 2; i++)
		fd_close(&mw.sock[i]);
	return 0;
}

/* ---- clients --------------------------------------------------------- */

void
mw_send_bytes(int fd, const void *p, size_t len)
{
	assert_int_equal(fd_write(fd, p, len), (ssize_t)len);
}

void
mw_send_message(int fd, struct buf *message)
{
	struct buf out = { 0 };

	assert_int_equal(mux_frame(&out, message), 0);
	mw_send_bytes(fd, buf_data(&out), buf_len(&out));
	buf_clear(&out);
	buf_clear(message);
}

void
mw_send_request(int fd, enum mux_type type)
{
	struct buf b = { 0 };

	mux_begin_request(&b, type, REQUEST);
	mw_send_message(fd, &b);
}

/* Connected, and not a word said. */
int
mw_silent_client(void)
{
	int pair[2];

	mw_make_pair(pair);
	mux_master_take(mw.master, pair[1]);
	return pair[0];
}

int
mw_new_client(void)
{
	int fd = mw_silent_client();
	struct buf b = { 0 };

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, NULL, NULL);
	mw_send_message(fd, &b);
	return fd;
}

bool
mw_is_dropped(int fd)
{
	uint8_t byte;

	mw_run();
	for (;;) {
		ssize_t n = fd_read(fd, &byte, 1);

		if (n <= 0)
			return n == 0;
	}
}

/* The next message; its body is to be freed. */
struct rd
mw_receive(int fd, struct buf *in, uint32_t type)
{
	uint8_t head[4];
	struct rd r;

	mw_run();
	buf_reset(in);
	assert_int_equal(fd_read_all(fd, head, sizeof head), 0);
	assert_true(wire_get_u32(head) < 10000);
	assert_int_equal(fd_read_all(fd, buf_reserve(in, wire_get_u32(head)),
			     wire_get_u32(head)), 0);
	buf_commit(in, wire_get_u32(head));
	r = rd_from_buf(in);
	assert_int_equal(rd_u32(&r), type);
	return r;
}

void
mw_expect_hello(int fd)
{
	struct buf in = { 0 };
	struct rd r = mw_receive(fd, &in, MUX_HELLO);

	assert_int_equal(mux_read_hello(&r), 0);
	buf_clear(&in);
}

void
mw_expect_failure(int fd, const char *text)
{
	struct buf in = { 0 };
	struct rd r = mw_receive(fd, &in, MUX_FAILURE);
	char *why;

	assert_int_equal(rd_u32(&r), REQUEST);
	why = rd_cstring(&r, 200);
	assert_string_equal(why, text);
	free(why);
	buf_clear(&in);
}

uint32_t
mw_expect_number(int fd, uint32_t type, uint32_t id)
{
	struct buf in = { 0 };
	struct rd r = mw_receive(fd, &in, type);
	uint32_t number;

	assert_int_equal(rd_u32(&r), id);
	number = rd_u32(&r);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&in);
	return number;
}

void
mw_ask_session(int fd, const char *command, const char *env, bool tty)
{
	struct mux_session s = { .escape = MUX_ESCAPE_NONE, .tty = tty,
		.term = xstrdup("tests"), .command = xstrdup(command) };
	struct buf b = { 0 };

	if (env != NULL)
		assert_int_equal(strlist_add(&s.env, env), 0);
	mux_begin_request(&b, MUX_SESSION, REQUEST);
	mux_put_session(&b, &s);
	mux_session_clear(&s);
	mw_send_message(fd, &b);
}

void
mw_send_fds(int fd, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(fd_send_fds(fd, &fds[i], 1), 0);
}

/* Others are served. */
void
mw_check_others(void)
{
	int fd = mw_new_client();

	mw_expect_hello(fd);
	mw_send_request(fd, MUX_CHECK);
	(void)mw_expect_number(fd, MUX_ALIVE, REQUEST);
	close(fd);
}

/* A session whose three descriptors are one end of a socket; the other. */
int
mw_open_session(int fd, const char *command)
{
	int user[2], fds[3];

	mw_make_pair(user);
	for (int i = 0; i < 3; i++)
		fds[i] = user[0];
	mw_ask_session(fd, command, "FROM=client", false);
	mw_send_fds(fd, fds, 3);
	fd_close(&user[0]);
	return user[1];
}

/* Writes message again and again, beginning at so many bytes. */
size_t
mw_write_more(int fd, const struct buf *message, size_t sent)
{
	size_t off = sent % buf_len(message);
	ssize_t n = fd_write(fd, buf_data(message) + off,
	    buf_len(message) - off);

	assert_true(n > 0 || errno == EAGAIN); /* it is not dropped */
	return sent + (n > 0 ? (size_t)n : 0);
}
