/* SPDX-License-Identifier: ISC */
/*
 * What a descriptor has before its channel is open goes ahead, once, and no
 * more of it is read than may go.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "channels-internal.h"
#include "compat/sock.h"
#include "forward/early-data.h"
#include "regress/unit/channels-host.h"

static struct world w;
static struct early_data early;
static int source[2], sink[2];

static int
setup(void **state)
{
	(void)state;
	world_open(&w);
	channels_take_early(w.b.chs);
	channels_send_early(w.a.chs, true);
	w.b.defers = true;
	assert_int_equal(sock_pipe(source, SOCK_AT_ONCE), 0);
	assert_int_equal(sock_pipe(sink, SOCK_AT_ONCE), 0);
	w.b.fds[1] = sink[1];
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	early_data_end(&early);
	world_close(&w);
	for (int i = 0; i < 2; i++) {
		fd_close(&source[i]);
		fd_close(&sink[i]);
	}
	return 0;
}

static void
feed(size_t len)
{
	static uint8_t bytes[3 * CHANNEL_EARLY_MAX];

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7);
	assert_int_equal(write(source[1], bytes, len), len);
}

static size_t
unread(int fd)
{
	int n;

	assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
	return (size_t)n;
}

static void
begin(void)
{
	world_open_session(&w);
	early_data_begin(&early, w.loop, source[0], w.a.ch);
}

/* What is there goes; what comes later waits for the channel. */
static void
test_once(void **state)
{
	(void)state;
	feed(100);
	begin();
	assert_int_equal(world_run(&w, 4), 0);
	assert_null(early.watch);
	assert_int_equal(unread(source[0]), 0);
	feed(5);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(unread(source[0]), 5);
	assert_int_equal(w.a.opened, 0);
	assert_int_equal(world_accept(&w.b), CHANNEL_SUCCESS);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(unread(sink[0]), 100);
}

/* The rest stays where it was. */
static void
test_most(void **state)
{
	static uint8_t got[CHANNEL_EARLY_MAX + 1];

	(void)state;
	feed(3 * CHANNEL_EARLY_MAX);
	begin();
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(unread(source[0]), 2 * CHANNEL_EARLY_MAX);
	assert_int_equal(channel_early_room(w.a.ch), 0);
	assert_int_equal(world_accept(&w.b), CHANNEL_SUCCESS);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(read(sink[0], got, sizeof got), CHANNEL_EARLY_MAX);
	for (size_t i = 0; i < CHANNEL_EARLY_MAX; i++)
		assert_int_equal(got[i], (uint8_t)(i * 7));
}

/* It leaves room for no more than what others have left of it. */
static void
test_room_that_is_left(void **state)
{
	static const uint8_t first[CHANNEL_EARLY_MAX - 10];

	(void)state;
	feed(100);
	begin();
	assert_int_equal(channel_send_early(w.a.ch, first, sizeof first), 0);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(unread(source[0]), 90);
}

/* An end of file is no data, and is left to who reads next. */
static void
test_end_of_file(void **state)
{
	(void)state;
	fd_close(&source[1]);
	begin();
	assert_int_equal(world_run(&w, 4), 0);
	assert_null(early.watch);
	assert_int_equal(channel_early_room(w.a.ch), CHANNEL_EARLY_MAX);
	assert_int_equal(world_accept(&w.b), CHANNEL_SUCCESS);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(w.b.eofs, 0);
}

/* Nothing is read for a peer that takes nothing early, nor from no
 * descriptor, nor after the end. */
static void
test_not_at_all(void **state)
{
	(void)state;
	feed(100);
	begin();
	early_data_end(&early);
	early_data_end(&early);
	early_data_begin(&early, w.loop, -1, w.a.ch);
	assert_null(early.watch);
	channels_send_early(w.a.chs, false);
	w.a.ch = NULL;
	begin();
	assert_null(early.watch);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(unread(source[0]), 100);
}

/* The channel is open before there is any. */
static void
test_too_late(void **state)
{
	(void)state;
	w.b.defers = false;
	begin();
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(channel_early_room(w.a.ch), 0);
	early_data_end(&early);
	early_data_begin(&early, w.loop, source[0], w.a.ch);
	assert_null(early.watch);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_once),
		TEST(test_most),
		TEST(test_room_that_is_left),
		TEST(test_end_of_file),
		TEST(test_not_at_all),
		TEST(test_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
