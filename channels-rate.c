/* SPDX-License-Identifier: ISC */
#include "channels-rate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "channels-internal.h"

enum { US_PER_MS = 1000, LATE_MS = 100 };

static void on_time(void *arg);

void
channels_rate_init(struct channels *chs)
{
	for (int i = 0; i < CHANNELS_WAYS; i++)
		bucket_set(&chs->rate.bucket[i], BUCKET_NO_LIMIT, 0);
}

void
channels_rate_end(struct channels *chs)
{
	loop_cancel(chs->loop, chs->rate.timer);
	chs->rate.timer = NULL;
}

/* Waits until the bucket has something again. */
static void
wait_for(struct channels *chs, enum channels_way way)
{
	uint64_t ms = bucket_wait_us(&chs->rate.bucket[way]) / US_PER_MS + 1;

	chs->rate.waits[way] = true;
	chs->rate.moved.held[way] = true;
	if (chs->rate.timer == NULL)
		chs->rate.timer = loop_after(chs->loop, ms, on_time, chs);
}

/* Touches the channels whose windows were not given back. Those that want to
 * send wait in their row, which the turn that follows serves. */
static void
on_time(void *arg)
{
	struct channels *chs = arg;
	bool in = chs->rate.waits[CHANNELS_IN];

	chs->rate.timer = NULL;
	chs->rate.waits[CHANNELS_IN] = chs->rate.waits[CHANNELS_OUT] = false;
	for (size_t i = 0; in && i < chs->n; i++)
		if (chs->v[i] != NULL && !chs->v[i]->interactive &&
		    chs->v[i]->window.consumed > 0)
			channel_touch(chs->v[i]);
	loop_again(chs->loop);
}

bool
channels_rate_may(struct channels *chs, enum channels_way way)
{
	struct bucket *b = &chs->rate.bucket[way];

	if (b->rate == BUCKET_NO_LIMIT || bucket_may(b, clock_us()))
		return true;
	wait_for(chs, way);
	return false;
}

uint32_t
channels_rate_room(const struct channels *chs, enum channels_way way,
    uint32_t least)
{
	const struct bucket *b = &chs->rate.bucket[way];

	if (b->rate == BUCKET_NO_LIMIT)
		return UINT32_MAX;
	return (uint32_t)MIN(MAX(b->left, (int64_t)least),
	    (int64_t)UINT32_MAX);
}

void
channels_rate_take(struct channels *chs, enum channels_way way, uint64_t bytes)
{
	bucket_take(&chs->rate.bucket[way], bytes);
}

/* A window that comes back each round trip carries the rate if it is as wide as
 * what comes in one. Twice that, and some for turns that are late; more would
 * only let more through at once. */
uint32_t
channels_rate_window(const struct channels *chs)
{
	uint64_t rate = chs->rate.bucket[CHANNELS_IN].rate;
	uint64_t ms = 2 * (chs->rtt_us / US_PER_MS) + LATE_MS;

	if (rate >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)MIN(rate * MIN(ms, (uint64_t)UINT32_MAX) / 1000,
	    (uint64_t)UINT32_MAX);
}

void
channels_rate_count(struct channels *chs, enum channels_way way, uint64_t bytes)
{
	void (*fn)(void *arg) = chs->rate.on_move;

	chs->rate.moved.bytes[way] += bytes;
	if (fn == NULL || bytes == 0)
		return;
	chs->rate.on_move = NULL;
	fn(chs->rate.on_move_arg);
}

void
channels_set_rate(struct channels *chs, enum channels_way way,
    uint64_t bytes_per_s)
{
	struct bucket *b = &chs->rate.bucket[way];

	if (b->rate == bytes_per_s)
		return;
	bucket_set(b, bytes_per_s, clock_us());
	/* What waits may go on earlier, or has to wait longer. */
	if (chs->rate.timer == NULL)
		return;
	loop_cancel(chs->loop, chs->rate.timer);
	on_time(chs);
}

struct channels_moved
channels_take_moved(struct channels *chs)
{
	struct channels_moved m = chs->rate.moved;

	chs->rate.moved = (struct channels_moved){ 0 };
	for (int i = 0; i < CHANNELS_WAYS; i++)
		m.held[i] = m.held[i] || chs->rate.waits[i];
	return m;
}

void
channels_on_move(struct channels *chs, void (*fn)(void *arg), void *arg)
{
	chs->rate.on_move = fn;
	chs->rate.on_move_arg = arg;
}
