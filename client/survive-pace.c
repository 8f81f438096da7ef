/* SPDX-License-Identifier: ISC */
#include "client/survive-pace.h"

#include "base/mem.h"

enum {
	/* Longest and first time between two tries that nothing has
	 * hastened. */
	WAIT_TTY_MS = 2000,
	WAIT_MS = 10 * 1000,
	WAIT_FIRST_MS = 250,
	/* Least time from the beginning of a try to that of one for a key: a
	 * key that is held down makes four tries a second, where they fail at
	 * once. */
	KEY_MS = 250,
	/* After so many tries that have ended by themselves, the least time for
	 * a key is BROKEN_MS. A network that resets connections lets tries fail
	 * at once, and servers give an address a penalty of a second for each
	 * login that breaks, and lock it out when these sum up to some. */
	BROKEN_FREE = 6,
	BROKEN_MS = 1000,
	/* Age of a try beside one and a half round trips, from which on its
	 * first packet is taken for lost when there is an event. */
	SPARE_MS = 100,
	SPARE_SHIFT_MAX = 8,
	/* Seconds that a try may take for each of its steps: at first, and at
	 * most, after others that have reached a slow host. And for all steps
	 * together: that many times as long, at most WHOLE_MAX_MS. */
	STEP_S = 3,
	STEP_MAX_S = 20,
	STEPS = 3,
	WHOLE_MAX_MS = 30 * 1000,
	/* Through another program one cannot see whether the path or the host
	 * is silent. So most tries end early, as if it were the path; one of
	 * PATIENT_EACH has more time the more have had no answer, as if it were
	 * a host that is slow to log in to. Seconds at most, for both kinds,
	 * with a terminal and without. */
	PATIENT_EACH = 4,
	BRIEF_TTY_S = 5,
	BRIEF_S = 10,
	PATIENT_TTY_S = 10,
	PATIENT_S = 20,
};

void
survive_pace_lost(struct survive_pace *p)
{
	p->tries = p->backoff = p->slow = p->silent = p->ended = 0;
	p->broken = 0;
	p->event = false;
}

/* Seconds for TCP's first packets and the host's first answer, on this path. */
static unsigned
direct_s(const struct survive_pace *p)
{
	return (unsigned)MIN(STEP_S + 2 * p->rtt_us / 1000000, STEP_MAX_S);
}

/* Seconds until the host's first answer through another program. What that took
 * when the connection was new is allowed for, and a second. */
static unsigned
proxied_s(const struct survive_pace *p)
{
	unsigned known = (unsigned)MIN(p->answer_ms / 1000 + 2, STEP_MAX_S);
	unsigned more = MIN(STEP_S + p->silent,
	    p->tty ? PATIENT_TTY_S : PATIENT_S);

	if (p->tries % PATIENT_EACH == 0)
		return MAX(known, more);
	return MIN(MAX(known, STEP_S), p->tty ? BRIEF_TTY_S : BRIEF_S);
}

struct survive_limits
survive_pace_try(struct survive_pace *p, uint64_t now_ms)
{
	struct survive_limits l;
	unsigned first_s;

	p->tries++;
	p->backoff++;
	p->event = false;
	p->try_ms = now_ms;
	first_s = p->proxied ? proxied_s(p) : direct_s(p);
	l.first_ms = first_s * 1000;
	l.step_s = MAX(MIN(direct_s(p) + p->slow, STEP_MAX_S), first_s);
	l.whole_ms = MIN(l.step_s * STEPS * 1000, WHOLE_MAX_MS);
	return l;
}

void
survive_pace_late(struct survive_pace *p, bool reached)
{
	if (reached)
		p->slow++;
	else if (p->proxied)
		p->silent++;
}

/* Milliseconds from now on until so many have passed since the last try
 * began. */
static uint64_t
rest_ms(const struct survive_pace *p, uint64_t ms, uint64_t now_ms)
{
	uint64_t gone = now_ms - p->try_ms;

	return p->tries == 0 || gone >= ms ? 0 : ms - gone;
}

void
survive_pace_broken(struct survive_pace *p)
{
	p->broken++;
}

/* Milliseconds until there may be a try for a key. */
static uint64_t
key_ms(const struct survive_pace *p, uint64_t now_ms)
{
	return rest_ms(p, p->broken < BROKEN_FREE ? KEY_MS : BROKEN_MS,
	    now_ms);
}

uint64_t
survive_pace_wait_ms(struct survive_pace *p, uint64_t now_ms)
{
	uint64_t most = p->tty ? WAIT_TTY_MS : WAIT_MS, ms;

	p->ended = 0;
	if (p->event) {
		p->backoff = 0;
		return key_ms(p, now_ms);
	}
	ms = p->backoff == 0 ? 0 :
	    MIN(most, (uint64_t)WAIT_FIRST_MS << MIN(p->backoff - 1, 8));
	return p->broken < BROKEN_FREE ? ms : MAX(ms, key_ms(p, now_ms));
}

uint64_t
survive_pace_event_ms(struct survive_pace *p, enum survive_event e,
    uint64_t now_ms)
{
	p->backoff = 0;
	return e == SURVIVE_EVENT_NET ? 0 : key_ms(p, now_ms);
}

uint64_t
survive_pace_spare_ms(struct survive_pace *p, uint64_t now_ms)
{
	uint64_t answer_ms = p->proxied ? p->answer_ms : p->rtt_us / 1000;
	uint64_t spare_ms = SPARE_MS + answer_ms + answer_ms / 2;

	p->event = true;
	/* Each time it is twice as long, so that a key that is held down does
	 * not end all tries where the path has become longer. */
	return rest_ms(p, spare_ms << MIN(p->ended, SPARE_SHIFT_MAX), now_ms);
}

void
survive_pace_ended(struct survive_pace *p)
{
	p->ended++;
	p->backoff = 0;
}
