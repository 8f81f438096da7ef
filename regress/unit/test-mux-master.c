/* SPDX-License-Identifier: ISC */
/*
 * A master of a shared connection and passengers that say anything, against
 * channels of a server over a socketpair.
 */
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
#include "client/mux-master.h"
#include "client/mux-socket.h"
#include "client/mux-wire.h"
#include "packet.h"

enum { REQUEST = 77, CHANNELS = 4 };

static struct loop *loop;
static struct client_conf conf;
static struct packet *near_packet, *far_packet;
static struct channels *near, *far;
static struct channel *far_channel[CHANNELS];
static unsigned far_count;
static bool refuses;
static char requests[512]; /* that the server got, a word each */
static int sock[2];
static struct uses uses;
static unsigned unused, exits, stops;
static struct mux_master *master;

/* ---- the server --------------------------------------------------------- */

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	char *word = xstrndup((const char *)name.p, name.len), *text;

	(void)arg;
	(void)c;
	strlcat(requests, word, sizeof requests);
	free(word);
	if (span_equals(name, "env") || span_equals(name, "exec")) {
		text = rd_cstring(data, 100);
		strlcat(requests, ":", sizeof requests);
		strlcat(requests, text, sizeof requests);
		free(text);
	}
	strlcat(requests, " ", sizeof requests);
	return span_equals(name, "pty-req") ? CHANNEL_FAILURE :
					      CHANNEL_SUCCESS;
}

static void
on_far_closed(void *arg, struct channel *c)
{
	(void)arg;
	for (unsigned i = 0; i < far_count; i++)
		if (far_channel[i] == c)
			far_channel[i] = NULL;
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
	if (refuses || far_count == CHANNELS)
		return CHANNEL_FAILURE;
	assert_int_equal(channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
			     CHANNEL_PACKET_DEFAULT),
	    0);
	far_channel[far_count++] = c;
	return CHANNEL_SUCCESS;
}

static void
step(struct packet *p, struct channels *chs)
{
	struct rd payload;
	bool more;
	int r = packet_fill(p);

	assert_true(r >= 0 || r == ERR_AGAIN);
	while (packet_next(p, &payload) == 1)
		assert_int_equal(channels_input(chs, payload), 0);
	assert_int_equal(channels_turn(chs, &more), 0);
	r = packet_flush(p);
	assert_true(r == 0 || r == ERR_AGAIN);
}

static void
run(void)
{
	for (int i = 0; i < 12; i++) {
		assert_int_equal(loop_turn(loop, 0), 0);
		step(near_packet, near);
		step(far_packet, far);
	}
}

static void
send_status(unsigned which, uint32_t status)
{
	struct buf b = { 0 };

	buf_put_u32(&b, status);
	assert_int_equal(channel_request(far_channel[which], "exit-status", &b,
			     NULL, NULL), 0);
	buf_clear(&b);
	channel_close(far_channel[which], false);
}

/* ---- the master --------------------------------------------------------- */

static void
on_unused(void *arg)
{
	(void)arg;
	unused++;
}

static void
on_exit_wanted(void *arg)
{
	(void)arg;
	exits++;
}

static void
on_stop_wanted(void *arg)
{
	(void)arg;
	stops++;
}

static struct packet *
make_side(int fd, bool server, struct channels **chs)
{
	struct packet *p = packet_new(fd, fd, server);

	assert_non_null(p);
	assert_int_equal(channels_new(chs, p, loop), 0);
	assert_int_equal(packet_authenticated(p), 0);
	return p;
}

static void
make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX,
			     SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
			     pair), 0);
}

static void
make_master(const char *path, int persist_s)
{
	struct mux_master_params params = {
		.session = {
			.conf = &conf,
			.loop = loop,
			.packet = near_packet,
			.channels = near,
		},
		.uses = &uses,
		.persist_s = persist_s,
		.exit = on_exit_wanted,
		.stop = on_stop_wanted,
	};

	assert_int_equal(mux_master_new(&master, &params, path), 0);
}

