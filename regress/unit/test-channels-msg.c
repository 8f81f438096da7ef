/* SPDX-License-Identifier: ISC */
/* Channels that the peer opens, and that are accepted or refused later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "regress/unit/channels-host.h"

/* a has opened a channel, and b has not answered. */
static void
begin_pending(struct world *w)
{
	world_open(w);
	w->b.defers = true;
	world_open_session(w);
	assert_int_equal(world_run(w, 5), 0);
	assert_non_null(w->b.ch);
	assert_int_equal(w->a.opened, 0);
	assert_int_equal(w->a.refused, 0);
}

static void
test_accept_later(void **state)
{
	struct world w;

	(void)state;
	begin_pending(&w);
	assert_int_equal(world_accept(&w.b), CHANNEL_SUCCESS);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(w.a.ch->peer_window, CHANNEL_WINDOW_DEFAULT);
	/* It is a channel like others from then on. */
	assert_int_equal(channel_request(w.a.ch, "other", NULL, NULL, NULL),
	    0);
	assert_int_equal(channel_send_data(w.a.ch, 0, "text", 4), 0);
	channel_close(w.a.ch, true);
	channel_close(w.b.ch, true);
	assert_int_equal(world_run(&w, 6), 0);
	assert_int_equal(w.b.requests, 1);
	assert_int_equal(w.b.eofs, 1);
	assert_int_equal(w.a.closed, 1);
	assert_int_equal(w.b.closed, 1);
	assert_int_equal(channels_alive(w.b.chs), 0);
	world_close(&w);
}

static void
test_refuse_later(void **state)
{
	struct world w;

	(void)state;
	begin_pending(&w);
	assert_int_equal(channel_refuse(w.b.ch, CHANNEL_OPEN_CONNECT_FAILED,
			     "nobody listens there"),
	    0);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_CONNECT_FAILED);
	assert_string_equal(w.a.refused_text, "nobody listens there");
	assert_int_equal(w.b.closed, 0);
	assert_int_equal(channels_alive(w.a.chs), 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
	world_close(&w);
}

/* Without a word of the handler the reason is the usual one. */
static void
test_refuse_at_once(void **state)
{
	struct world w;
	struct buf extra = { 0 };
	struct channel *c;

	(void)state;
	world_open(&w);
	buf_put_u8(&extra, 1); /* world's handler takes no fields */
	assert_int_equal(channel_open(&c, w.a.chs, "session", &extra,
			     &world_ops, &w.a, 1000, 1000),
	    0);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_PROHIBITED);
	assert_string_equal(w.a.refused_text, "open failed: not permitted");
	assert_int_equal(channels_alive(w.b.chs), 0);
	buf_clear(&extra);
	world_close(&w);
}

/* The owner hears of it, and of nothing else. */
static void
test_connection_ends_while_pending(void **state)
{
	struct world w;

	(void)state;
	begin_pending(&w);
	assert_false(channels_complete(w.b.chs));
	assert_int_equal(channels_settle(w.b.chs), 0);
	assert_int_equal(w.b.closed, 1);
	assert_int_equal(w.b.eofs, 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
	world_close(&w);
	/* Or the connection is freed with it. */
	begin_pending(&w);
	world_close(&w);
}

static void
test_leave_while_pending(void **state)
{
	struct world w;

	(void)state;
	begin_pending(&w);
	channel_leave(w.b.ch);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_CONNECT_FAILED);
	assert_int_equal(w.b.closed, 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
	/* The connection ends before the peer was told. */
	world_close(&w);
	begin_pending(&w);
	channel_leave(w.b.ch);
	assert_int_equal(channels_settle(w.b.chs), 0);
	assert_int_equal(w.b.closed, 0);
	world_close(&w);
}

/* The peer cannot know the number of a channel without an answer. */
static void
test_messages_for_pending(void **state)
{
	static const struct {
		uint8_t type;
		const char *body;
		size_t len;
	} cases[] = {
		{ SSH_MSG_CHANNEL_OPEN_CONFIRMATION,
		    "\0\0\0\0\0\0\0\0\0\0\0\0", 12 },
		{ SSH_MSG_CHANNEL_OPEN_FAILURE, "\0\0\0\1\0\0\0\0\0\0\0\0",
		    12 },
		{ SSH_MSG_CHANNEL_WINDOW_ADJUST, "\0\0\0\1", 4 },
		{ SSH_MSG_CHANNEL_DATA, "\0\0\0\1x", 5 },
		{ SSH_MSG_CHANNEL_EXTENDED_DATA, "\0\0\0\1\0\0\0\1x", 9 },
		{ SSH_MSG_CHANNEL_EOF, "", 0 },
		{ SSH_MSG_CHANNEL_CLOSE, "", 0 },
		{ SSH_MSG_CHANNEL_REQUEST, "\0\0\0\1x\0", 6 },
		{ SSH_MSG_CHANNEL_SUCCESS, "", 0 },
		{ SSH_MSG_CHANNEL_FAILURE, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		struct buf b = { 0 };

		begin_pending(&w);
		buf_put_u8(&b, cases[i].type);
		buf_put_u32(&b, 0);
		buf_put(&b, cases[i].body, cases[i].len);
		assert_int_equal(packet_put(w.a.packet, &b), 0);
		buf_clear(&b);
		assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
		world_close(&w);
	}
}

/* Those that wait for an answer are channels too. */
static void
test_pending_are_counted(void **state)
{
	struct buf b = { 0 };
	struct channel *c;
	struct world w;

	(void)state;
	world_open(&w);
	w.b.defers = true;
	for (int i = 0; i < CHANNELS_MAX; i++)
		assert_int_equal(channel_open(&c, w.a.chs, "session", NULL,
				     &world_ops, &w.a, 1000, 1000),
		    0);
	assert_int_equal(world_run(&w, 5), 0);
	assert_int_equal(w.a.refused, 0);
	assert_int_equal(channels_alive(w.b.chs), CHANNELS_MAX);
	/* One more than our own end would open. */
	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, "session");
	buf_put_u32(&b, 0);
	buf_put_u32(&b, 1000);
	buf_put_u32(&b, 1000);
	assert_int_equal(packet_put(w.a.packet, &b), 0);
	buf_clear(&b);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_RESOURCE_SHORTAGE);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accept_later),
		cmocka_unit_test(test_refuse_later),
		cmocka_unit_test(test_refuse_at_once),
		cmocka_unit_test(test_connection_ends_while_pending),
		cmocka_unit_test(test_leave_while_pending),
		cmocka_unit_test(test_messages_for_pending),
		cmocka_unit_test(test_pending_are_counted),
	};

	log_init("test-channels-msg", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
