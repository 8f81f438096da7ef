/* SPDX-License-Identifier: ISC */
/*
 * Data and requests that follow an OPEN before it has its answer: they arrive
 * as if they had waited, have no effect where the channel is refused, and are
 * taken in no other form.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "channels-internal.h"
#include "compat/sock.h"
#include "regress/unit/channels-host.h"

#define EARLY (UINT32_C(1) << 31)

/* b takes early messages, and a knows it. */
static void
begin(struct world *w, bool defers)
{
	world_open(w);
	channels_take_early(w->b.chs);
	channels_send_early(w->a.chs, true);
	w->b.defers = defers;
	world_open_session(w);
}

static void
note_reply(void *arg, bool ok, struct rd data)
{
	int *seen = arg;

	(void)data;
	*seen = *seen * 10 + (ok ? 1 : 2);
}

static void
test_requests(void **state)
{
	struct world w;
	int seen = 0;

	(void)state;
	begin(&w, false);
	assert_true(channel_is_early(w.a.ch));
	assert_int_equal(channel_request(w.a.ch, "other", NULL, note_reply,
			     &seen), 0);
	assert_int_equal(w.a.opened, 0);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(w.b.requests, 1);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(seen, 2);
	/* From now on with the number that b has told. */
	assert_false(channel_is_early(w.a.ch));
	assert_int_equal(w.a.ch->peer_id, w.b.ch->id);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, NULL, NULL),
	    0);
	assert_int_equal(world_run(&w, 2), 0);
	assert_int_equal(w.b.requests, 2);
	world_close(&w);
}

/* What was sent early is written first, and counts in the window. */
static void
test_data(void **state)
{
	char first[CHANNEL_EARLY_MAX], got[CHANNEL_EARLY_MAX + 5];
	int sink[2];
	struct world w;

	(void)state;
	memset(first, 'x', sizeof first);
	assert_int_equal(sock_pipe(sink, SOCK_AT_ONCE), 0);
	begin(&w, true);
	w.b.fds[1] = sink[1];
	w.b.window = 100000;
	assert_int_equal(channel_early_room(w.a.ch), CHANNEL_EARLY_MAX);
	assert_int_equal(channel_send_early(w.a.ch, first, 96), 0);
	assert_int_equal(channel_send_early(w.a.ch, first + 96,
			     sizeof first - 96), 0);
	assert_int_equal(channel_early_room(w.a.ch), 0);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(read(sink[0], got, sizeof got), -1);

	assert_int_equal(world_accept(&w.b), CHANNEL_SUCCESS);
	assert_int_equal(w.b.ch->window.left, 100000 - CHANNEL_EARLY_MAX);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(channel_send_data(w.a.ch, 0, "then", 4), 0);
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(read(sink[0], got, sizeof got), sizeof got - 1);
	assert_memory_equal(got, first, sizeof first);
	assert_memory_equal(got + sizeof first, "then", 4);
	/* Both count the same. */
	assert_int_equal(w.a.ch->peer_window, 100000 - CHANNEL_EARLY_MAX - 4);
	assert_int_equal(w.b.ch->window.left, w.a.ch->peer_window);
	world_close(&w);
	close(sink[0]);
	close(sink[1]);
}

static void
test_refused(void **state)
{
	struct world w;
	int seen = 0;

	(void)state;
	begin(&w, true);
	assert_int_equal(channel_send_early(w.a.ch, "lost", 4), 0);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(channel_refuse(w.b.ch, CHANNEL_OPEN_CONNECT_FAILED,
			     NULL), 0);
	/* These arrive when b has forgotten the channel. */
	assert_int_equal(channel_send_early(w.a.ch, "too", 3), 0);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, note_reply,
			     &seen), 0);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.a.refused, CHANNEL_OPEN_CONNECT_FAILED);
	assert_int_equal(w.b.requests, 0);
	assert_int_equal(seen, 0);
	assert_int_equal(channels_alive(w.a.chs), 0);
	assert_int_equal(channels_alive(w.b.chs), 0);
	/* The same number again is a channel of its own. */
	w.b.defers = false;
	world_open_session(&w);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, note_reply,
			     &seen), 0);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.b.requests, 1);
	assert_int_equal(seen, 2);
	world_close(&w);
}

/* Nothing is sent early to a peer that does not say that it takes it. */
static void
test_others(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_open_session(&w);
	assert_false(channel_is_early(w.a.ch));
	assert_int_equal(channel_early_room(w.a.ch), 0);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, NULL, NULL),
	    ERR_CLOSED);
	world_close(&w);
}

