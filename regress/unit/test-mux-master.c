/* SPDX-License-Identifier: ISC */
/*
 * A master of a shared connection and clients that say anything, against
 * channels of a server over a socketpair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/connection-identity.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-socket.h"
#include "client/mux/mux-wire.h"
#include "packet.h"
#include "regress/unit/help.h"
#include "regress/unit/mux-host.h"

/* ---- what is said first ------------------------------------------------- */

static void
test_hello_comes_first_and_once(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = i == 1 ? mw_new_client() : mw_silent_client();

		mw_expect_hello(fd);
		if (i == 0) {
			mw_send_request(fd, MUX_CHECK);
		} else {
			mux_begin(&b, MUX_HELLO);
			if (i == 1)
				mux_put_hello(&b, NULL, NULL);
			else
				buf_put_u32(&b, 5);
			mw_send_message(fd, &b);
		}
		assert_true(mw_is_dropped(fd));
		close(fd);
	}
	assert_int_equal(mw.unused, 3);
}

static void
test_no_messages(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} v[] = {
		{ "\0\4\0\1", 4 },		  /* too long */
		{ "\0\0\0\0", 4 },		  /* no type */
		{ "\0\0\0\4\x10\0\0\4", 8 }, /* no request id */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		int fd = mw_new_client();

		mw_send_bytes(fd, v[i].bytes, v[i].len);
		assert_true(mw_is_dropped(fd));
		close(fd);
	}
}

/* ---- requests ----------------------------------------------------------- */

/* There is no such connection: the master has nobody to ask. */
static void
ask_identity(int fd)
{
	struct buf b = { 0 }, in = { 0 };
	struct rd r;

	mux_begin_request(&b, MUX_INFO, REQUEST);
	buf_put_cstring(&b, CONNECTION_IDENTITY_NAME);
	mw_send_message(fd, &b);
	r = mw_receive(fd, &in, MUX_INFO_TEXT);
	assert_int_equal(rd_u32(&r), REQUEST);
	assert_int_equal(rd_u32(&r), 0);
	buf_clear(&in);
}

static void
test_requests(void **state)
{
	int fd = mw_new_client();
	struct buf b = { 0 }, in = { 0 };
	struct rd r;

	(void)state;
	mw_expect_hello(fd);
	mw_send_request(fd, 0x10000099);
	mw_expect_failure(fd, "unsupported request");
	mw_send_request(fd, MUX_CHECK);
	assert_int_equal(mw_expect_number(fd, MUX_ALIVE, REQUEST), getpid());
	mux_begin_request(&b, MUX_INFO, REQUEST);
	buf_put_cstring(&b, "weather");
	mw_send_message(fd, &b);
	r = mw_receive(fd, &in, MUX_INFO_TEXT);
	assert_int_equal(rd_u32(&r), REQUEST);
	assert_int_equal(rd_u32(&r), 0);
	ask_identity(fd);
	mw_send_request(fd, MUX_STOP);
	r = mw_receive(fd, &in, MUX_OK);
	assert_int_equal(mw.stops, 1);
	assert_int_equal(mw.exits, 0);
	mw_send_request(fd, MUX_EXIT);
	r = mw_receive(fd, &in, MUX_OK);
	assert_true(mw_is_dropped(fd));
	assert_int_equal(mw.exits, 1);
	buf_clear(&in);
	close(fd);
}

/* ---- sessions ----------------------------------------------------------- */

static void
test_session(void **state)
{
	int fd = mw_new_client(), user;
	char got[16];
	uint32_t number;

	(void)state;
	mw_expect_hello(fd);
	user = mw_open_session(fd, "true");
	number = mw_expect_number(fd, MUX_OPENED, REQUEST);
	assert_string_equal(mw.requests, "env:FROM exec:true ");
	assert_int_equal(channel_send_data(mw.far_channel[0], 0, "out", 3), 0);
	mw_run();
	assert_int_equal(fd_read(user, got, sizeof got), 3);
	mw_send_status(0, 41);
	assert_int_equal(mw_expect_number(fd, MUX_STATUS, number), 41);
	assert_true(mw_is_dropped(fd));
	assert_int_equal(fd_read(user, got, sizeof got), 0);
	assert_int_equal(mw.unused, 1);
	close(user);
	close(fd);
}