static int
setup(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	loop = loop_new();
	make_pair(sock);
	near_packet = make_side(sock[0], false, &near);
	far_packet = make_side(sock[1], true, &far);
	assert_int_equal(channels_on_open(far, "session", on_open, NULL), 0);
	requests[0] = '\0';
	far_count = unused = exits = stops = 0;
	refuses = false;
	memset(&conf, 0, sizeof conf);
	conf.session.escape_char = CLIENT_ESCAPE_NONE;
	uses = (struct uses){ .unused = on_unused };
	make_master(NULL, -1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	mux_master_free(master);
	run();
	channels_free(near);
	channels_free(far);
	packet_free(near_packet);
	packet_free(far_packet);
	loop_free(loop);
	for (int i = 0; i < 2; i++)
		fd_close(&sock[i]);
	return 0;
}

/* ---- passengers --------------------------------------------------------- */

static void
send_bytes(int fd, const void *p, size_t len)
{
	assert_int_equal(fd_write(fd, p, len), (ssize_t)len);
}

static void
send_message(int fd, struct buf *message)
{
	struct buf out = { 0 };

	assert_int_equal(mux_frame(&out, message), 0);
	send_bytes(fd, buf_data(&out), buf_len(&out));
	buf_clear(&out);
	buf_clear(message);
}

static void
send_request(int fd, enum mux_type type)
{
	struct buf b = { 0 };

	mux_begin_request(&b, type, REQUEST);
	send_message(fd, &b);
}

/* Connected, and not a word said. */
static int
silent_passenger(void)
{
	int pair[2];

	make_pair(pair);
	mux_master_take(master, pair[1]);
	return pair[0];
}

static int
new_passenger(void)
{
	int fd = silent_passenger();
	struct buf b = { 0 };

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, NULL, NULL);
	send_message(fd, &b);
	return fd;
}

static bool
is_dropped(int fd)
{
	uint8_t byte;

	run();
	for (;;) {
		ssize_t n = fd_read(fd, &byte, 1);

		if (n <= 0)
			return n == 0;
	}
}

/* The next message; its body is to be freed. */
static struct rd
receive(int fd, struct buf *in, uint32_t type)
{
	uint8_t head[4];
	struct rd r;

	run();
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

static void
expect_hello(int fd)
{
	struct buf in = { 0 };
	struct rd r = receive(fd, &in, MUX_HELLO);

	assert_int_equal(mux_read_hello(&r), 0);
	buf_clear(&in);
}

static void
expect_failure(int fd, const char *text)
{
	struct buf in = { 0 };
	struct rd r = receive(fd, &in, MUX_FAILURE);
	char *why;

	assert_int_equal(rd_u32(&r), REQUEST);
	why = rd_cstring(&r, 200);
	assert_string_equal(why, text);
	free(why);
	buf_clear(&in);
}

static uint32_t
expect_number(int fd, uint32_t type, uint32_t id)
{
	struct buf in = { 0 };
	struct rd r = receive(fd, &in, type);
	uint32_t number;

	assert_int_equal(rd_u32(&r), id);
	number = rd_u32(&r);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&in);
	return number;
}

static void
ask_session(int fd, const char *command, const char *env, bool tty)
{
	struct mux_session s = { .escape = MUX_ESCAPE_NONE, .tty = tty,
		.term = xstrdup("tests"), .command = xstrdup(command) };
	struct buf b = { 0 };

	if (env != NULL)
		assert_int_equal(strlist_add(&s.env, env), 0);
	mux_begin_request(&b, MUX_SESSION, REQUEST);
	mux_put_session(&b, &s);
	mux_session_clear(&s);
	send_message(fd, &b);
}

static void
send_fds(int fd, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(fd_send_fds(fd, &fds[i], 1), 0);
}

/* A session whose three descriptors are one end of a socket; the other. */
static int
open_session(int fd, const char *command)
{
	int user[2], fds[3];

	make_pair(user);
	for (int i = 0; i < 3; i++)
		fds[i] = user[0];
	ask_session(fd, command, "FROM=passenger", false);
	send_fds(fd, fds, 3);
	fd_close(&user[0]);
	return user[1];
}

