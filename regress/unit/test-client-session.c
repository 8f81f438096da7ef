/* SPDX-License-Identifier: ISC */
/*
 * A session with descriptors and a terminal that are not this process's own,
 * against channels of a server over a socketpair.
 */
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/session/client-session.h"
#include "compat/bsd.h"
#include "packet.h"
#include "regress/unit/channels-side.h"

static struct loop *loop;
static struct client_conf conf;
static struct packet *near_packet, *far_packet;
static struct channels *near, *far;
static struct channel *far_channel;
static int sock[2], user[2], server_data[2], errors[2];
static char requests[256]; /* that the server got, a word each */
static char calls[256];	   /* what the session did to its descriptors */
static char term[32];
static uint32_t columns, rows;
static bool refuse_pty;
static unsigned ended, typed;

static void
note(char *list, const char *word)
{
	strlcat(list, word, sizeof calls);
	strlcat(list, " ", sizeof calls);
}

/* ---- the server --------------------------------------------------------- */

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	char *word = xstrndup((const char *)name.p, name.len), *text;

	(void)arg;
	(void)c;
	note(requests, word);
	free(word);
	if (span_equals(name, "pty-req")) {
		text = rd_cstring(data, sizeof term);
		strlcpy(term, text, sizeof term);
		free(text);
	}
	if (span_equals(name, "pty-req") ||
	    span_equals(name, "window-change")) {
		columns = rd_u32(data);
		rows = rd_u32(data);
		return refuse_pty ? CHANNEL_FAILURE : CHANNEL_SUCCESS;
	}
	return CHANNEL_SUCCESS;
}

static void
on_far_closed(void *arg, struct channel *c)
{
	(void)arg;
	(void)c;
	far_channel = NULL;
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
	assert_int_equal(channel_accept(c, &ops, NULL, CHANNEL_WINDOW_DEFAULT,
			     CHANNEL_PACKET_DEFAULT),
	    0);
	channel_set_fds(c, server_data[0], server_data[0], -1, -1);
	far_channel = c;
	return CHANNEL_SUCCESS;
}

/* ---- the descriptors ---------------------------------------------------- */

static bool
on_raw(void *arg, bool on)
{
	(void)arg;
	note(calls, on ? "raw" : "not-raw");
	return on;
}

static void
on_nonblock(void *arg, bool on)
{
	(void)arg;
	note(calls, on ? "nonblock" : "block");
}

static void
on_end_output(void *arg)
{
	(void)arg;
	note(calls, "end-output");
}

static const struct session_stdio_ops stdio_ops = {
	.set_raw = on_raw,
	.set_nonblock = on_nonblock,
	.end_output = on_end_output,
};

/* ---- both --------------------------------------------------------------- */

static void
run(void)
{
	for (int i = 0; i < 8; i++) {
		assert_int_equal(loop_turn(loop, 0), 0);
		side_step(near_packet, near);
		side_step(far_packet, far);
	}
}

static void
make_pair(int pair[2])
{
	socket_pair(SOCK_STREAM, pair);
}

static int
setup(void **state)
{
	(void)state;
	loop = loop_new();
	make_pair(sock);
	make_pair(user);
	make_pair(server_data);
	make_pair(errors);
	near_packet = side_new(sock[0], false, loop, &near);
	far_packet = side_new(sock[1], true, loop, &far);
	assert_int_equal(channels_on_open(far, "session", on_open, NULL), 0);
	requests[0] = calls[0] = term[0] = '\0';
	columns = rows = ended = typed = 0;
	refuse_pty = false;
	memset(&conf, 0, sizeof conf);
	conf.session.escape_char = '~';
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	channels_free(near);
	channels_free(far);
	packet_free(near_packet);
	packet_free(far_packet);
	loop_free(loop);
	for (int i = 0; i < 2; i++) {
		fd_close(&sock[i]);
		fd_close(&user[i]);
		fd_close(&server_data[i]);
		fd_close(&errors[i]);
	}
	return 0;
}

static void
on_ended(void *arg)
{
	(void)arg;
	ended++;
}

static void
on_typed(void *arg)
{
	(void)arg;
	typed++;
}

static struct session *
open_session(int terminal, bool attach_later)
{
	struct session_params params = {
		.conf = &conf,
		.loop = loop,
		.packet = near_packet,
		.channels = near,
		.tty = terminal != -1,
		.attach_later = attach_later,
		.stdio = {
			.in = user[0],
			.out = user[0],
			.err = errors[0],
			.terminal = terminal,
			.term = "tests",
			.ops = &stdio_ops,
		},
		.ended = on_ended,
		.typed = on_typed,
	};
	struct session *s;

	assert_int_equal(session_new(&s, &params), 0);
	return s;
}

static int
open_terminal(int *controller)
{
	struct winsize size = { .ws_col = 91, .ws_row = 33 };
	int fd;

	*controller = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(*controller != -1);
	assert_int_equal(grantpt(*controller), 0);
	assert_int_equal(unlockpt(*controller), 0);
	fd = open(ptsname(*controller), O_RDWR | O_NOCTTY);
	assert_true(fd != -1);
	assert_int_equal(ioctl(fd, TIOCSWINSZ, &size), 0);
	return fd;
}

