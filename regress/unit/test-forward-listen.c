/* SPDX-License-Identifier: ISC */
/*
 * What a server listens on for a client: replies, the forms of cancelling,
 * how many there may be and how many connections wait, fields that no client
 * should send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "base/fd.h"
#include "forward/forwarded.h"
#include "regress/unit/help.h"
#include "regress/unit/services-host.h"
#include "server/session/forward-fields.h"
#include "server/session/forward-listen.h"

#define TCP "tcpip-forward"
#define NO_TCP "cancel-tcpip-forward"
#define PATH "streamlocal-forward@openssh.com"
#define NO_PATH "cancel-streamlocal-forward@openssh.com"

enum { MOST = 256, UNANSWERED = 64, TURNS = 8 };

static const struct service_request rows[] = {
	{ TCP, NULL, forward_listen_tcp },
	{ NO_TCP, NULL, forward_cancel_tcp },
	{ PATH, NULL, forward_listen_path },
	{ NO_PATH, NULL, forward_cancel_path },
};

static int
setup(void **state)
{
	assert_int_equal(services_setup(state), 0);
	host.conf.listen.address_family = AF_INET;
	host.owners.listens = forward_listens_new(host.w.loop, &host.owners);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		serve_request(&rows[i]);
	return 0;
}

static int
teardown(void **state)
{
	forwarded_list_free(host.owners.forwarded);
	host.owners.forwarded = NULL;
	forward_listens_free(host.owners.listens);
	return services_teardown(state);
}

static bool
ask_at(const char *what, struct span address, uint32_t port,
    struct buf *reply)
{
	struct buf b = { 0 };

	buf_put_string(&b, address.p, address.len);
	buf_put_u32(&b, port);
	return client_asks(what, &b, reply);
}

static bool
ask_path(const char *what, struct span path)
{
	struct buf b = { 0 };

	buf_put_string(&b, path.p, path.len);
	return client_asks(what, &b, NULL);
}

/* Listens on any port; which one. */
static uint16_t
listen_any(const char *address)
{
	struct buf reply = { 0 };
	struct rd r;
	uint32_t port;

	assert_true(ask_at(TCP, span_text(address), 0, &reply));
	r = rd_from_buf(&reply);
	port = rd_u32(&r);
	assert_int_equal(rd_end(&r), 0);
	assert_in_range(port, 1, 65535);
	buf_clear(&reply);
	return (uint16_t)port;
}

/* A socket that is connected to the port, or -1. */
static int
call(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		fd_close(&fd);
	return fd;
}

/* Cancelled is what was asked for, with the port that was told; nothing else
 * is, and not twice. A connection that came through it goes on. */
static void
test_cancel(void **state)
{
	const struct span name = span_text("localhost");
	struct buf reply = { 0 };
	uint16_t port = listen_any("localhost");
	int fd = call(port);

	(void)state;
	assert_true(fd != -1);
	assert_int_equal(world_run(&host.w, TURNS), 0);
	assert_int_equal(host.called, 1);
	assert_false(ask_at(NO_TCP, span_text("127.0.0.1"), port, NULL));
	assert_false(ask_at(NO_TCP, span_text(""), port, NULL));
	assert_false(ask_at(NO_TCP, name, 0, NULL));
	assert_false(ask_at(NO_TCP, name, 65536u + port, NULL));
	assert_false(ask_path(NO_PATH, name));
	/* The same again is not a second one. */
	assert_false(ask_at(TCP, name, port, NULL));
	assert_true(ask_at(NO_TCP, name, port, &reply));
	assert_int_equal(buf_len(&reply), 0);
	assert_false(ask_at(NO_TCP, name, port, NULL));
	assert_int_equal(call(port), -1);
	assert_int_equal(forwarded_count(host.owners.forwarded), 1);
	/* A port that was named is not told. */
	assert_true(ask_at(TCP, name, port, &reply));
	assert_int_equal(buf_len(&reply), 0);
	fd_close(&fd);
	buf_clear(&reply);
}

static void
test_fields(void **state)
{
	static const char nul[] = "localhost\0.example";
	static char longest[FORWARD_HOST_MAX + 1];
	const struct span here = span_text("localhost"),
			  cut = { (const uint8_t *)nul, sizeof nul - 1 },
			  large = { (const uint8_t *)longest, sizeof longest },
			  path = { large.p, FORWARD_PATH_MAX + 1 };

	(void)state;
	memset(longest, 'x', sizeof longest);
	assert_false(ask_at(TCP, here, 65536, NULL));
	assert_false(ask_at(TCP, here, UINT32_MAX, NULL));
	assert_false(ask_at(TCP, cut, 0, NULL));
	assert_false(ask_at(TCP, large, 0, NULL));
	assert_false(ask_at(NO_TCP, cut, 1, NULL));
	assert_false(ask_at(NO_TCP, large, 1, NULL));
	assert_false(ask_path(PATH, span_text("")));
	assert_false(ask_path(PATH, cut));
	assert_false(ask_path(PATH, path));
	assert_false(ask_path(NO_PATH, cut));
	assert_false(ask_path(NO_PATH, span_text("")));
}

