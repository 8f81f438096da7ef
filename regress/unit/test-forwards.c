/* SPDX-License-Identifier: ISC */
/*
 * The forwards of the client: what the server is asked for, what it may open
 * and what not, how much it can make us hold, and what is told to whoever has
 * added a forward. (SOCKS is in test-forwards-socks.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/forwards/forwards-internal.h"
#include "regress/unit/forwards-host.h"

/* ---- -R: requests ------------------------------------------------------- */

static char one[] = "one", two[] = "two";

static void
test_addresses_of_requests(void **state)
{
	(void)state;
	client_adds(FORWARD_REMOTE, "80:h:1", one);
	client_adds(FORWARD_REMOTE, "*:81:h:1", one);
	client_adds(FORWARD_REMOTE, ":82:h:1", one);
	client_adds(FORWARD_REMOTE, "LocalHost:83:h:1", one);
	client_adds(FORWARD_REMOTE, "/a/path:h:1", one);
	expect_said("listen localhost:80\nlisten :81\nlisten :82\n"
		    "listen LocalHost:83\nlisten /a/path\n"
		    "one stands 0\none stands 0\none stands 0\none stands "
		    "0\none stands 0\n");
}

static void
test_same_again(void **state)
{
	(void)state;
	client_adds(FORWARD_REMOTE, "0:h:1", one);
	client_adds(FORWARD_REMOTE, "0:h:1", two);
	expect_said("listen localhost:0\n"
		    "log Allocated port 4711 for remote forward to h:1\n"
		    "one stands 4711\ntwo stands 4711\n");
	client_adds(FORWARD_REMOTE, "0:h:1", two);
	expect_said("two stands 4711\n");
	assert_false(client_cancels(FORWARD_REMOTE, "0:h:2"));
	assert_true(client_cancels(FORWARD_REMOTE, "0:h:1"));
	assert_false(client_cancels(FORWARD_REMOTE, "0:h:1"));
	expect_said("cancel localhost:4711\n");
}

static void
test_refused_request(void **state)
{
	(void)state;
	far.refuses = true;
	client_adds(FORWARD_REMOTE, "80:h:1", one);
	client_adds(FORWARD_REMOTE, "/a/path:h:1", two);
	expect_said("listen localhost:80\nlisten /a/path\n"
		    "one failed 0\ntwo failed 0\n");
	assert_false(client_cancels(FORWARD_REMOTE, "80:h:1"));
}

/* A server that says yes to port 0 has to say which one it took. */
static void
test_no_port_for_port_0(void **state)
{
	static const uint32_t bad[] = { 0, 65536, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		far.gives_port = bad[i];
		client_adds(FORWARD_REMOTE, "0:h:1", one);
		expect_said("listen localhost:0\none failed 0\n");
		server_opens("localhost", bad[i], NULL);
		run_both();
		assert_int_equal(far.refused_with, CHANNEL_OPEN_PROHIBITED);
		said[0] = '\0';
	}
}

static void
test_cancelled_before_the_answer(void **state)
{
	(void)state;
	client_adds(FORWARD_REMOTE, "80:h:1", one);
	assert_true(client_cancels(FORWARD_REMOTE, "80:h:1"));
	expect_said("listen localhost:80\none failed 0\n"
		    "cancel localhost:80\n");
}

/* ---- -R: channels ------------------------------------------------------- */

static void
check_unknown(const char *address, uint32_t port, const char *path)
{
	far.refused_with = 0;
	said[0] = '\0';
	server_opens(address, port, path);
	run_both();
	assert_int_equal(far.refused_with, CHANNEL_OPEN_PROHIBITED);
	assert_non_null(strstr(said, "WARNING: Server requests forwarding for "
	    "unknown"));
	assert_int_equal(near.uses.count[USE_FORWARDED], 0);
	said[0] = '\0';
}

