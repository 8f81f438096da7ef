/* SPDX-License-Identifier: ISC */
/*
 * What a server sends for a foreign channel before the owner has answered: the
 * owner, who need not know of early messages, gets it as ordinary data behind
 * its answer, within its window, and not at all if it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "channels-internal.h"
#include "regress/unit/foreign-host.h"

#define EARLY (UINT32_C(1) << 31)

enum { NUMBER = 77 }; /* that the owner gives */

static int
setup_early(void **state)
{
	int r = setup(state);

	channels_take_early(w.near);
	channels_send_early(w.far, true);
	listen_for_owner();
	return r;
}

/* Somebody comes, and sends text at once. */
static uint32_t
come_with(const char *text, struct channel **far)
{
	*far = come_to("here", FAR_PORT);
	assert_int_equal(channel_send_early(*far, text, strlen(text)), 0);
	return offered_channel();
}

static void
confirm(uint32_t id, uint32_t window, uint32_t max_packet)
{
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN_CONFIRMATION, id,
			     NUMBER, window, max_packet), 0);
}

static void
widen(uint32_t id, uint32_t more)
{
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_WINDOW_ADJUST, id, more),
	    0);
}

/* The next thing that came is this data. */
static void
expect_data(const char *text)
{
	struct rd r;

	run(4);
	assert_true(w.inbox_count > 0);
	assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_DATA);
	r = w.inbox[0].r;
	assert_int_equal(rd_u32(&r), NUMBER);
	assert_true(span_equals(rd_string(&r), text));
	assert_int_equal(rd_end(&r), 0);
	buf_clear(&w.inbox[0].b);
	memmove(w.inbox, w.inbox + 1, --w.inbox_count * sizeof *w.inbox);
}

static void
expect_nothing(void)
{
	run(4);
	assert_int_equal(w.inbox_count, 0);
}

/* A message that the server does not send by itself; what we make of it. */
static int
server_says(uint8_t type, uint32_t id, const char *tail, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, type);
	buf_put_u32(&b, id);
	buf_put(&b, tail, len);
	r = channels_input(w.near, rd_from_buf(&b));
	buf_clear(&b);
	return r;
}

static void
test_handed_over_behind_the_answer(void **state)
{
	struct channel *far;
	uint32_t id = come_with("early", &far);

	(void)state;
	expect_nothing();
	confirm(id, FAR_WINDOW, FAR_PACKET);
	expect_data("early");
	expect_nothing();
	assert_int_equal(channel_send_data(far, 0, "then", 4), 0);
	expect_data("then");
	/* It was taken out of the window once, on both sides. */
	assert_int_equal(far->peer_window, FAR_WINDOW - 9);
	assert_int_equal(say_data(w.owner, id, 3), 0);
}

static void
test_narrow_window(void **state)
{
	struct channel *far;
	uint32_t id = come_with("early", &far);

	(void)state;
	confirm(id, 3, FAR_PACKET);
	expect_data("ear");
	channel_close(far, false);
	expect_nothing(); /* the end waits behind it */
	widen(id, 1);
	expect_data("l");
	widen(id, 100);
	expect_data("y");
	assert_int_equal(w.inbox_count, 2);
	assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_EOF);
	assert_int_equal(w.inbox[1].type, SSH_MSG_CHANNEL_CLOSE);
	empty_inbox();
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE, id), 0);
	run(4);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

static void
test_small_packets(void **state)
{
	struct channel *far;

	(void)state;
	confirm(come_with("early", &far), FAR_WINDOW, 2);
	expect_data("ea");
	expect_data("rl");
	expect_data("y");
	expect_nothing();
}

static void
test_refused_data(void **state)
{
	struct channel *far;
	uint32_t id = come_with("early", &far);

	(void)state;
	assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_OPEN_FAILURE, id, 2, 0,
			     0), 0);
	/* What was on its way has no effect. */
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY,
			     "\0\0\0\1x", 5), 0);
	expect_nothing();
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

