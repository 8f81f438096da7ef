/* SPDX-License-Identifier: ISC */
/*
 * Connections that tell by SOCKS where they want to go: those to a dynamic
 * forward here, and those that a server opens for one there.
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
#include "base/str.h"
#include "client/forwards/forwards-internal.h"
#include "regress/unit/forwards-host.h"

static char one[] = "one";

/* ---- -D ----------------------------------------------------------------- */

static const char request[] = "\5\1\0\5\1\0\3\1h\0\7more";

static void
test_socks_in_pieces(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd = connect_to(port);

	(void)state;
	for (size_t i = 0; i < sizeof request - 1; i++) {
		assert_int_equal(write(fd, &request[i], 1), 1);
		run_both();
	}
	expect_bytes(far.pipe[0], "more");
	expect_said("open h:7 from 127.0.0.1\n");
	fd_close(&fd);
}

static void
test_socks_answer_waits_for_the_server(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd = connect_to(port);
	char got[16];

	(void)state;
	far.holds = true;
	assert_int_equal(write(fd, request, sizeof request - 1),
	    sizeof request - 1);
	run_both();
	assert_int_equal(read(fd, got, sizeof got), 2); /* the method */
	assert_int_equal(read(fd, got, sizeof got), -1);
	assert_int_equal(server_accepts(far.held[0]), CHANNEL_SUCCESS);
	run_both();
	assert_int_equal(read(fd, got, sizeof got), 10);
	expect_bytes(far.pipe[0], "more");
	fd_close(&fd);
}

/* Those who say nothing do not keep others out. */
static void
test_undecided_have_a_limit(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd[FORWARDS_UNDECIDED_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(port);
		run_both();
	}
	assert_int_equal(near.forwards->undecided_count,
	    FORWARDS_UNDECIDED_MAX);
	expect_bytes(fd[0], NULL);
	assert_int_equal(write(fd[1], request, sizeof request - 1),
	    sizeof request - 1);
	expect_bytes(far.pipe[0], "more");
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
	assert_int_equal(shutdown(far.pipe[0], SHUT_WR), 0);
	run_both();
	assert_int_equal(near.forwards->undecided_count, 0);
	assert_int_equal(near.uses.count[USE_FORWARDED], 0);
}

static void
test_not_socks(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd = connect_to(port);

	(void)state;
	assert_int_equal(write(fd, "GET /", 5), 5);
	expect_bytes(fd, NULL);
	fd_close(&fd);
	assert_int_equal(far.opened, 0);
}

/* ---- -R with SOCKS ------------------------------------------------------ */

static void
ask_for_socks(const char *host, uint16_t port, const char *rest)
{
	char text[64];
	size_t len = strlen(host);

	memcpy(text, "\5\1\0\5\1\0\3", 7);
	text[7] = (char)len;
	memcpy(text + 8, host, len);
	text[8 + len] = (char)(port >> 8);
	text[9 + len] = (char)(port & 0xff);
	assert_int_equal(write(far.pipe[0], text, 10 + len), 10 + len);
	assert_int_equal(write(far.pipe[0], rest, strlen(rest)), strlen(rest));
}

static void
test_remote_socks(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true), got;
	char answer[16];

	(void)state;
	client_adds(FORWARD_REMOTE, "80", one);
	run_both();
	server_opens("localhost", 80, NULL);
	run_both();
	assert_int_equal(far.opened, 1);
	assert_int_equal(near.uses.count[USE_FORWARDED], 0);
	ask_for_socks("127.0.0.1", port, "behind it");
	run_both();
	assert_true((got = accept(fd, NULL, NULL)) != -1);
	assert_int_equal(fd_set_nonblock(got, true), 0);
	expect_bytes(got, "behind it");
	assert_int_equal(near.uses.count[USE_FORWARDED], 1);
	assert_int_equal(read(far.pipe[0], answer, sizeof answer), 12);
	assert_int_equal(write(got, "back", 4), 4);
	expect_bytes(far.pipe[0], "back");
	fd_close(&got);
	run_both();
	fd_close(&fd);
}

static void
check_permitted(const char *list, const char *host, uint16_t port, bool is)
{
	int before = far.closed;

	strlist_clear(&near.conf.forward.permit_remote_open);
	assert_int_equal(strlist_split(
	    &near.conf.forward.permit_remote_open, list, " "), 0);
	server_opens("localhost", 80, NULL);
	run_both();
	said[0] = '\0';
	ask_for_socks(host, port, "");
	for (int i = 0; i < 400 && far.closed == before; i++)
		run_both();
	/* Nobody listens, so it fails in any case; but who was asked? */
	assert_int_equal(far.closed, before + 1);
	assert_int_equal(strstr(said, "PermitRemoteOpen") == NULL, is);
	for (char rest[64]; read(far.pipe[0], rest, sizeof rest) > 0;)
		;
}

static void
test_permit_remote_open(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, false);
	char text[64];

	(void)state;
	fd_close(&fd);
	client_adds(FORWARD_REMOTE, "80", one);
	run_both();
	snprintf(text, sizeof text, "other:1 127.0.0.1:%u", port);
	check_permitted("any", "127.0.0.1", port, true);
	check_permitted("none", "127.0.0.1", port, false);
	check_permitted(text, "127.0.0.1", port, true);
	check_permitted("127.0.0.1:*", "127.0.0.1", port, true);
	check_permitted("*:*", "127.0.0.1", port, true);
	check_permitted("127.0.0.1:1", "127.0.0.1", port, false);
	check_permitted("127.0.0.*:*", "127.0.0.1", port, false);
	check_permitted("127.0.0.1:*", "127.0.0.01", port, false);
}

int
main(void)
{
#define TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, forwards_setup, forwards_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_socks_in_pieces),
		TEST(test_socks_answer_waits_for_the_server),
		TEST(test_undecided_have_a_limit),
		TEST(test_not_socks),
		TEST(test_remote_socks),
		TEST(test_permit_remote_open),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