/* Nobody could learn which port it is, so that none is opened: there is still
 * room for all. */
static void
test_any_port_without_a_reply(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++) {
		struct buf b = { 0 };

		buf_put_cstring(&b, "localhost");
		buf_put_u32(&b, 0);
		assert_int_equal(client_misspeaks(NULL, TCP, &b), 0);
	}
	listen_any("localhost");
}

static void
misspeak(const char *what, bool has_port, int error)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, "localhost");
	if (has_port)
		buf_put_u32(&b, 0);
	buf_put_u8(&b, 0);
	assert_int_equal(client_misspeaks(NULL, what, &b), error);
}

/* Each ends the connection, so that the others are asked on a new one. */
static void
test_lengths(void **state)
{
	static const struct {
		const char *what;
		bool has_port;
		int error;
	} cases[] = {
		{ TCP, true, ERR_TRAILING },
		{ NO_TCP, true, ERR_TRAILING },
		{ PATH, false, ERR_TRAILING },
		{ NO_PATH, false, ERR_TRAILING },
		{ TCP, false, ERR_TRUNCATED },
		{ NO_TCP, false, ERR_TRUNCATED },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		misspeak(cases[i].what, cases[i].has_port, cases[i].error);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

static void
test_permits(void **state)
{
	const struct span here = span_text("localhost");

	(void)state;
	assert_int_equal(permits_add_listen(&host.permits, "localhost:1"), 0);
	assert_false(ask_at(TCP, here, 0, NULL));
	assert_non_null(strstr(messages, "Received request from 192.0.2.7 "
	    "port 1234 to remote forward to host localhost port 0, but"));
	host.permits.forward = 0;
	messages_forget();
	assert_false(ask_at(TCP, here, 1, NULL));
	assert_false(ask_path(PATH, span_text("/nowhere/at/all")));
	assert_non_null(strstr(messages, "to path /nowhere/at/all, but"));
	assert_int_equal(host.called, 0);
}

/* The place of one that was cancelled is free again. */
static void
test_most(void **state)
{
	uint16_t port = 0;

	(void)state;
	for (int i = 0; i < MOST; i++)
		port = listen_any("localhost");
	assert_false(ask_at(TCP, span_text("localhost"), 0, NULL));
	assert_non_null(strstr(messages, "no more than 256 places"));
	assert_false(ask_path(PATH, span_text("/tmp/none")));
	assert_true(ask_at(NO_TCP, span_text("localhost"), port, NULL));
	listen_any("localhost");
}

/* A crowd at a port waits outside while the client is silent, also if the port
 * is given up meanwhile: nothing is freed that an answer still comes to. */
static void
test_unanswered(void **state)
{
	uint16_t port = listen_any("localhost");
	int fds[UNANSWERED + 10];

	(void)state;
	host.holds = true;
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		assert_true((fds[i] = call(port)) != -1);
	assert_int_equal(world_run(&host.w, 3 * TURNS), 0);
	assert_int_equal(host.called, UNANSWERED);
	/* One answer lets one more in. */
	assert_int_equal(channel_refuse(host.held[0],
	    CHANNEL_OPEN_CONNECT_FAILED, NULL), 0);
	assert_int_equal(world_run(&host.w, TURNS), 0);
	assert_int_equal(host.called, UNANSWERED + 1);
	assert_true(ask_at(NO_TCP, span_text("localhost"), port, NULL));
	for (int i = 1; i < host.called; i++)
		assert_int_equal(channel_refuse(host.held[i],
		    CHANNEL_OPEN_CONNECT_FAILED, NULL), 0);
	assert_int_equal(world_run(&host.w, TURNS), 0);
	assert_int_equal(forwarded_count(host.owners.forwarded), 0);
	assert_int_equal(call(port), -1);
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		fd_close(&fds[i]);
}

/* By its path alone, which is a place of its own beside names of hosts. */
static void
test_path(void **state)
{
	char *path = temp_file("socket", "");
	const struct span where = span_text(path);

	(void)state;
	assert_false(ask_path(PATH, where)); /* there is a file */
	assert_int_equal(unlink(path), 0);
	assert_true(ask_path(PATH, where));
	assert_false(ask_path(PATH, where));
	assert_false(ask_at(NO_TCP, where, 0, NULL));
	assert_true(ask_path(NO_PATH, where));
	assert_false(ask_path(NO_PATH, where));
	(void)unlink(path);
	free(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cancel),
		TEST(test_fields),
		TEST(test_any_port_without_a_reply),
		TEST(test_lengths),
		TEST(test_permits),
		TEST(test_most),
		TEST(test_unanswered),
		TEST(test_path),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