/* ---- what is said first ------------------------------------------------- */

static void
test_hello_comes_first_and_once(void **state)
{
	int fd = silent_passenger();
	struct buf b = { 0 };

	(void)state;
	expect_hello(fd);
	send_request(fd, MUX_CHECK);
	assert_true(is_dropped(fd));
	close(fd);

	fd = new_passenger();
	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, NULL, NULL);
	send_message(fd, &b);
	assert_true(is_dropped(fd));
	close(fd);

	fd = silent_passenger();
	mux_begin(&b, MUX_HELLO);
	buf_put_u32(&b, 5);
	send_message(fd, &b);
	assert_true(is_dropped(fd));
	close(fd);
	assert_int_equal(unused, 3);
}

static void
test_no_messages(void **state)
{
	static const char too_long[] = "\0\4\0\1";
	int fd = new_passenger();

	(void)state;
	send_bytes(fd, too_long, 4);
	assert_true(is_dropped(fd));
	close(fd);
	fd = new_passenger();
	send_bytes(fd, "\0\0\0\0", 4); /* no type */
	assert_true(is_dropped(fd));
	close(fd);
	fd = new_passenger();
	send_bytes(fd, "\0\0\0\4\x10\0\0\4", 8); /* no request id */
	assert_true(is_dropped(fd));
	close(fd);
}

/* ---- requests ----------------------------------------------------------- */

static void
test_requests(void **state)
{
	int fd = new_passenger();
	struct buf b = { 0 }, in = { 0 };
	struct rd r;

	(void)state;
	expect_hello(fd);
	send_request(fd, 0x10000099);
	expect_failure(fd, "unsupported request");
	send_request(fd, MUX_CHECK);
	assert_int_equal(expect_number(fd, MUX_ALIVE, REQUEST), getpid());
	mux_begin_request(&b, MUX_INFO, REQUEST);
	buf_put_cstring(&b, "weather");
	send_message(fd, &b);
	r = receive(fd, &in, MUX_INFO_TEXT);
	assert_int_equal(rd_u32(&r), REQUEST);
	assert_int_equal(rd_u32(&r), 0);
	send_request(fd, MUX_STOP);
	r = receive(fd, &in, MUX_OK);
	assert_int_equal(stops, 1);
	assert_int_equal(exits, 0);
	send_request(fd, MUX_EXIT);
	r = receive(fd, &in, MUX_OK);
	assert_true(is_dropped(fd));
	assert_int_equal(exits, 1);
	buf_clear(&in);
	close(fd);
}

/* ---- sessions ----------------------------------------------------------- */

static void
test_session(void **state)
{
	int fd = new_passenger(), user;
	char got[16];
	uint32_t number;

	(void)state;
	expect_hello(fd);
	user = open_session(fd, "true");
	number = expect_number(fd, MUX_OPENED, REQUEST);
	assert_string_equal(requests, "env:FROM exec:true ");
	assert_int_equal(channel_send_data(far_channel[0], 0, "out", 3), 0);
	run();
	assert_int_equal(fd_read(user, got, sizeof got), 3);
	send_status(0, 41);
	assert_int_equal(expect_number(fd, MUX_STATUS, number), 41);
	assert_true(is_dropped(fd));
	assert_int_equal(fd_read(user, got, sizeof got), 0);
	assert_int_equal(unused, 1);
	close(user);
	close(fd);
}

static void
test_variables_of_both(void **state)
{
	int fd = new_passenger(), user;

	(void)state;
	assert_int_equal(strlist_add(&conf.session.set_env, "FROM=master"), 0);
	assert_int_equal(strlist_add(&conf.session.set_env, "MORE=1"), 0);
	user = open_session(fd, "true");
	run();
	assert_string_equal(requests, "env:FROM env:MORE exec:true ");
	strlist_clear(&conf.session.set_env);
	close(user);
	close(fd);
	run();
	assert_null(far_channel[0]); /* it went with its passenger */
}

