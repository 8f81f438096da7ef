/* SPDX-License-Identifier: ISC */
/*
 * Decides whether threads pay for a connection, and in which form, from what is
 * measured in windows of time. The functions use no clock: the caller passes
 * the numbers and gets a verdict.
 */
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"

enum {
	SETTLE_WINDOWS = 1, /* windows after a start that do not count */
	SLOW_MAX = 5,	    /* slow windows in a row that stop the threads */
	IDLE_MAX = 3,	    /* idle windows in a row that stop the threads */
	BUSY_PERCENT = 80,  /* CPU time of a loop thread that needs help */
	IDLE_BYTES = 1024 * 1024, /* a window with fewer is idle */
	FIRST_BYTES = 64 * 1024 * 1024, /* moved before threads are tried */
};

static const double gain_wanted = 1.05; /* rate with threads to without */

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
	/* A window ends when enough bytes were moved. One that took long is
	 * not judged, as much of it may have been idle. */
	if (t->threads_max == 0 || w->ms > 2 * PACKET_WINDOW_MS ||
	    w->cpu_ms * 100 < w->ms * BUSY_PERCENT ||
	    w->total < FIRST_BYTES || w->now_ms < t->retry_ms)
		return PACKET_THREADS_KEEP;
	t->serial_rate = rate;
	t->windows = t->slow = t->idle = 0;
	set_phase(t, PACKET_TRY_PIPELINE);
	return PACKET_THREADS_START;
}

/* Goes to the next phase after a form was measured at this rate. True: the
 * threads change to the other form, either to measure it or because it was
 * faster. */
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
	/* The first window that counts can stop the threads alone; after it
	 * only SLOW_MAX in a row can. */
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
	set_phase(t, PACKET_SERIAL); /* threads may have ended by themselves */
	return judge_serial(t, w, rate);
}