static void
test_owner_goes_unanswered(void **state)
{
	struct channel *far;

	(void)state;
	(void)come_with("early", &far);
	foreign_free(w.owner);
	w.owner = new_owner();
	expect_nothing();
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

/* With data and the server's CLOSE still waiting: the owner is told of the end
 * all the same, or is gone. */
static void
test_owner_closes(void **state)
{
	struct channel *far;
	uint32_t id;

	(void)state;
	for (int goes = 0; goes < 2; goes++) {
		id = come_with("early", &far);
		confirm(id, 0, FAR_PACKET);
		run(4);
		channel_close(far, false);
		expect_nothing();
		if (goes) {
			foreign_free(w.owner);
			w.owner = new_owner();
		} else {
			assert_int_equal(SAY(w.owner, SSH_MSG_CHANNEL_CLOSE,
					     id), 0);
			run(4);
			assert_int_equal(w.inbox_count, 2);
			assert_int_equal(w.inbox[0].type, SSH_MSG_CHANNEL_EOF);
			assert_int_equal(w.inbox[1].type,
			    SSH_MSG_CHANNEL_CLOSE);
			empty_inbox();
		}
		run(4);
		assert_int_equal(channels_count(w.near), 1);
		assert_int_equal(channels_count(w.far), 1);
	}
}

static void
test_server_closes_after_the_owner_went(void **state)
{
	struct channel *far;

	(void)state;
	confirm(come_with("early", &far), 0, FAR_PACKET);
	run(4);
	foreign_free(w.owner);
	w.owner = new_owner();
	run(4);
	assert_int_equal(channels_count(w.near), 1);
	assert_int_equal(channels_count(w.far), 1);
}

/* It was sent before the server knew of the answer. */
static void
test_on_its_way(void **state)
{
	struct channel *far;
	uint32_t id = come_with("early", &far);

	(void)state;
	confirm(id, 7, FAR_PACKET);
	expect_data("early");
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY,
			     "\0\0\0\3abc", 7), 0);
	expect_data("ab");
	widen(id, 1);
	expect_data("c");
}

/* A server that floods. */
static void
test_limits(void **state)
{
	static const char ext[] = "\0\0\0\1\0\0\0\1x";
	char most[4 + CHANNEL_EARLY_MAX + 1] = "";
	struct channel *far;

	(void)state;
	far = come_to("here", FAR_PORT);
	(void)offered_channel();
	wire_put_u32((uint8_t *)most, CHANNEL_EARLY_MAX + 1);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY, most,
			     sizeof most), ERR_PROTOCOL);
	wire_put_u32((uint8_t *)most, CHANNEL_EARLY_MAX);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY, most,
			     sizeof most - 1), 0);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY,
			     "\0\0\0\1x", 5), ERR_PROTOCOL);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_EXTENDED_DATA, 1 | EARLY,
			     ext, sizeof ext - 1), ERR_PROTOCOL);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_REQUEST, 1 | EARLY,
			     "\0\0\0\1x\0", 6), ERR_PROTOCOL);
	assert_int_equal(server_says(SSH_MSG_CHANNEL_EOF, 1 | EARLY, "", 0),
	    ERR_PROTOCOL);
	expect_nothing();
	assert_non_null(far);
}

/* Nor behind its end, nor more than the owner's window in the end. */
static void
test_behind_the_end(void **state)
{
	struct channel *far;
	uint32_t id = come_with("early", &far);

	(void)state;
	confirm(id, 2, FAR_PACKET);
	expect_data("ea");
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, id, "\0\0\0\1x",
			     5), ERR_PROTOCOL);
	channel_close(far, false);
	expect_nothing();
	assert_int_equal(server_says(SSH_MSG_CHANNEL_DATA, 1 | EARLY,
			     "\0\0\0\1x", 5), ERR_PROTOCOL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_early, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_handed_over_behind_the_answer),
		TEST(test_narrow_window),
		TEST(test_small_packets),
		TEST(test_refused_data),
		TEST(test_owner_goes_unanswered),
		TEST(test_owner_closes),
		TEST(test_server_closes_after_the_owner_went),
		TEST(test_on_its_way),
		TEST(test_limits),
		TEST(test_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
