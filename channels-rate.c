/* SPDX-License-Identifier: ISC */
#include "channels-rate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "channels-internal.h"

enum { US_PER_MS = 1000, LATE_MS = 100 };

_Static_assert((int)CHANNELS_RATE_FIRST >= (int)CHANNEL_EARLY_MAX,
    "early data fits into what is given of a window at once");

static void on_time(void *arg);

void
channels_rate_init(struct channels *chs)
{
	for (int i = 0; i < CHANNELS_WAYS; i++) {
		bucket_set(&chs->rate.bucket[i], BUCKET_NO_LIMIT, 0);
		bucket_set(&chs->rate.calm[i], CHANNELS_RATE_CALM, 0);
	}
}

void
channels_rate_end(struct channels *chs)
{
	loop_cancel(chs->loop, chs->rate.timer);
	chs->rate.timer = NULL;
}

static bool
is_limited(const struct channels *chs, enum channels_way way)
{
	return chs->rate.bucket[way].rate != BUCKET_NO_LIMIT;
}

/* ---- waiting ------------------------------------------------------------- */

/* Sets the timer for when c may move data again. */
static void
wait_for(struct channel *c, enum channels_way way)
{
	struct channels_rate *rate = &c->chs->rate;
	uint64_t us = bucket_wait_us(&rate->bucket[way]), at;

	if (c->interactive)
		us = MIN(us, bucket_wait_us(&rate->calm[way]));
	at = clock_ms() + us / US_PER_MS + 1;
	rate->waits[way] = true;
	rate->moved.held[way] = true;
	if (rate->timer != NULL && rate->timer_ms <= at)
		return;
	loop_cancel(c->chs->loop, rate->timer);
	rate->timer = loop_after(c->chs->loop, us / US_PER_MS + 1, on_time,
	    c->chs);
	rate->timer_ms = at;
}

/* Touches the channels whose windows were not given back. It begins behind the
 * channel that was given window last, so that each has its turn. Channels that
 * want to send wait in their row, which the next turn serves. */
static void
on_time(void *arg)
{
	struct channels *chs = arg;
	bool in = chs->rate.waits[CHANNELS_IN];

	chs->rate.timer = NULL;
	chs->rate.waits[CHANNELS_IN] = chs->rate.waits[CHANNELS_OUT] = false;
	for (size_t i = 0; in && i < chs->n; i++) {
		struct channel *c = chs->v[(chs->rate.next + i) % chs->n];

		if (c != NULL && c->window.consumed > 0)
			channel_touch(c);
	}
	loop_again(chs->loop);
}

/* ---- moving -------------------------------------------------------------- */

bool
channel_rate_may(struct channel *c, enum channels_way way)
{
	struct channels_rate *rate = &c->chs->rate;
	uint64_t now;

	if (!is_limited(c->chs, way))
		return true;
	now = clock_us();
	if ((c->interactive && bucket_may(&rate->calm[way], now)) ||
	    bucket_may(&rate->bucket[way], now))
		return true;
	wait_for(c, way);
	return false;
}

static void
count(struct channels *chs, enum channels_way way, uint64_t bytes)
{
	void (*fn)(void *arg) = chs->rate.on_move;

	chs->rate.moved.bytes[way] += bytes;
	if (fn == NULL || bytes == 0)
		return;
	chs->rate.on_move = NULL;
	fn(chs->rate.on_move_arg);
}

/* True if these bytes of c go beside the rate, as those of an interactive
 * channel. */
static bool
take_calm(struct channel *c, enum channels_way way, uint64_t bytes)
{
	struct bucket *calm = &c->chs->rate.calm[way];

	if (!c->interactive || !bucket_may(calm, clock_us()))
		return false;
	bucket_take(calm, bytes);
	return true;
}

void
channel_rate_sent(struct channel *c, uint64_t bytes)
{
	if (bytes == 0 || take_calm(c, CHANNELS_OUT, bytes))
		return;
	bucket_take(&c->chs->rate.bucket[CHANNELS_OUT], bytes);
	count(c->chs, CHANNELS_OUT, bytes);
}

void
channel_rate_arrived(struct channel *c, uint64_t bytes)
{
	if (!c->interactive)
		count(c->chs, CHANNELS_IN, bytes);
}

/* ---- windows ------------------------------------------------------------- */

void
channel_rate_give_window(struct channel *c, uint64_t bytes)
{
	if (bytes == 0 || take_calm(c, CHANNELS_IN, bytes))
		return;
	c->chs->rate.next = c->id + 1;
	bucket_take(&c->chs->rate.bucket[CHANNELS_IN], bytes);
	if (c->interactive)
		count(c->chs, CHANNELS_IN, bytes);
}

void
channel_rate_end(struct channel *c)
{
	if (!c->interactive)
		bucket_give(&c->chs->rate.bucket[CHANNELS_IN], c->window.left);
}

uint32_t
channel_rate_room(const struct channel *c, uint32_t least)
{
	const struct bucket *b = &c->chs->rate.bucket[CHANNELS_IN];

	if (!is_limited(c->chs, CHANNELS_IN))
		return UINT32_MAX;
	return (uint32_t)MIN(MAX(b->left, (int64_t)least),
	    (int64_t)UINT32_MAX);
}

/* A window that is given back each round trip allows the rate if it is as wide
 * as what comes in one. This returns twice that, and some for turns that are
 * late; more would only let more through at once. A terminal needs little. */
uint32_t
channel_rate_window(const struct channel *c)
{
	uint64_t rate = c->chs->rate.bucket[CHANNELS_IN].rate, ms;

	if (!is_limited(c->chs, CHANNELS_IN))
		return UINT32_MAX;
	if (c->interactive)
		return RECV_WINDOW_LEAST;
	if (rate >= UINT32_MAX)
		return UINT32_MAX;
	channels_sample_path(c->chs);
	ms = 2 * (c->chs->rtt_us / US_PER_MS) + LATE_MS;
	rate = rate * MIN(ms, (uint64_t)UINT32_MAX) / 1000;
	return (uint32_t)MIN(MAX(rate, (uint64_t)RECV_WINDOW_LEAST),
	    (uint64_t)UINT32_MAX);
}

uint32_t
channel_rate_first(const struct channel *c, uint32_t window)
{
	return !is_limited(c->chs, CHANNELS_IN) ? window :
	    MIN(window, (uint32_t)CHANNELS_RATE_FIRST);
}

/* ---- the owner's side ---------------------------------------------------- */

void
channels_set_rate(struct channels *chs, enum channels_way way,
    uint64_t bytes_per_s)
{
	struct bucket *b = &chs->rate.bucket[way];

	if (b->rate == bytes_per_s)
		return;
	bucket_set(b, bytes_per_s, clock_us());
	/* At the new rate, waiting channels may go on earlier, or have to wait
	 * longer. */
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
