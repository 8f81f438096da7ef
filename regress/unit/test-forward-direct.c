/* SPDX-License-Identifier: ISC */
/*
 * Connections that a client opens from the server: what is never tried,
 * whatever its fields claim, and what the client hears of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "base/fd.h"
#include "compat/sock.h"
#include "forward/forwarded.h"
#include "regress/unit/help.h"
#include "regress/unit/services-host.h"
#include "server/session/forward-direct.h"
#include "server/session/forward-fields.h"

#define TCP "direct-tcpip"
#define PATH "direct-streamlocal@openssh.com"

static const struct service_channel tcp = { TCP, NULL, forward_direct_tcp },
	path = { PATH, NULL, forward_direct_path };
static int listening;
static uint16_t port;

static int
setup(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;

	assert_int_equal(services_setup(state), 0);
	serve_channel(&tcp);
	serve_channel(&path);
	listening = sock_open(AF_INET, SOCK_STREAM, 0, SOCK_AT_ONCE);
	assert_int_equal(bind(listening, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(listening, 8), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&a, &len),
	    0);
	port = ntohs(a.sin_port);
	return 0;
}

static int
teardown(void **state)
{
	fd_close(&listening);
	return services_teardown(state);
}

static int
open_tcp(struct span host_name, uint32_t to, struct span from,
    uint32_t from_port)
{
	struct buf b = { 0 };

	buf_put_string(&b, host_name.p, host_name.len);
	buf_put_u32(&b, to);
	buf_put_string(&b, from.p, from.len);
	buf_put_u32(&b, from_port);
	return client_opens(TCP, &b);
}

static int
open_path(struct span where, struct span reserved)
{
	struct buf b = { 0 };

	buf_put_string(&b, where.p, where.len);
	buf_put_string(&b, reserved.p, reserved.len);
	buf_put_u32(&b, 0);
	return client_opens(PATH, &b);
}

/* Has somebody connected? */
static bool
was_called(void)
{
	int fd = accept(listening, NULL, NULL);

	if (fd != -1)
		close(fd);
	return fd != -1;
}

/* The last one shows that the others failed for what they say. */
static void
test_fields_of_tcp(void **state)
{
	static const char nul[] = "127.0.0.1\0.example";
	static char longest[FORWARD_HOST_MAX + 1];
	const struct span here = span_text("127.0.0.1"), none = { 0 },
			  cut = { (const uint8_t *)nul, sizeof nul - 1 },
			  large = { (const uint8_t *)longest, sizeof longest };
	const struct {
		struct span host_name;
		uint32_t to;
		struct span from;
		uint32_t from_port;
	} rows[] = {
		{ here, 0, here, 1 },
		{ here, 65536u + port, here, 1 },
		{ here, UINT32_MAX, here, 1 },
		{ cut, port, here, 1 },
		{ here, port, cut, 1 },
		{ large, port, here, 1 },
		{ here, port, large, 1 },
		{ here, port, here, 65536 },
	};

	(void)state;
	memset(longest, '1', sizeof longest);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(open_tcp(rows[i].host_name, rows[i].to,
		    rows[i].from, rows[i].from_port),
		    CHANNEL_OPEN_PROHIBITED);
		assert_string_equal(host.w.a.refused_text, "open failed");
		assert_int_equal(forwarded_count(host.owners.forwarded), 0);
	}
	assert_false(was_called());
	assert_int_equal(open_tcp(here, port, none, 65535), 0);
	assert_true(was_called());
}

/* Which rule it was is for the log. */
static void
test_permits_of_tcp(void **state)
{
	const struct span here = span_text("127.0.0.1");
	char place[40];

	(void)state;
	host.permits.forward &= ~(unsigned)PERMITS_OPEN_TCP;
	assert_int_equal(open_tcp(here, port, here, 7),
	    CHANNEL_OPEN_PROHIBITED);
	assert_string_equal(host.w.a.refused_text, "open failed");
	assert_non_null(strstr(messages, "refused local port forward: "
	    "originator 127.0.0.1 port 7, target 127.0.0.1 port "));
	host.permits.forward = PERMITS_OPEN_TCP;
	snprintf(place, sizeof place, "localhost:%u", port);
	assert_int_equal(permits_add_open(&host.permits, place), 0);
	assert_int_equal(open_tcp(here, port, here, 7),
	    CHANNEL_OPEN_PROHIBITED);
	assert_string_equal(host.w.a.refused_text, "open failed");
	assert_non_null(strstr(messages, "Received request from 192.0.2.7 "
	    "port 1234 to connect to host 127.0.0.1 port "));
	assert_false(was_called());
}

/* Names of all lengths that a socket can have; none is cut to fit. */
static void
test_paths(void **state)
{
	static uint8_t name[FORWARD_PATH_MAX + 1];
	const struct span fine = { name, FORWARD_PATH_MAX },
			  large = { name, sizeof name }, none = { 0 },
			  cut = { (const uint8_t *)"/x\0y", 4 };

	(void)state;
	memset(name, '/', sizeof name);
	assert_int_equal(open_path(large, none), CHANNEL_OPEN_CONNECT_FAILED);
	assert_int_equal(open_path(cut, none), CHANNEL_OPEN_CONNECT_FAILED);
	assert_int_equal(open_path(fine, cut), CHANNEL_OPEN_CONNECT_FAILED);
	assert_string_equal(host.w.a.refused_text, "open failed");
	/* This one is tried, and is a directory. */
	assert_int_equal(open_path(fine, none), CHANNEL_OPEN_CONNECT_FAILED);
	host.permits.forward &= ~(unsigned)PERMITS_OPEN_PATH;
	messages_forget();
	assert_int_equal(open_path(fine, none), CHANNEL_OPEN_CONNECT_FAILED);
	assert_non_null(strstr(messages, "refused streamlocal port forward"));
}

/* A list of hosts that is shorter than "all" leaves no paths. */
static void
test_paths_beside_a_list(void **state)
{
	const struct span where = span_text("/dev/null"), none = { 0 };

	(void)state;
	assert_int_equal(permits_add_open(&host.permits, "localhost:1"), 0);
	assert_int_equal(open_path(where, none), CHANNEL_OPEN_CONNECT_FAILED);
	assert_non_null(strstr(messages,
	    "Received request to connect to path /dev/null, but"));
}

static void
misspeak(const char *type, bool too_long)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, "127.0.0.1");
	if (strcmp(type, TCP) == 0)
		buf_put_u32(&b, port);
	buf_put_cstring(&b, "");
	if (too_long)
		buf_put_u32(&b, 1);
	buf_put_u8(&b, 0);
	assert_int_equal(client_misspeaks(type, NULL, &b),
	    too_long ? ERR_TRAILING : ERR_TRUNCATED);
	assert_false(was_called());
}

static void
test_more_than_the_fields(void **state)
{
	(void)state;
	misspeak(TCP, true);
}

static void
test_less_than_the_fields(void **state)
{
	(void)state;
	misspeak(TCP, false);
}

static void
test_more_than_a_path(void **state)
{
	(void)state;
	misspeak(PATH, true);
}

static void
test_less_than_a_path(void **state)
{
	(void)state;
	misspeak(PATH, false);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fields_of_tcp),
		TEST(test_permits_of_tcp),
		TEST(test_paths),
		TEST(test_paths_beside_a_list),
		TEST(test_more_than_the_fields),
		TEST(test_less_than_the_fields),
		TEST(test_more_than_a_path),
		TEST(test_less_than_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
