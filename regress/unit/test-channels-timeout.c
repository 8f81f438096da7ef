/* SPDX-License-Identifier: ISC */
/* Channels that carry nothing are closed in time, and the others stay. Time is
 * set back instead of waited for. */
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"
#include "regress/unit/channels-host.h"

enum { SECONDS = 100 };

static uint32_t
seconds_for(void *arg, const char *kind)
{
	(void)arg;
	return strcmp(kind, "session:shell") == 0 ? SECONDS : 0;
}

struct story {
	struct world w;
	int far[2]; /* of b's sockets: far ends */
	struct channel *ch[2]; /* b's */
};

/* Both channels have a socket at b. */
static void
begin(struct story *s, uint32_t global_s)
{
	struct channels_timeouts t = { .seconds = seconds_for,
		.global_s = global_s };

	memset(s, 0, sizeof *s);
	world_open(&s->w);
	channels_set_timeouts(s->w.b.chs, &t);
	for (int i = 0; i < 2; i++) {
		int pair[2];

		socket_pair(SOCK_STREAM, pair);
		s->far[i] = pair[1];
		s->w.b.fds[0] = s->w.b.fds[1] = pair[0];
		world_open_session(&s->w);
		assert_int_equal(world_run(&s->w, 3), 0);
		s->ch[i] = s->w.b.ch;
	}
}

static void
end(struct story *s)
{
	world_close(&s->w);
	for (int i = 0; i < 2; i++)
		close(s->far[i]);
}

/* So much time passes for b, and the timer that there is fires. */
static void
pass(struct story *s, uint32_t seconds)
{
	struct channels *chs = s->w.b.chs;
	uint64_t ms = (uint64_t)seconds * 1000;

	for (size_t i = 0; i < chs->n; i++)
		if (chs->v[i] != NULL)
			chs->v[i]->clock.used_ms -= ms;
	chs->clock.used_ms -= ms;
	if (chs->clock.timer != NULL && clock_ms() + ms >= chs->clock.due_ms) {
		loop_cancel(s->w.loop, chs->clock.timer);
		chs->clock.timer = NULL;
		chs->clock.timer = loop_after(s->w.loop, 0,
		    channels_look_at_clocks, chs);
	} else {
		chs->clock.due_ms -= ms;
	}
	assert_int_equal(world_run(&s->w, 4), 0);
}

static void
test_idle_is_closed(void **state)
{
	struct story s;

	(void)state;
	begin(&s, 0);
	assert_null(s.w.b.chs->clock.timer);
	pass(&s, 10 * SECONDS);
	assert_int_equal(channels_alive(s.w.b.chs), 2);
	channel_set_kind(s.ch[0], "session:shell");
	channel_set_kind(s.ch[1], "session:command");
	assert_int_equal(world_run(&s.w, 1), 0);
	assert_non_null(s.w.b.chs->clock.timer);
	/* The kind is held back, and its sink does not take what there is. */
	channel_hold_close(s.ch[0], true);
	pass(&s, SECONDS - 1);
	assert_int_equal(channels_alive(s.w.b.chs), 2);
	pass(&s, 2);
	assert_int_equal(channels_alive(s.w.b.chs), 1);
	assert_int_equal(channels_alive(s.w.a.chs), 1);
	assert_int_equal(s.w.b.closed, 1);
	assert_false(s.ch[1]->clock.expired);
	end(&s);
}

/* What is read or written at the local side counts, in either direction. */
static void
test_use_counts(void **state)
{
	struct story s;

	(void)state;
	begin(&s, 0);
	channel_set_kind(s.ch[0], "session:shell");
	assert_int_equal(world_run(&s.w, 1), 0);
	for (int i = 0; i < 6; i++) {
		pass(&s, SECONDS - 10);
		if (i % 2 == 0)
			assert_int_equal(write(s.far[0], "x", 1), 1);
		else
			assert_int_equal(channel_send_data(s.w.a.chs->v[0], 0,
					     "x", 1), 0);
		assert_int_equal(world_run(&s.w, 4), 0);
		assert_int_equal(channels_alive(s.w.b.chs), 2);
	}
	/* The other channel's does not. */
	assert_int_equal(write(s.far[1], "x", 1), 1);
	pass(&s, SECONDS + 1);
	assert_int_equal(channels_alive(s.w.b.chs), 1);
	end(&s);
}

/* A sink that has stopped does not keep its channel open. */
static void
test_stopped_is_closed(void **state)
{
	uint8_t chunk[30000] = { 0 };
	struct story s;

	(void)state;
	begin(&s, 0);
	channel_set_kind(s.ch[0], "session:shell");
	for (int i = 0; i < 50; i++) {
		(void)!channel_send_data(s.w.a.chs->v[0], 0, chunk,
		    sizeof chunk);
		assert_int_equal(world_run(&s.w, 2), 0);
	}
	assert_true(s.ch[0]->sink[0].queue.len > 0);
	pass(&s, SECONDS + 1);
	assert_int_equal(channels_alive(s.w.b.chs), 1);
	end(&s);
}

/* One clock for all: any byte of any channel keeps all of them open. */
static void
test_global(void **state)
{
	struct story s;

	(void)state;
	begin(&s, 10);
	for (int i = 0; i < 5; i++) {
		pass(&s, 9);
		assert_int_equal(write(s.far[i % 2], "x", 1), 1);
		assert_int_equal(world_run(&s.w, 4), 0);
		assert_int_equal(channels_alive(s.w.b.chs), 2);
	}
	pass(&s, 11);
	assert_int_equal(channels_alive(s.w.b.chs), 0);
	end(&s);
}

static struct channels_use use;
static int told;

static void
on_use(void *arg, struct channels_use now)
{
	(void)arg;
	use = now;
	told++;
}

/* Sessions count when they run something, and the rest when it is open. */
static void
test_use_is_told(void **state)
{
	struct story s;

	(void)state;
	told = 0;
	begin(&s, 0);
	channels_on_use(s.w.b.chs, on_use, NULL);
	assert_int_equal(told, 1);
	assert_false(use.any);
	channel_set_interactive(s.ch[0], true);
	assert_int_equal(world_run(&s.w, 2), 0);
	assert_int_equal(told, 1);
	channel_set_kind(s.ch[1], "session:command");
	assert_int_equal(world_run(&s.w, 2), 0);
	assert_int_equal(told, 2);
	assert_true(use.any && !use.interactive);
	channel_set_kind(s.ch[0], "session:shell");
	assert_int_equal(world_run(&s.w, 2), 0);
	assert_true(use.any && use.interactive);
	channel_leave(s.w.a.chs->v[0]);
	assert_int_equal(world_run(&s.w, 4), 0);
	assert_true(use.any && !use.interactive);
	channel_leave(s.w.a.chs->v[1]);
	assert_int_equal(world_run(&s.w, 4), 0);
	assert_false(use.any);
	assert_int_equal(told, 5);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_is_closed),
		cmocka_unit_test(test_use_counts),
		cmocka_unit_test(test_stopped_is_closed),
		cmocka_unit_test(test_global),
		cmocka_unit_test(test_use_is_told),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-channels-timeout", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
