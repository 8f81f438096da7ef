/* SPDX-License-Identifier: ISC */
/*
 * Raw channels: who has them gets their messages, and nobody else's; the
 * handlers of types are asked where nobody wants an OPEN; each is freed once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "channels-internal.h"
#include "regress/unit/channels-host.h"

enum { TYPES_MAX = 8, WINDOW = 1000 };

/* An owner of one channel. */
static struct owner {
	bool wants; /* the peer's OPENs */
	struct channel *c;
	uint8_t types[TYPES_MAX]; /* of what came */
	size_t n;
	int freed, all_freed;
	int fails; /* what input() returns */
} o;

static int
on_input(void *arg, struct channel *c, uint8_t type, struct rd r)
{
	assert_ptr_equal(arg, &o);
	assert_ptr_equal(c, o.c);
	assert_int_equal(rd_u32(&r), channel_id(c));
	assert_true(o.n < TYPES_MAX);
	o.types[o.n++] = type;
	return o.fails;
}

static int
on_early(void *arg, struct channel *c, struct span data)
{
	(void)arg;
	(void)c;
	return data.len == 0 ? 0 : ERR_PROTOCOL;
}

static void
on_freed(void *arg)
{
	((struct owner *)arg)->freed++;
}

static const struct channel_raw_ops raw = {
	.input = on_input, .early = on_early, .freed = on_freed,
};

static int
on_offer(void *arg, struct channel *c, const char *type, struct rd r)
{
	struct owner *owner = arg;

	(void)r;
	assert_string_equal(type, "session");
	if (!owner->wants)
		return CHANNEL_FAILURE;
	owner->c = c;
	channel_make_raw(c, &raw, owner);
	return CHANNEL_SUCCESS;
}

static void
on_all_freed(void *arg)
{
	((struct owner *)arg)->all_freed++;
}

/* b asks the owner first. */
static void
begin(struct world *w, bool wants)
{
	static const struct channels_raw_ops ops = { .offer = on_offer,
		.freed = on_all_freed };

	o = (struct owner){ .wants = wants };
	world_open(w);
	assert_null(channels_raw_arg(w->b.chs));
	channels_set_raw(w->b.chs, &ops, &o);
	assert_ptr_equal(channels_raw_arg(w->b.chs), &o);
	world_open_session(w);
	assert_int_equal(world_run(w, 2), 0);
}

static void
end(struct world *w)
{
	world_close(w);
	assert_int_equal(o.all_freed, 1);
}

/* b says type, a's number and so many numbers more. */
static int
say(struct world *w, uint8_t type, const uint32_t *v, size_t n)
{
	struct channel_raw_open open = channel_raw_open(o.c);
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	buf_put_u32(&b, open.number);
	for (size_t i = 0; i < n; i++)
		buf_put_u32(&b, v[i]);
	assert_int_equal(channels_send_raw(w->b.chs, &b), 0);
	return world_run(w, 2);
}

static int
confirm(struct world *w)
{
	const uint32_t v[] = { channel_id(o.c), WINDOW, WINDOW };

	return say(w, SSH_MSG_CHANNEL_OPEN_CONFIRMATION, v, 3);
}

static void
test_the_handlers_are_asked(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, NULL, NULL),
	    0);
	assert_int_equal(world_run(&w, 2), 0);
	assert_int_equal(w.b.requests, 1);
	assert_int_equal(o.n, 0);
	end(&w);
	assert_int_equal(o.freed, 0);
}

/* The owner gets requests, and CLOSE, which the channels note as well. */
static void
test_messages(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(w.a.opened, 0);
	assert_int_equal(confirm(&w), 0);
	assert_int_equal(w.a.opened, 1);
	assert_int_equal(channel_request(w.a.ch, "other", NULL, NULL, NULL),
	    0);
	channel_close(w.a.ch, false);
	assert_int_equal(world_run(&w, 2), 0);
	assert_int_equal(w.b.requests, 0);
	assert_int_equal(o.n, 3);
	assert_int_equal(o.types[0], SSH_MSG_CHANNEL_REQUEST);
	assert_int_equal(o.types[1], SSH_MSG_CHANNEL_EOF);
	assert_int_equal(o.types[2], SSH_MSG_CHANNEL_CLOSE);
	assert_true(channels_complete(w.b.chs));
	assert_int_equal(o.freed, 0);
	assert_int_equal(say(&w, SSH_MSG_CHANNEL_CLOSE, NULL, 0), 0);
	assert_int_equal(w.a.closed, 1);
	channel_end_raw(o.c);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(o.freed, 1);
	end(&w);
	assert_int_equal(o.freed, 1);
}

/* What its owner calls an error ends the connection. */
static void
test_an_error(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(confirm(&w), 0);
	o.fails = ERR_DENIED;
	channel_close(w.a.ch, false);
	assert_int_equal(world_run(&w, 2), ERR_DENIED);
	end(&w);
	assert_int_equal(o.freed, 1);
}

/* The connection is lost: it is told then, and not again. */
static void
test_lost(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(channels_settle(w.b.chs), 0);
	assert_int_equal(o.freed, 1);
	assert_int_equal(o.all_freed, 0);
	end(&w);
	assert_int_equal(o.freed, 1);
}

/* Only raw ones are found, by their number, for messages of channels. */
static void
test_finding(void **state)
{
	uint8_t number[4] = { 0 };
	uint32_t at = 0;
	struct channel *c;
	struct world w;

	(void)state;
	begin(&w, true);
	number[3] = (uint8_t)channel_id(o.c);
	c = channels_find_raw(w.b.chs, SSH_MSG_CHANNEL_DATA,
	    rd_from(number, sizeof number));
	assert_ptr_equal(c, o.c);
	assert_ptr_equal(channel_raw_arg(c), &o);
	assert_null(channels_find_raw(w.b.chs, SSH_MSG_CHANNEL_OPEN,
	    rd_from(number, sizeof number)));
	assert_null(channels_find_raw(w.b.chs, SSH_MSG_CHANNEL_DATA,
	    rd_from(number, 3)));
	number[3]++;
	assert_null(channels_find_raw(w.b.chs, SSH_MSG_CHANNEL_DATA,
	    rd_from(number, sizeof number)));
	number[3] = (uint8_t)channel_id(w.a.ch);
	assert_null(channels_find_raw(w.a.chs, SSH_MSG_CHANNEL_DATA,
	    rd_from(number, sizeof number)));
	assert_ptr_equal(channels_next_raw(w.b.chs, &at), o.c);
	assert_null(channels_next_raw(w.b.chs, &at));
	end(&w);
}

/* One of our own, whose number the peer tells later. */
static void
test_new(void **state)
{
	struct channel *c = NULL;
	struct world w;

	(void)state;
	begin(&w, false);
	assert_int_equal(channel_new_raw(&c, w.b.chs, "x", &raw, &o), 0);
	assert_ptr_equal(channel_raw_arg(c), &o);
	channel_confirm_raw(c, 77);
	assert_int_equal(channel_raw_open(c).number, 77);
	assert_true(channels_have_room(w.b.chs));
	channel_end_raw(c);
	assert_int_equal(world_run(&w, 1), 0);
	assert_int_equal(o.freed, 1);
	end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_handlers_are_asked),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_an_error),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_finding),
		cmocka_unit_test(test_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