/* A message of a from its type on. */
static void
put(struct world *w, uint8_t type, uint32_t number, const char *tail,
    size_t len)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	buf_put_u32(&b, number);
	buf_put(&b, tail, len);
	assert_int_equal(channels_send(w->a.chs, &b), 0);
}

#define DATA(text) "\0\0\0" text, 3 + sizeof text - 1

static void
test_bad_messages(void **state)
{
	static const char ext[] = "\0\0\0\1\0\0\0\1x";
	static const struct {
		uint8_t type;
		const char *tail;
		size_t len;
	} bad[] = {
		{ SSH_MSG_CHANNEL_EOF, "", 0 },
		{ SSH_MSG_CHANNEL_CLOSE, "", 0 },
		{ SSH_MSG_CHANNEL_WINDOW_ADJUST, "\0\0\0\1", 4 },
		{ SSH_MSG_CHANNEL_EXTENDED_DATA, ext, sizeof ext - 1 },
		{ SSH_MSG_CHANNEL_SUCCESS, "", 0 },
		{ SSH_MSG_CHANNEL_REQUEST, "\0\0\0\1x\0", 6 },
		{ SSH_MSG_CHANNEL_OPEN_FAILURE, "\0\0\0\1\0\0\0\0\0\0\0\0",
		    12 },
		{ SSH_MSG_CHANNEL_DATA, "\0\0\0\2x", 5 },
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		begin(&w, true);
		put(&w, bad[i].type, w.a.ch->id | EARLY, bad[i].tail,
		    bad[i].len);
		assert_true(world_run(&w, 3) < 0);
		world_close(&w);
	}
	/* By the number that b has not told. */
	begin(&w, true);
	put(&w, SSH_MSG_CHANNEL_DATA, 0, DATA("\1x"));
	assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
	world_close(&w);
}

static void
test_too_much(void **state)
{
	static const char zeros[CHANNEL_EARLY_MAX];
	struct buf tail = { 0 };
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(channel_send_early(w.a.ch, zeros, sizeof zeros), 0);
	assert_int_equal(world_run(&w, 3), 0);
	put(&w, SSH_MSG_CHANNEL_DATA, w.a.ch->id | EARLY, DATA("\1x"));
	assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
	world_close(&w);

	begin(&w, true);
	buf_put_u32(&tail, sizeof zeros + 1);
	buf_put(&tail, zeros, sizeof zeros);
	buf_put_u8(&tail, 0);
	put(&w, SSH_MSG_CHANNEL_DATA, w.a.ch->id | EARLY,
	    (const char *)buf_data(&tail), buf_len(&tail));
	assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
	buf_clear(&tail);
	world_close(&w);

	/* A kind that gives no window keeps nothing. */
	begin(&w, true);
	w.b.window = 0;
	assert_int_equal(channel_send_early(w.a.ch, "x", 1), 0);
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(channel_accept(w.b.ch, &world_ops, &w.b, 0, 1000),
	    ERR_PROTOCOL);
	world_close(&w);
}

/* Only who opened a channel has such a number for it; and without being told
 * of early messages b takes none. */
static void
test_whose_number(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	assert_int_equal(world_run(&w, 3), 0);
	put(&w, SSH_MSG_CHANNEL_DATA, (w.a.ch->id + 1) | EARLY, DATA("\1x"));
	assert_int_equal(world_run(&w, 3), 0);
	assert_int_equal(w.b.ch->window.left, w.b.ch->window.max);
	/* One that was never near. */
	put(&w, SSH_MSG_CHANNEL_DATA, EARLY | (EARLY - 1), DATA("\1x"));
	assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
	world_close(&w);

	world_open(&w);
	world_open_session(&w);
	assert_int_equal(world_run(&w, 3), 0);
	put(&w, SSH_MSG_CHANNEL_DATA, w.a.ch->id | EARLY, DATA("\1x"));
	assert_int_equal(world_run(&w, 3), ERR_PROTOCOL);
	world_close(&w);
}

/* Numbers from all over the range, and many of them. */
static void
test_many(void **state)
{
	struct channel *c;
	struct world w;

	(void)state;
	begin(&w, true);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(channel_open(&c, w.a.chs, "session", NULL,
				     &world_ops, &w.a, 1000, 1000), 0);
		assert_int_equal(channel_send_early(c, "x", 1), 0);
	}
	assert_int_equal(world_run(&w, 20), 0);
	assert_int_equal(channels_alive(w.b.chs), 301);
	for (size_t i = 1; i <= 300; i++)
		assert_int_equal(w.b.chs->v[i]->early, 1);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_whose_number),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