static void
test_variables_of_both(void **state)
{
	int fd = mw_new_client(), user;

	(void)state;
	assert_int_equal(strlist_add(&mw.conf.session.set_env, "FROM=master"),
	    0);
	assert_int_equal(strlist_add(&mw.conf.session.set_env, "MORE=1"), 0);
	user = mw_open_session(fd, "true");
	mw_run();
	assert_string_equal(mw.requests, "env:FROM env:MORE exec:true ");
	strlist_clear(&mw.conf.session.set_env);
	close(user);
	close(fd);
	mw_run();
	assert_null(mw.far_channel[0]); /* it went with its client */
}

static void
test_refused_session(void **state)
{
	int fd = mw_new_client(), user;

	(void)state;
	mw.refuses = true;
	mw_expect_hello(fd);
	user = mw_open_session(fd, "true");
	mw_expect_failure(fd, "Session open refused by peer");
	assert_true(mw_is_dropped(fd));
	close(user);
	close(fd);
}

/* The refusal of a terminal is told in front of the end. */
static void
test_refused_terminal(void **state)
{
	int fd = mw_new_client(), user[2], fds[3];
	struct buf in = { 0 };
	uint32_t number;
	char got[100];

	(void)state;
	mw_expect_hello(fd);
	mw_make_pair(user);
	fds[0] = fds[1] = fds[2] = user[0];
	mw_ask_session(fd, "true", NULL, true);
	mw_send_fds(fd, fds, 3);
	number = mw_expect_number(fd, MUX_OPENED, REQUEST);
	(void)mw_receive(fd, &in, MUX_NO_TTY);
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
	int fd = mw_new_client(), user, second;
	struct buf in = { 0 };

	(void)state;
	mw_expect_hello(fd);
	user = mw_open_session(fd, "first");
	(void)mw_expect_number(fd, MUX_OPENED, REQUEST);
	second = mw_open_session(fd, "second");
	mw_expect_failure(fd, "Multiple sessions not supported");
	/* The first goes on, and its link too. */
	mw_send_request(fd, MUX_CHECK);
	(void)mw_expect_number(fd, MUX_ALIVE, REQUEST);
	assert_non_null(mw.far_channel[0]);
	assert_int_equal(mw.far_count, 1);
	buf_clear(&in);
	close(second);
	close(user);
	close(fd);
}

static void
test_bytes_in_place_of_descriptors(void **state)
{
	int fd = mw_new_client(), pair[2], fds[3];

	(void)state;
	mw_ask_session(fd, "true", NULL, false);
	mw_send_bytes(fd, "x", 1);
	assert_true(mw_is_dropped(fd));
	close(fd);

	/* Several at once are not what the protocol says. */
	fd = mw_new_client();
	mw_make_pair(pair);
	fds[0] = fds[1] = fds[2] = pair[0];
	mw_ask_session(fd, "true", NULL, false);
	assert_int_equal(fd_send_fds(fd, fds, 3), 0);
	assert_true(mw_is_dropped(fd));
	close(fd);

	/* Descriptors that nobody wanted are nobody's. */
	fd = mw_new_client();
	mw_send_fds(fd, fds, 3);
	mw_send_bytes(fd, "\0", 1);
	close(pair[0]);
	mw_run();
	assert_int_equal(fd_read(pair[1], &fds[0], 1), 0);
	close(pair[1]);
	close(fd);
	assert_int_equal(mw.far_count, 0);
}

/* One that is gone in the middle of its request leaves nothing behind. */
static void
test_gone_between_descriptors(void **state)
{
	int fd = mw_new_client(), pair[2];
	char byte;

	(void)state;
	mw_make_pair(pair);
	mw_ask_session(fd, "true", NULL, false);
	mw_send_fds(fd, &pair[0], 1);
	close(pair[0]);
	mw_run();
	close(fd);
	mw_run();
	assert_int_equal(fd_read(pair[1], &byte, 1), 0);
	close(pair[1]);
	assert_int_equal(mw.unused, 1);
}

/* ---- those that do not behave ------------------------------------------- */

/* One asks and asks, and reads no answer: it is no longer read from, and the
 * others have theirs. */
static void
test_one_that_does_not_read(void **state)
{
	int fd = mw_new_client();
	struct buf b = { 0 }, out = { 0 };
	size_t sent = 0;

	(void)state;
	mux_begin_request(&b, MUX_CHECK, REQUEST);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(mux_frame(&out, &b), 0);
	for (int i = 0; i < 600; i++) {
		sent = mw_write_more(fd, &out, sent);
		mw_run();
	}
	assert_true(sent < 1024 * 1024); /* what the kernel keeps, and a few */
	mw_check_others();
	buf_clear(&b);
	buf_clear(&out);
	close(fd);
}