static void
test_refused_session(void **state)
{
	int fd = new_passenger(), user;

	(void)state;
	refuses = true;
	expect_hello(fd);
	user = open_session(fd, "true");
	expect_failure(fd, "Session open refused by peer");
	assert_true(is_dropped(fd));
	close(user);
	close(fd);
}

/* The refusal of a terminal is told in front of the end. */
static void
test_refused_terminal(void **state)
{
	int fd = new_passenger(), user[2], fds[3];
	struct buf in = { 0 };
	uint32_t number;
	char got[100];

	(void)state;
	expect_hello(fd);
	make_pair(user);
	fds[0] = fds[1] = fds[2] = user[0];
	ask_session(fd, "true", NULL, true);
	send_fds(fd, fds, 3);
	number = expect_number(fd, MUX_OPENED, REQUEST);
	(void)receive(fd, &in, MUX_NO_TTY);
	assert_int_equal(wire_get_u32(buf_data(&in) + 4), number);
	assert_true(fd_read(user[1], got, sizeof got) > 0);
	assert_memory_equal(got, "PTY allocation request failed", 29);
	buf_clear(&in);
	close(user[0]);
	close(user[1]);
	close(fd);
}

static void
test_one_session_each(void **state)
{
	int fd = new_passenger(), user, second;
	struct buf in = { 0 };

	(void)state;
	expect_hello(fd);
	user = open_session(fd, "first");
	(void)expect_number(fd, MUX_OPENED, REQUEST);
	second = open_session(fd, "second");
	expect_failure(fd, "Multiple sessions not supported");
	/* The first goes on, and its link too. */
	send_request(fd, MUX_CHECK);
	(void)expect_number(fd, MUX_ALIVE, REQUEST);
	assert_non_null(far_channel[0]);
	assert_int_equal(far_count, 1);
	buf_clear(&in);
	close(second);
	close(user);
	close(fd);
}

static void
test_bytes_in_place_of_descriptors(void **state)
{
	int fd = new_passenger(), pair[2], fds[3];

	(void)state;
	ask_session(fd, "true", NULL, false);
	send_bytes(fd, "x", 1);
	assert_true(is_dropped(fd));
	close(fd);

	/* Several at once are not what the protocol says. */
	fd = new_passenger();
	make_pair(pair);
	fds[0] = fds[1] = fds[2] = pair[0];
	ask_session(fd, "true", NULL, false);
	assert_int_equal(fd_send_fds(fd, fds, 3), 0);
	assert_true(is_dropped(fd));
	close(fd);

	/* Descriptors that nobody wanted are nobody's. */
	fd = new_passenger();
	send_fds(fd, fds, 3);
	send_bytes(fd, "\0", 1);
	close(pair[0]);
	run();
	assert_int_equal(fd_read(pair[1], &fds[0], 1), 0);
	close(pair[1]);
	close(fd);
	assert_int_equal(far_count, 0);
}

/* One that is gone in the middle of its request leaves nothing behind. */
static void
test_gone_between_descriptors(void **state)
{
	int fd = new_passenger(), pair[2];
	char byte;

	(void)state;
	make_pair(pair);
	ask_session(fd, "true", NULL, false);
	send_fds(fd, &pair[0], 1);
	close(pair[0]);
	run();
	close(fd);
	run();
	assert_int_equal(fd_read(pair[1], &byte, 1), 0);
	close(pair[1]);
	assert_int_equal(unused, 1);
}

/* ---- those that do not behave ------------------------------------------- */

/* One asks and asks, and reads no answer: it is no longer read from, and the
 * others have theirs. */
