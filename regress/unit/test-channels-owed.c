/* SPDX-License-Identifier: ISC */
/* Answers to global requests that take time: b owes them, a hears them in the
 * order of its requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "channels-internal.h"
#include "regress/unit/channels-host.h"

enum { MANY = 8 };

static struct world w;
static struct channels_owed *owed[MANY];
static size_t owed_count;
static uint32_t heard[2 * MANY]; /* what the answers say; 0: failure */
static size_t heard_count;

static int
now(void *arg, struct rd *data, struct buf *reply)
{
	(void)arg;
	(void)data;
	buf_put_u32(reply, 1);
	return CHANNEL_SUCCESS;
}

static int
later(void *arg, struct rd *data, struct buf *reply)
{
	int r = channels_owe(w.b.chs, &owed[owed_count]);

	(void)arg;
	(void)data;
	(void)reply;
	owed_count++;
	return r != 0 ? r : CHANNEL_LATER;
}

static void
on_reply(void *arg, bool ok, struct rd data)
{
	(void)arg;
	heard[heard_count++] = ok ? rd_u32(&data) : 0;
}

static int
set_up(void **state)
{
	(void)state;
	owed_count = heard_count = 0;
	world_open(&w);
	assert_int_equal(channels_on_global(w.b.chs, "now", now, NULL), 0);
	assert_int_equal(channels_on_global(w.b.chs, "later", later, NULL),
	    0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	world_close(&w);
	return 0;
}

static void
ask(const char *name, bool reply)
{
	assert_int_equal(channels_global_request(w.a.chs, name, NULL,
	    reply ? on_reply : NULL, NULL), 0);
}

static void
give(size_t i, bool ok, uint32_t number)
{
	struct buf data = { 0 };

	buf_put_u32(&data, number);
	assert_int_equal(channels_give_owed(w.b.chs, owed[i], ok, &data), 0);
	buf_clear(&data);
	assert_int_equal(world_run(&w, 4), 0);
}

static void
expect(size_t n, const uint32_t *numbers)
{
	assert_int_equal(heard_count, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(heard[i], numbers[i]);
}

static void
the_order_is_kept(void **state)
{
	static const uint32_t all[] = { 1, 7, 1, 0, 0, 1 };

	(void)state;
	ask("now", true);
	ask("later", true);
	ask("now", true);
	ask("later", true);
	ask("unknown", true);
	ask("now", true);
	assert_int_equal(world_run(&w, 4), 0);
	expect(1, all);
	give(1, false, 8); /* the second is not the first */
	expect(1, all);
	give(0, true, 7);
	expect(6, all);
	ask("now", true); /* nothing is owed any more */
	assert_int_equal(world_run(&w, 4), 0);
	assert_int_equal(heard_count, 7);
}

static void
nobody_waits(void **state)
{
	static const uint32_t all[] = { 1 };

	(void)state;
	ask("later", false);
	ask("now", true);
	assert_int_equal(world_run(&w, 4), 0);
	expect(0, all);
	give(0, true, 7);
	expect(1, all);
}

/* Whoever goes on asking meanwhile makes us keep so much, and not more. */
static void
there_is_a_limit(void **state)
{
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	ask("later", true);
	assert_int_equal(world_run(&w, 4), 0);
	buf_put_u8(&b, SSH_MSG_GLOBAL_REQUEST);
	buf_put_cstring(&b, "now");
	buf_put_bool(&b, true);
	r = rd_from_buf(&b);
	for (int i = 1; i < CHANNEL_REPLIES_MAX; i++)
		assert_int_equal(channels_input(w.b.chs, r), 0);
	assert_int_equal(channels_input(w.b.chs, r), ERR_LIMIT);
	buf_clear(&b);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_order_is_kept),
		TEST(nobody_waits),
		TEST(there_is_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