static size_t
lines_about(const char *what)
{
	size_t n = 0;

	for (const char *at = messages; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

static void
turned_away(void)
{
	int over = mw_silent_client();
	char byte;

	assert_int_equal(fd_read(over, &byte, 1), 0);
	close(over);
}

/* As many as there are descriptors for, with those that each hands over; of
 * the others there is one line. */
static void
test_limit_of_clients(void **state)
{
	enum { MOST = 84 };
	struct rlimit before, few;
	int fds[MOST];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ MUX_RESERVED_FDS + MUX_CLIENT_FDS * MOST,
		before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	messages_keep();
	log_set_level(LOG_LVL_ERROR);
	for (int i = 0; i < MOST; i++)
		fds[i] = mw_silent_client();
	for (int i = 0; i < 3; i++)
		turned_away();
	assert_int_equal(lines_about("turned away"), 1);
	close(fds[0]);
	mw_run();
	fds[0] = mw_new_client();
	mw_expect_hello(fds[0]);
	turned_away();
	assert_int_equal(lines_about("turned away"), 1);
	for (int i = 0; i < MOST; i++)
		close(fds[i]);
	mw_run();
	messages_forget();
	log_set_level(LOG_LVL_QUIET);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* The default of many systems lets in fewer than 512; a larger number more. */
static void
test_room_of_clients(void **state)
{
	(void)state;
	assert_int_equal(mux_master_room(1024), 240);
	assert_int_equal(mux_master_room(20 * 1024), 5104);
	assert_int_equal(mux_master_room(INT_MAX),
	    (INT_MAX - MUX_RESERVED_FDS) / MUX_CLIENT_FDS);
	assert_in_range(mux_master_room(20), 1, 4);
	assert_int_equal(mux_master_room(0), 1);
}

/* ---- a lost connection -------------------------------------------------- */

/* Those that have nothing which would end by itself are let go. */
static void
test_lost_connection(void **state)
{
	int quiet = mw_silent_client(), ready = mw_new_client(),
	    slow = mw_new_client(), busy = mw_new_client(), user;

	(void)state;
	mw_expect_hello(quiet);
	mw_expect_hello(ready);
	mw_ask_session(slow, "command", "FROM=client", false);
	mw_expect_hello(slow);
	user = mw_open_session(busy, "command");
	mw_expect_hello(busy);
	(void)mw_expect_number(busy, MUX_OPENED, REQUEST);
	mux_master_lost(mw.master);
	assert_true(mw_is_dropped(quiet));
	assert_true(mw_is_dropped(ready));
	assert_true(mw_is_dropped(slow));
	assert_true(mux_master_is_used(mw.master));
	assert_false(mw_is_dropped(busy));
	close(quiet);
	close(ready);
	close(slow);
	close(busy);
	close(user);
	mw_run();
	assert_false(mux_master_is_used(mw.master));
}

/* ---- keeping the connection --------------------------------------------- */

static void
test_kept_until_idle(void **state)
{
	int fd;

	(void)state;
	mux_master_free(mw.master);
	mw_make_master(NULL, 1);
	assert_int_equal(mw.uses.count[USE_SHARING], 1);
	fd = mw_new_client();
	for (int i = 0; i < 6; i++) { /* longer than the time */
		mw_run();
		assert_int_equal(loop_turn(mw.loop, 250), 0);
	}
	assert_int_equal(mw.uses.count[USE_SHARING], 1);
	close(fd);
	for (int i = 0; i < 40 && mw.unused == 0; i++) {
		mw_run();
		assert_int_equal(loop_turn(mw.loop, 250), 0);
	}
	assert_int_equal(mw.unused, 1);
	assert_int_equal(mw.uses.count[USE_SHARING], 0);
}

static void
test_stopped_while_kept(void **state)
{
	int fd;

	(void)state;
	mux_master_free(mw.master);
	mw_make_master(NULL, 0);
	fd = mw_new_client();
	mw_send_request(fd, MUX_STOP);
	mw_run();
	assert_int_equal(mw.unused, 0);
	close(fd);
	mw_run();
	assert_int_equal(mw.unused, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mw_setup, mw_teardown)

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
		TEST(test_limit_of_clients),
		TEST(test_room_of_clients),
		TEST(test_lost_connection),
		TEST(test_kept_until_idle),
		TEST(test_stopped_while_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