static void
test_only_what_was_asked_for(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true), got;
	char text[64];

	(void)state;
	check_unknown("localhost", 80, NULL);
	check_unknown(NULL, 0, "/a/path");
	snprintf(text, sizeof text, "80:127.0.0.1:%u", port);
	client_adds(FORWARD_REMOTE, text, one);
	run_both();
	check_unknown("localhost", 81, NULL);
	check_unknown("LOCALHOST", 80, NULL);
	check_unknown("", 80, NULL);
	check_unknown("localhost", 80 + 65536, NULL);
	check_unknown(NULL, 0, "localhost");
	server_opens("localhost", 80, NULL);
	run_both();
	assert_int_equal(far.opened, 1);
	assert_int_equal(near.uses.count[USE_FORWARDED], 1);
	assert_true((got = accept(fd, NULL, NULL)) != -1);
	assert_true(client_cancels(FORWARD_REMOTE, text));
	far.refused_with = 0;
	server_opens("localhost", 80, NULL);
	run_both();
	assert_int_equal(far.refused_with, CHANNEL_OPEN_PROHIBITED);
	/* The connection that was there goes on. */
	assert_int_equal(write(far.pipe[0], "hello", 5), 5);
	assert_int_equal(fd_set_nonblock(got, true), 0);
	expect_bytes(got, "hello");
	fd_close(&got);
	fd_close(&fd);
}

/* The server opens a channel in front of its answer. */
static void
test_before_the_answer_nothing_stands(void **state)
{
	(void)state;
	client_adds(FORWARD_REMOTE, "80:h:1", one);
	server_opens("localhost", 80, NULL);
	run_both();
	assert_int_equal(far.refused_with, CHANNEL_OPEN_PROHIBITED);
	assert_non_null(strstr(said, "one stands"));
}

static void
test_warnings_have_a_limit(void **state)
{
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		server_opens("localhost", 80, NULL);
		run_both();
	}
	for (const char *p = said; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	assert_int_equal(lines, FORWARDS_WARNINGS_MAX + 1);
}

/* ---- -L ----------------------------------------------------------------- */

static void
test_connection_and_originator(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd = connect_to(port);

	(void)state;
	expect_said("open target:7 from 127.0.0.1\n");
	assert_int_equal(near.uses.count[USE_FORWARDED], 1);
	assert_int_equal(write(fd, "hello", 5), 5);
	expect_bytes(far.pipe[0], "hello");
	fd_close(&fd);
	run_both();
	assert_int_equal(shutdown(far.pipe[0], SHUT_WR), 0);
	run_both();
	assert_int_equal(near.uses.count[USE_FORWARDED], 0);
}

/* A refusal closes what was accepted; the forward stands. */
static void
test_refused_open(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd = connect_to(port);

	(void)state;
	far.refuses = true;
	expect_bytes(fd, NULL);
	assert_non_null(strstr(said, "open failed: administratively "
	    "prohibited"));
	fd_close(&fd);
	assert_int_equal(near.uses.count[USE_FORWARDED], 0);
	assert_int_equal(near.forwards->unanswered, 0);
	far.refuses = false;
	fd = connect_to(port);
	run_both();
	assert_int_equal(near.uses.count[USE_FORWARDED], 1);
	fd_close(&fd);
}

/* A server that does not answer has so many channels to think about, and no
 * more; when it answers one, one more is accepted. */
static void
test_unanswered_have_a_limit(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd[FORWARDS_UNANSWERED_MAX + 10];

	(void)state;
	far.holds = true;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(port);
		run_both();
	}
	assert_int_equal(far.held_count, FORWARDS_UNANSWERED_MAX);
	run_both();
	assert_int_equal(far.held_count, FORWARDS_UNANSWERED_MAX);
	assert_int_equal(channel_refuse(far.held[0],
	    CHANNEL_OPEN_CONNECT_FAILED, NULL), 0);
	run_both();
	assert_int_equal(far.held_count, FORWARDS_UNANSWERED_MAX + 1);
	assert_int_equal(server_accepts(far.held[1]), CHANNEL_SUCCESS);
	run_both();
	assert_int_equal(far.held_count, FORWARDS_UNANSWERED_MAX + 2);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
}

/* Added while it is so, a forward waits too. */
static void
test_added_while_unanswered(void **state)
{
	uint16_t first = listen_here(FORWARD_LOCAL, "target:7"), second;
	int fd[FORWARDS_UNANSWERED_MAX], late;

	(void)state;
	far.holds = true;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(first);
		run_both();
	}
	said[0] = '\0';
	second = listen_here(FORWARD_LOCAL, "other:8");
	late = connect_to(second);
	run_both();
	assert_int_equal(far.held_count, FORWARDS_UNANSWERED_MAX);
	forwards_stop_listening(near.forwards);
	expect_bytes(late, NULL);
	fd_close(&late);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
}

