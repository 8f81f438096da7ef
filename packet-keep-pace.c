/* SPDX-License-Identifier: ISC */
/*
 * Finds how much of what was sent may be kept before bulk has to wait: as
 * little as does not slow the path. The time until an acknowledgement does not
 * tell, because most of it is spent in queues, which fill up to the limit. So
 * the limit is doubled for a while, and stays doubled if the rate grows with
 * it.
 */
#include "base/mem.h"
#include "packet-internal.h"

enum {
	WINDOW_MS = 100,    /* a window lasts at least that long */
	WINDOW_LIMITS = 4,  /* and has at least so many times the limit in
			     * bytes */
	DOWN_MS = 10 * 1000, /* time between two trials of a smaller limit */
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 60 * 1000,
};

/* The rate, in percent of the one before, at which a trial of a larger or of a
 * smaller limit is a success. */
enum { UP_PERCENT = 130, DOWN_PERCENT = 95 };

void
packet_keep_pace_begin(struct packet_keep_pace *t, size_t max, uint64_t now_ms)
{
	*t = (struct packet_keep_pace){ .max = max,
		.limit = MIN(max, (size_t)PACKET_KEEP_MIN),
		.start_ms = now_ms,
		.next_up_ms = now_ms,
		.next_down_ms = now_ms + DOWN_MS,
		.backoff_ms = BACKOFF_FIRST_MS };
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

static void
judge_up(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	t->trial = PACKET_KEEP_STEADY;
	t->next_down_ms = now_ms + DOWN_MS;
	if (rate >= t->before / 100 * UP_PERCENT) {
		t->backoff_ms = BACKOFF_FIRST_MS;
		return;
	}
	t->limit = t->before_limit;
	t->next_up_ms = now_ms + t->backoff_ms;
	t->backoff_ms = MIN(2 * t->backoff_ms, (uint32_t)BACKOFF_MAX_MS);
}

static void
judge_down(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	t->trial = PACKET_KEEP_STEADY;
	if (rate >= t->before / 100 * DOWN_PERCENT)
		return; /* the next trial follows in the next window */
	t->limit = t->before_limit;
	t->next_down_ms = now_ms + DOWN_MS;
}

static void
judge(struct packet_keep_pace *t, uint64_t rate, uint64_t now_ms)
{
	if (t->trial == PACKET_KEEP_UP)
		judge_up(t, rate, now_ms);
	else if (t->trial == PACKET_KEEP_DOWN)
		judge_down(t, rate, now_ms);
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
