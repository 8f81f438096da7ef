/* SPDX-License-Identifier: ISC */
/*
 * Whether threads pay for a connection, and in which form: decided from what
 * is measured in windows of time. Numbers in, a verdict out; no clock.
 */
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"

enum {
	SETTLE_WINDOWS = 1, /* not counted after a start */
	SLOW_MAX = 5,	    /* windows slower than without threads */
	IDLE_MAX = 3,	    /* windows with hardly a byte */
	BUSY_PERCENT = 80,
	IDLE_BYTES = 1024 * 1024,
	FIRST_BYTES = 64 * 1024 * 1024, /* moved by a connection that starts */
};

static const double gain_wanted = 1.05; /* of the serial rate */

#define BIT(phase) (1U << (phase))

/* Phases that may follow each phase. */
static const unsigned phase_next[] = {
	[PACKET_SERIAL] = BIT(PACKET_TRY_PIPELINE),
	[PACKET_TRY_PIPELINE] = BIT(PACKET_TRY_KEYSTREAM) |
	    BIT(PACKET_KEEP_PIPELINE) | BIT(PACKET_SERIAL),
	[PACKET_TRY_KEYSTREAM] = BIT(PACKET_KEEP_KEYSTREAM) |
	    BIT(PACKET_KEEP_PIPELINE) | BIT(PACKET_SERIAL),
	[PACKET_KEEP_PIPELINE] = BIT(PACKET_SERIAL),
	[PACKET_KEEP_KEYSTREAM] = BIT(PACKET_SERIAL),
};

bool
packet_phase_may_become(enum packet_phase from, enum packet_phase to)
{
	return (phase_next[from] & BIT(to)) != 0;
}

static void
set_phase(struct packet_trial *t, enum packet_phase next)
{
	if (t->phase == next)
		return;
	ENSURE(packet_phase_may_become(t->phase, next));
	t->phase = next;
}

void
packet_trial_give_up(struct packet_trial *t, uint64_t now_ms)
{
	set_phase(t, PACKET_SERIAL);
	t->backoff_ms = t->backoff_ms == 0 ?
	    (uint32_t)PACKET_BACKOFF_FIRST_MS :
	    MIN(t->backoff_ms * 2, (uint32_t)PACKET_BACKOFF_MAX_MS);
	t->retry_ms = now_ms + t->backoff_ms;
}

static enum packet_verdict
judge_serial(struct packet_trial *t, const struct packet_window *w,
    double rate)
{
	/* A window ends when enough was moved; a long one says little. */
	if (t->threads_max == 0 || w->ms > 2 * PACKET_WINDOW_MS ||
	    w->cpu_ms * 100 < w->ms * BUSY_PERCENT ||
	    w->total < FIRST_BYTES || w->now_ms < t->retry_ms)
		return PACKET_THREADS_KEEP;
	t->serial_rate = rate;
	t->windows = t->slow = t->idle = 0;
	set_phase(t, PACKET_TRY_PIPELINE);
	return PACKET_THREADS_START;
}

/* The next form is chosen after one was measured. True: it is another one, to
 * be measured, or the faster one of the two. */
static bool
change_form(struct packet_trial *t, double rate)
{
	enum packet_phase next = t->phase;
	bool other = false;

	if (t->phase == PACKET_TRY_PIPELINE) {
		t->first_rate = rate;
		other = t->has_second;
		next = other ? PACKET_TRY_KEYSTREAM : PACKET_KEEP_PIPELINE;
	} else if (t->phase == PACKET_TRY_KEYSTREAM) {
		other = rate < t->first_rate;
		next = other ? PACKET_KEEP_PIPELINE : PACKET_KEEP_KEYSTREAM;
	}
	set_phase(t, next);
	if (other)
		t->windows = 0;
	return other;
}

static enum packet_verdict
judge_threads(struct packet_trial *t, const struct packet_window *w,
    double rate)
{
	t->idle = w->bytes < IDLE_BYTES ? t->idle + 1 : 0;
	if (t->idle >= IDLE_MAX) {
		set_phase(t, PACKET_SERIAL);
		return PACKET_THREADS_STOP;
	}
	if (w->bytes < PACKET_WINDOW_BYTES ||
	    ++t->windows <= SETTLE_WINDOWS)
		return PACKET_THREADS_KEEP;
	if (change_form(t, rate))
		return PACKET_THREADS_OTHER;
	t->slow = rate < t->serial_rate * gain_wanted ? t->slow + 1 : 0;
	/* The first window that counts decides; later only several in a row. */
	if (t->slow >= SLOW_MAX ||
	    (t->slow > 0 && t->windows == SETTLE_WINDOWS + 1)) {
		log_debug("threads do not pay: %.0f, without %.0f kB/s", rate,
		    t->serial_rate);
		packet_trial_give_up(t, w->now_ms);
		return PACKET_THREADS_STOP;
	}
	if (t->windows == SLOW_MAX)
		t->backoff_ms = 0;
	return PACKET_THREADS_KEEP;
}

enum packet_verdict
packet_trial_judge(struct packet_trial *t, const struct packet_window *w)
{
	double rate = (double)w->bytes / (double)w->ms;

	if (w->threads > 0)
		return judge_threads(t, w, rate);
	set_phase(t, PACKET_SERIAL); /* they may have ended by themselves */
	return judge_serial(t, w, rate);
}