static void
test_taken_port(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true);
	char text[64];

	(void)state;
	snprintf(text, sizeof text, "127.0.0.1:%u:h:1", port);
	client_adds(FORWARD_LOCAL, text, one);
	run_both();
	assert_non_null(strstr(said, "one failed 0\n"));
	assert_false(client_cancels(FORWARD_LOCAL, text));
	fd_close(&fd);
}

/* ---- as it begins ------------------------------------------------------- */

static void
on_begun(void *arg, bool failed)
{
	(void)arg;
	say("begun%s\n", failed ? ", failed" : "");
}

static void
configure(enum forward_kind kind, const char *text)
{
	assert_int_equal(client_conf_add_forward(&near.conf, kind, text), 0);
}

static void
test_begins_when_all_stand(void **state)
{
	(void)state;
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_REMOTE, "81:h:1");
	forwards_ask_early(near.forwards);
	assert_string_equal(said, "");
	forwards_add_configured(near.forwards, on_begun, NULL);
	assert_string_equal(said, "");
	expect_said("listen localhost:80\nlisten localhost:81\nbegun\n");
}

static void
test_begins_with_nothing(void **state)
{
	(void)state;
	forwards_add_configured(near.forwards, on_begun, NULL);
	expect_said("begun\n");
}

static void
test_failures_at_the_beginning(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true);
	char text[64];

	(void)state;
	far.refuses = true;
	snprintf(text, sizeof text, "127.0.0.1:%u:h:1", port);
	configure(FORWARD_LOCAL, text);
	configure(FORWARD_REMOTE, "80:h:1");
	forwards_add_configured(near.forwards, on_begun, NULL);
	run_both();
	assert_non_null(strstr(said, "log Could not request local "
	    "forwarding.\nbegun\n"));
	assert_non_null(strstr(said, "log Warning: remote port forwarding "
	    "failed for listen port 80\n"));
	fd_close(&fd);
}

static void
test_strict_beginning(void **state)
{
	(void)state;
	near.conf.forward.exit_on_failure = 1;
	far.refuses = true;
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_REMOTE, "81:h:1");
	forwards_add_configured(near.forwards, on_begun, NULL);
	expect_said("listen localhost:80\nlisten localhost:81\n"
		    "log Error: remote port forwarding failed for listen port "
		    "80\nbegun, failed\n"
		    "log Error: remote port forwarding failed for listen port "
		    "81\n");
}

static void
test_distrusted_host(void **state)
{
	(void)state;
	forwards_free(near.forwards);
	client_begins(true);
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_DYNAMIC, "1080");
	forwards_ask_early(near.forwards);
	forwards_add_configured(near.forwards, on_begun, NULL);
	expect_said("log Port forwarding is disabled to avoid "
		    "man-in-the-middle attacks.\nbegun\n");
	client_adds(FORWARD_REMOTE, "80:h:1", one);
	expect_said("one failed 0\n");
	server_opens("localhost", 80, NULL);
	run_both();
	assert_int_equal(far.refused_with, CHANNEL_OPEN_PROHIBITED);
}

int
main(void)
{
#define TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, forwards_setup, forwards_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_addresses_of_requests),
		TEST(test_same_again),
		TEST(test_refused_request),
		TEST(test_no_port_for_port_0),
		TEST(test_cancelled_before_the_answer),
		TEST(test_only_what_was_asked_for),
		TEST(test_before_the_answer_nothing_stands),
		TEST(test_warnings_have_a_limit),
		TEST(test_connection_and_originator),
		TEST(test_refused_open),
		TEST(test_unanswered_have_a_limit),
		TEST(test_added_while_unanswered),
		TEST(test_taken_port),
		TEST(test_begins_when_all_stand),
		TEST(test_begins_with_nothing),
		TEST(test_failures_at_the_beginning),
		TEST(test_strict_beginning),
		TEST(test_distrusted_host),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