static void
test_one_that_does_not_read(void **state)
{
	int fd = new_passenger(), other;
	struct buf b = { 0 }, out = { 0 };
	size_t sent = 0;

	(void)state;
	mux_begin_request(&b, MUX_CHECK, REQUEST);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(mux_frame(&out, &b), 0);
	for (int i = 0; i < 600; i++) {
		size_t off = sent % buf_len(&out);
		ssize_t n = fd_write(fd, buf_data(&out) + off,
		    buf_len(&out) - off);

		assert_true(n > 0 || errno == EAGAIN); /* it is not dropped */
		if (n > 0)
			sent += (size_t)n;
		run();
	}
	assert_true(sent < 1024 * 1024); /* what the kernel keeps, and a few */
	other = new_passenger();
	expect_hello(other);
	send_request(other, MUX_CHECK);
	(void)expect_number(other, MUX_ALIVE, REQUEST);
	buf_clear(&b);
	buf_clear(&out);
	close(other);
	close(fd);
}

static void
test_limit_of_passengers(void **state)
{
	static int fds[MUX_PASSENGERS_MAX];
	int over;
	char byte;

	(void)state;
	for (int i = 0; i < MUX_PASSENGERS_MAX; i++)
		fds[i] = silent_passenger();
	over = silent_passenger();
	assert_int_equal(fd_read(over, &byte, 1), 0);
	close(over);
	close(fds[0]);
	run();
	fds[0] = new_passenger();
	expect_hello(fds[0]);
	for (int i = 0; i < MUX_PASSENGERS_MAX; i++)
		close(fds[i]);
	run();
}

/* ---- a lost connection -------------------------------------------------- */

/* Those that have nothing which would end by itself are let go. */
static void
test_lost_connection(void **state)
{
	int quiet = silent_passenger(), ready = new_passenger(),
	    slow = new_passenger(), busy = new_passenger(), user;

	(void)state;
	expect_hello(quiet);
	expect_hello(ready);
	ask_session(slow, "command", "FROM=passenger", false);
	expect_hello(slow);
	user = open_session(busy, "command");
	expect_hello(busy);
	(void)expect_number(busy, MUX_OPENED, REQUEST);
	mux_master_lost(master);
	assert_true(is_dropped(quiet));
	assert_true(is_dropped(ready));
	assert_true(is_dropped(slow));
	assert_true(mux_master_is_used(master));
	assert_false(is_dropped(busy));
	close(quiet);
	close(ready);
	close(slow);
	close(busy);
	close(user);
	run();
	assert_false(mux_master_is_used(master));
}

/* ---- keeping the connection --------------------------------------------- */

static void
test_kept_until_idle(void **state)
{
	int fd;

	(void)state;
	mux_master_free(master);
	make_master(NULL, 1);
	assert_int_equal(uses.count[USE_SHARING], 1);
	fd = new_passenger();
	for (int i = 0; i < 6; i++) { /* longer than the time */
		run();
		assert_int_equal(loop_turn(loop, 250), 0);
	}
	assert_int_equal(uses.count[USE_SHARING], 1);
	close(fd);
	for (int i = 0; i < 40 && unused == 0; i++) {
		run();
		assert_int_equal(loop_turn(loop, 250), 0);
	}
	assert_int_equal(unused, 1);
	assert_int_equal(uses.count[USE_SHARING], 0);
}

static void
test_stopped_while_kept(void **state)
{
	int fd;

	(void)state;
	mux_master_free(master);
	make_master(NULL, 0);
	fd = new_passenger();
	send_request(fd, MUX_STOP);
	run();
	assert_int_equal(unused, 0);
	close(fd);
	run();
	assert_int_equal(unused, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_hello_comes_first_and_once),
		TEST(test_no_messages),
		TEST(test_requests),
		TEST(test_session),
		TEST(test_variables_of_both),
		TEST(test_refused_session),
		TEST(test_refused_terminal),
		TEST(test_one_session_each),
		TEST(test_bytes_in_place_of_descriptors),
		TEST(test_gone_between_descriptors),
		TEST(test_one_that_does_not_read),
		TEST(test_limit_of_passengers),
		TEST(test_lost_connection),
		TEST(test_kept_until_idle),
		TEST(test_stopped_while_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
