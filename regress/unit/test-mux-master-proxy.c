/* SPDX-License-Identifier: ISC */
/*
 * Mux clients that speak the protocol themselves: what the master passes on,
 * and what it keeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/mux/mux-wire.h"
#include "packet.h"
#include "regress/unit/mux-host.h"
#include "regress/unit/channels-side.h"

static int
proxy_client(void)
{
	int fd = mw_new_client();
	struct buf in = { 0 };
	struct rd r;

	mw_expect_hello(fd);
	mw_send_request(fd, MUX_PROXY);
	r = mw_receive(fd, &in, MUX_PROXY_OK);
	assert_int_equal(rd_u32(&r), REQUEST);
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&in);
	return fd;
}

/* An OPEN of the channel 9, with a window of a gigabyte. */
static void
proxy_open(int fd, uint8_t padding)
{
	struct buf b = { 0 };

	buf_put_u8(&b, padding);
	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, "session");
	buf_put_u32(&b, 9);
	buf_put_u32(&b, 1U << 30);
	buf_put_u32(&b, CHANNEL_PACKET_DEFAULT);
	mw_send_message(fd, &b);
}

static uint32_t
expect_proxy_open(int fd)
{
	static const uint8_t head[] = { 0, 0, 0, 18, 0,
		SSH_MSG_CHANNEL_OPEN_CONFIRMATION, 0, 0, 0, 9 };
	uint8_t got[4 + 18];

	mw_run();
	assert_int_equal(fd_read_all(fd, got, sizeof got), 0);
	assert_memory_equal(got, head, sizeof head);
	return wire_get_u32(got + sizeof head);
}

static void
test_proxy(void **state)
{
	int fd = proxy_client();
	struct buf b = { 0 };

	(void)state;
	proxy_open(fd, 0);
	buf_put_u8(&b, 0);
	buf_put_u8(&b, SSH_MSG_CHANNEL_REQUEST);
	buf_put_u32(&b, expect_proxy_open(fd));
	buf_put_cstring(&b, "shell");
	buf_put_bool(&b, false);
	mw_send_message(fd, &b);
	mw_run();
	assert_string_equal(mw.requests, "shell ");
	assert_int_equal(channels_count(mw.near), 1);
	close(fd);
	mw_run();
	assert_int_equal(channels_count(mw.near), 0);
	assert_null(mw.far_channel[0]);
	mw_check_others();
}

static void
test_proxy_that_breaks_the_rules(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = proxy_client();

		if (i == 0)
			proxy_open(fd, 1);
		else if (i == 1)
			mw_send_request(fd, MUX_CHECK); /* it is a client now */
		else
			mw_send_bytes(fd, "\0\0\0\0", 4);
		assert_true(mw_is_dropped(fd));
		close(fd);
	}
	assert_int_equal(channels_count(mw.near), 0);
}

/* Instead of a session, not beside it. */
static void
test_no_proxy_beside_a_session(void **state)
{
	int fd = mw_new_client(), user = mw_open_session(fd, "one");

	(void)state;
	mw_expect_hello(fd);
	(void)mw_expect_number(fd, MUX_OPENED, REQUEST);
	mw_send_request(fd, MUX_PROXY);
	mw_expect_failure(fd, "Multiple sessions not supported");
	mw_send_request(fd, MUX_CHECK);
	(void)mw_expect_number(fd, MUX_ALIVE, REQUEST);
	close(user);
	close(fd);
}

/* It has opened its window wide. What has come for it until the master gives
 * up is that one's limit, not that of a buffer. */
static void
test_proxy_that_does_not_read(void **state)
{
	int fd = proxy_client();
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)state;
	proxy_open(fd, 0);
	(void)expect_proxy_open(fd);
	channel_set_fds(mw.far_channel[0], zeros, -1, -1, -1);
	for (int i = 0; i < 1000 && mw.far_channel[0] != NULL; i++)
		mw_run();
	assert_null(mw.far_channel[0]); /* closed by the master */
	assert_in_range(packet_counters(mw.near_packet, PACKET_RX).payload,
	    64U << 20, 80U << 20);
	assert_true(mw_is_dropped(fd));
	mw_check_others();
	close(zeros);
	close(fd);
}

/* What the server does not read waits at the client, not here. */
static void
test_proxy_of_a_server_that_does_not_read(void **state)
{
	int fd = proxy_client(), small = 4096;
	struct buf b = { 0 };
	size_t sent = 0;
	uint32_t number;

	(void)state;
	assert_int_equal(setsockopt(mw.sock[0], SOL_SOCKET, SO_SNDBUF, &small,
			     sizeof small), 0);
	proxy_open(fd, 0);
	number = expect_proxy_open(fd);
	buf_put_u32(&b, 2 + 4 + 11 + 1 + 50000);
	buf_put_u8(&b, 0);
	buf_put_u8(&b, SSH_MSG_CHANNEL_REQUEST);
	buf_put_u32(&b, number);
	buf_put_cstring(&b, "weather");
	buf_put_bool(&b, false);
	memset(buf_reserve(&b, 50000), 0, 50000);
	buf_commit(&b, 50000);
	for (int i = 0; i < 2000 && sent < (32U << 20); i++) {
		sent = mw_write_more(fd, &b, sent);
		assert_int_equal(loop_turn(mw.loop, 0), 0);
		side_step(mw.near_packet, mw.near);
		assert_true(packet_tx_pending(mw.near_packet) < 2U << 20);
	}
	assert_true(sent < 8U << 20);
	for (int i = 0; i < 200; i++) /* it goes on when the server does */
		mw_run();
	assert_int_equal(strlen(mw.requests),
	    MIN(sent / buf_len(&b) * strlen("weather "),
		sizeof mw.requests - 1));
	buf_clear(&b);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mw_setup, mw_teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_proxy),
		TEST(test_proxy_that_breaks_the_rules),
		TEST(test_no_proxy_beside_a_session),
		TEST(test_proxy_that_does_not_read),
		TEST(test_proxy_of_a_server_that_does_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
