/* SPDX-License-Identifier: ISC */
/*
 * Finds how much of what was sent may be kept before bulk has to wait: as
 * little as does not slow the path. It begins with what a fast path as long as
 * this one holds: how long it is, the acknowledgement of a message tells before
 * which nothing was on its way. Later ones do not, because most of their time
 * is spent in queues, which fill up to the limit. So from then on the limit is
 * doubled for a while, and stays doubled if the rate grows with it; or it is
 * halved, and stays so if the rate does not fall.
 */
#include "base/mem.h"
#include "packet-internal.h"

enum {
	WINDOW_MS = 100,    /* a window lasts at least that long */
	WINDOW_LIMITS = 4,  /* and has at least so many times the limit in
			     * bytes */
	UP_FIRST_MS = 1000,    /* from a trial in vain to the next; twice as */
	DOWN_FIRST_MS = 10 * 1000, /* long each time, */
	BACKOFF_MAX_MS = 60 * 1000, /* up to this */
	FAST_PATH = 640 * 1000, /* bytes that a path of 5 Gbit/s carries in a
				 * millisecond */
};

/* The rate, in percent of the one before, at which a trial of a larger or of a
 * smaller limit is a success. */
enum { UP_PERCENT = 130, DOWN_PERCENT = 95 };

void
packet_keep_pace_begin(struct packet_keep_pace *t, size_t max, uint64_t now_ms)
{
	*t = (struct packet_keep_pace){ .max = max,
		.limit = max,
		.round_trip_ms = UINT64_MAX,
		.idle = true,
		.next_up_ms = now_ms,
		.next_down_ms = now_ms + DOWN_FIRST_MS,
		.up_backoff_ms = UP_FIRST_MS,
		.down_backoff_ms = DOWN_FIRST_MS };
}

void
packet_keep_pace_round_trip(struct packet_keep_pace *t, uint64_t ms)
{
	if (t->judged || ms >= t->round_trip_ms)
		return;
	t->round_trip_ms = ms;
	t->limit = (size_t)MIN((uint64_t)t->max,
	    MAX(ms * FAST_PATH, (uint64_t)PACKET_KEEP_MIN));
}

void
packet_keep_pace_limit(struct packet_keep_pace *t, size_t max)
{
	t->max = MIN(t->max, max);
	t->limit = MIN(t->limit, t->max);
	t->before_limit = MIN(t->before_limit, t->max);
}

static void
try_up(struct packet_keep_pace *t)
{
	t->trial = PACKET_KEEP_UP;
	t->before_limit = t->limit;
	t->limit = MIN(2 * t->limit, t->max);
}

/* The limit is again what it was before a trial in vain. Returns when the next
 * one may be. */
static uint64_t
back(struct packet_keep_pace *t, uint32_t *backoff_ms, uint64_t now_ms)
{
	uint64_t next_ms = now_ms + *backoff_ms;

	t->limit = t->before_limit;
	*backoff_ms = MIN(2 * *backoff_ms, (uint32_t)BACKOFF_MAX_MS);
	return next_ms;
}

static void
judge_up(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	if (rate < t->before / 100 * UP_PERCENT) {
		t->next_up_ms = back(t, &t->up_backoff_ms, now_ms);
		return;
	}
	t->up_backoff_ms = UP_FIRST_MS;
	t->next_down_ms = now_ms + t->down_backoff_ms;
}

static void
judge_down(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	/* After a success the next trial follows in the next window. */
	if (rate < t->before / 100 * DOWN_PERCENT)
		t->next_down_ms = back(t, &t->down_backoff_ms, now_ms);
	else
		t->down_backoff_ms = DOWN_FIRST_MS;
}

static void
judge(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	if (t->trial == PACKET_KEEP_UP)
		judge_up(t, rate, now_ms);
	else if (t->trial == PACKET_KEEP_DOWN)
		judge_down(t, rate, now_ms);
	t->trial = PACKET_KEEP_STEADY;
	t->judged = true;
	t->before = rate;
	if (t->limited && t->limit < t->max && now_ms >= t->next_up_ms) {
		try_up(t);
	} else if (t->limit > PACKET_KEEP_MIN && now_ms >= t->next_down_ms) {
		t->trial = PACKET_KEEP_DOWN;
		t->before_limit = t->limit;
		t->limit = MAX(t->limit / 2, (size_t)PACKET_KEEP_MIN);
	}
}

static void
begin_window(struct packet_keep_pace *t, uint64_t acked, uint64_t now_ms)
{
	t->limited = false;
	t->start_ms = now_ms;
	t->start_acked = acked;
}

void
packet_keep_pace_idle(struct packet_keep_pace *t)
{
	if (t->trial != PACKET_KEEP_STEADY)
		t->limit = t->before_limit;
	t->trial = PACKET_KEEP_STEADY;
	t->idle = true;
}

void
packet_keep_pace_acked(struct packet_keep_pace *t, uint64_t acked, bool limited,
    uint64_t now_ms)
{
	uint64_t ms = now_ms - t->start_ms, bytes = acked - t->start_acked;

	if (t->idle) {
		t->idle = false;
		begin_window(t, acked, now_ms);
		return;
	}
	t->limited = t->limited || limited;
	if (ms < WINDOW_MS || bytes < WINDOW_LIMITS * (uint64_t)t->limit)
		return;
	judge(t, bytes * 1000 / ms, now_ms);
	begin_window(t, acked, now_ms);
}