static void
expect_data(int fd, const char *text)
{
	char got[4096];
	ssize_t n = read(fd, got, sizeof got - 1);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_non_null(strstr(got, text));
}

static void
send_status(uint32_t status)
{
	struct buf b = { 0 };

	buf_put_u32(&b, status);
	assert_int_equal(channel_request(far_channel, "exit-status", &b, NULL,
			     NULL), 0);
	buf_clear(&b);
	channel_close(far_channel, false);
}

/* Size and type of the terminal that was passed go to the server; bytes move
 * between the descriptors that were passed; escapes answer there too. */
static void
test_terminal(void **state)
{
	struct winsize wider = { .ws_col = 132, .ws_row = 50 };
	int controller, terminal = open_terminal(&controller);
	struct session *s = open_session(terminal, false);

	(void)state;
	run();
	assert_string_equal(requests, "pty-req shell ");
	assert_string_equal(calls, "raw nonblock ");
	assert_string_equal(term, "tests");
	assert_int_equal(columns, 91);
	assert_int_equal(rows, 33);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &wider), 0);
	session_resized(s);
	run();
	assert_int_equal(columns, 132);
	assert_int_equal(rows, 50);

	assert_int_equal(write(user[1], "typed\r", 6), 6);
	run();
	expect_data(server_data[1], "typed\r");
	assert_int_equal(write(server_data[1], "shown", 5), 5);
	run();
	expect_data(user[1], "shown");
	assert_int_equal(write(user[1], "~?", 2), 2);
	run();
	expect_data(errors[1], "~?\r\nSupported escape sequences:\r\n");

	send_status(7);
	run();
	assert_int_equal(ended, 1);
	assert_int_equal(session_status(s), 7);
	assert_string_equal(calls, "raw nonblock ");
	session_free(s);
	assert_string_equal(calls, "raw nonblock not-raw ");
	close(terminal);
	close(controller);
}

/* The server gives no terminal: ours goes back to its modes. */
static void
test_refused_terminal(void **state)
{
	int controller, terminal = open_terminal(&controller);
	struct session *s;

	(void)state;
	refuse_pty = true;
	s = open_session(terminal, false);
	run();
	assert_string_equal(calls, "raw nonblock not-raw ");
	columns = 0;
	session_resized(s);
	run();
	assert_int_equal(columns, 0);
	session_free(s);
	close(terminal);
	close(controller);
}

/* Nothing happens before session_attach(), here and there, also when the
 * server was quick; and the reader of the output hears of its end. */
static void
test_attach_later(void **state)
{
	struct session *s = open_session(-1, true);

	(void)state;
	assert_int_equal(write(user[1], "early", 5), 5);
	run();
	assert_string_equal(requests, "");
	assert_string_equal(calls, "");
	session_attach(s);
	session_attach(s);
	run();
	assert_string_equal(requests, "shell ");
	assert_string_equal(calls, "nonblock ");
	expect_data(server_data[1], "early");

	assert_int_equal(write(server_data[1], "last", 4), 4);
	assert_int_equal(shutdown(server_data[1], SHUT_WR), 0);
	run();
	expect_data(user[1], "last");
	assert_string_equal(calls, "nonblock end-output ");
	assert_int_equal(ended, 0);
	send_status(0);
	run();
	assert_int_equal(ended, 1);
	assert_int_equal(session_status(s), 0);
	session_free(s);
}

/* The connection is lost: what is typed is dropped with a bell, and told of; it
 * goes on: it is none of this session's any more. */
static void
test_typed_while_lost(void **state)
{
	int controller, terminal = open_terminal(&controller);
	struct session *s = open_session(terminal, false);

	(void)state;
	run();
	session_waits(s, true);
	assert_int_equal(typed, 0);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(write(user[1], "x", 1), 1);
		assert_int_equal(loop_turn(loop, 1000), 0);
		assert_int_equal(typed, i);
	}
	expect_data(errors[1], "\a\a\a");
	assert_int_equal(write(user[1], "\r~?", 3), 3);
	assert_int_equal(loop_turn(loop, 1000), 0);
	assert_int_equal(loop_turn(loop, 1000), 0);
	assert_int_equal(typed, 4);
	expect_data(errors[1], "Supported escape sequences:\r\n");

	session_waits(s, false);
	run();
	assert_int_equal(write(user[1], "y", 1), 1);
	run();
	assert_int_equal(typed, 4);
	expect_data(server_data[1], "y");

	/* The terminal goes away meanwhile: nobody spins. */
	session_waits(s, true);
	assert_int_equal(shutdown(user[1], SHUT_WR), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(typed, 4);
	session_free(s);
	close(terminal);
	close(controller);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_terminal, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_refused_terminal, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_attach_later, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_typed_while_lost, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
