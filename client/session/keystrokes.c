/* SPDX-License-Identifier: ISC */
#include "client/session/keystrokes.h"

#include "base/mem.h"

void
keystrokes_init(struct keystrokes *k, uint32_t interval_ms)
{
	*k = (struct keystrokes){ .interval_us = (uint64_t)interval_ms * 1000 };
}

/* A random part of `what`: at least 0 and less than `what`. Only the low 16
 * bits of random16 count. */
static uint64_t
part_of(uint64_t what, uint32_t random16)
{
	return what * (random16 & 0xffff) >> 16;
}

static enum keystrokes_verdict
end(struct keystrokes *k, const char *why)
{
	if (k->active)
		k->ended = why;
	k->active = false;
	return KEYSTROKES_WRITE;
}

/* Sets the next tick: the interval less 10 %, plus two random parts of 0 to 10
 * %. One of these, skew_us, is the same for the whole active time, the other is
 * new for each tick. */
static void
set_next(struct keystrokes *k, const struct keystrokes_now *now, uint64_t from)
{
	uint64_t tenth = k->interval_us / 10;
	uint64_t tick = k->interval_us - tenth + k->skew_us +
	    part_of(tenth, now->random);

	/* Ticks that were missed are left out. */
	if (now->us >= from + tick)
		from += (now->us - from) / tick * tick;
	k->next_us = from + tick;
}

static void
expect_more(struct keystrokes *k, const struct keystrokes_now *now)
{
	k->chaff_us = now->us + (uint64_t)KEYSTROKES_CHAFF_MS * 1000 +
	    part_of((uint64_t)KEYSTROKES_CHAFF_RANDOM_MS * 1000,
		now->random >> 16);
}

static const char *
obstacle(const struct keystrokes *k, const struct keystrokes_now *now)
{
	if (!now->terminal)
		return "no active channels";
	if (now->rekeying)
		return "rekeying started";
	if (now->pending > KEYSTROKES_PENDING_MAX)
		return "output buffer filling";
	if (k->other_us != 0 &&
	    now->us - k->other_us < (uint64_t)KEYSTROKES_LIFT_MS * 1000)
		return "other channels are active";
	return NULL;
}

/* Typing begins: becomes active, and the first keystroke is sent at once. */
static enum keystrokes_verdict
begin(struct keystrokes *k, const struct keystrokes_now *now)
{
	k->active = true;
	k->ended = NULL;
	k->skew_us = part_of(k->interval_us / 10, now->random >> 8);
	set_next(k, now, now->us);
	return KEYSTROKES_WRITE;
}

static enum keystrokes_verdict
go_on(struct keystrokes *k, const struct keystrokes_now *now)
{
	if (now->us < k->next_us)
		return KEYSTROKES_HOLD;
	set_next(k, now, k->next_us);
	if (now->pending > 0)
		return KEYSTROKES_WRITE;
	if (now->us >= k->chaff_us)
		return end(k, "chaff time expired");
	return now->chaff ? KEYSTROKES_CHAFF : KEYSTROKES_WRITE;
}

enum keystrokes_verdict
keystrokes_decide(struct keystrokes *k, const struct keystrokes_now *now,
    uint64_t *wait_us)
{
	enum keystrokes_verdict verdict;
	const char *why;

	*wait_us = 0;
	if (k->interval_us == 0)
		return KEYSTROKES_WRITE;
	if (now->other)
		k->other_us = now->us;
	if ((why = obstacle(k, now)) != NULL)
		return end(k, why);
	if (now->typed)
		expect_more(k, now);
	if (k->active)
		verdict = go_on(k, now);
	else if (now->typed)
		verdict = begin(k, now);
	else
		return KEYSTROKES_WRITE;
	if (k->active)
		*wait_us = k->next_us - now->us;
	return verdict;
}
