/* SPDX-License-Identifier: ISC */
/*
 * Whether threads help a connection: started when its loop thread is seen to
 * be the limit, kept if that pays, stopped when it idles.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "packet-internal.h"

enum {
	WINDOW_MS = 200,
	TEND_MS = 1000,	   /* between looks at a pipeline that may idle */
	SETTLE_WINDOWS = 1, /* not counted after the start */
	SLOW_MAX = 5,	   /* windows slower than without threads */
	IDLE_MAX = 3,	   /* windows (of TEND_MS) with hardly a byte */
	BACKOFF_FIRST_MS = 10 * 1000,
	BACKOFF_MAX_MS = 5 * 60 * 1000,
	BUSY_PERCENT = 80,
	IDLE_BYTES = 1024 * 1024,
	LOOK_BYTES = 4 * 1024 * 1024, /* moved before it is worth a look */
	FIRST_BYTES = 64 * 1024 * 1024, /* moved by a connection that starts */
};

static const double gain_wanted = 1.05; /* of the serial rate */

static void
wake(void *arg)
{
	struct packet *p = arg;

	if (p->notify != NULL)
		p->notify(p->notify_arg);
}

void
packet_pipe_set_keys(struct packet *p, enum packet_dir dir)
{
	const struct packet_keys *k = &p->half[dir].keys;

	if (p->pipe == NULL)
		return;
	pipeline_set_keys(p->pipe,
	    dir == PACKET_TX ? PIPELINE_SEAL : PIPELINE_OPEN, k->cipher,
	    k->mac, k->key, k->iv, k->mac_key);
}

size_t
packet_threads_start(struct packet *p, size_t threads)
{
	size_t got;

	if (!p->authenticated || p->half[PACKET_TX].cipher == NULL ||
	    p->half[PACKET_RX].cipher == NULL)
		return 0;
	if (p->pipe == NULL) {
		if ((p->pipe = pipeline_new(wake, p)) == NULL)
			return 0;
		packet_pipe_set_keys(p, PACKET_TX);
		packet_pipe_set_keys(p, PACKET_RX);
	}
	got = pipeline_set_threads(p->pipe, threads);
	log_debug("%zu threads help with %s", got,
	    packet_cipher_name(p, PACKET_TX));
	return got;
}

void
packet_threads_stop(struct packet *p)
{
	if (p->pipe == NULL)
		return;
	(void)pipeline_set_threads(p->pipe, 0);
	packet_tx_collect(p, true);
	/* Opened packets that wait to be taken keep the pipeline. */
	if (pipeline_pending(p->pipe, PIPELINE_OPEN) > 0)
		return;
	pipeline_free(p->pipe);
	p->pipe = NULL;
	free(p->rx_other);
	p->rx_other = NULL;
	p->rx_other_cap = 0;
}

size_t
packet_threads(const struct packet *p)
{
	return p->pipe != NULL ? pipeline_threads(p->pipe) : 0;
}

bool
packet_rx_posted(const struct packet *p)
{
	return p->rx_jobs[0] + p->rx_jobs[1] > 0;
}

void
packet_set_threads(struct packet *p, int max)
{
	p->trial.threads_max = max == PACKET_THREADS_AUTO ?
	    pipeline_threads_auto() :
	    (size_t)max;
}

void
packet_set_notify(struct packet *p, void (*notify)(void *arg), void *arg)
{
	p->notify = notify;
	p->notify_arg = arg;
}

bool
packet_may_wait(struct packet *p, bool reading)
{
	bool tx, rx;

	if (p->pipe == NULL)
		return true;
	tx = p->tx_unsealed > 0;
	rx = reading && pipeline_pending(p->pipe, PIPELINE_OPEN) > 0;
	if (pipeline_threads(p->pipe) == 0)
		return !tx && !rx; /* nobody but us */
	/* What is sealed waits for the socket first; then, rather than sleep,
	 * the loop does what the threads were not told of. */
	if (tx && packet_tx_sealed(p) == 0 &&
	    (pipeline_help(p->pipe, PIPELINE_SEAL) ||
		!pipeline_await(p->pipe, PIPELINE_SEAL)))
		return false;
	return !rx || pipeline_await(p->pipe, PIPELINE_OPEN);
}

/* ---- the decision --------------------------------------------------------- */

static enum packet_verdict
give_up(struct packet_trial *t, uint64_t now_ms)
{
	t->backoff_ms = t->backoff_ms == 0 ?
	    BACKOFF_FIRST_MS :
	    MIN(t->backoff_ms * 2, (uint32_t)BACKOFF_MAX_MS);
	t->retry_ms = now_ms + t->backoff_ms;
	return PACKET_THREADS_STOP;
}

static enum packet_verdict
judge_serial(struct packet_trial *t, const struct packet_window *w,
    double rate)
{
	/* A window is over when enough was moved; a long one says little. */
	if (w->ms > 2 * WINDOW_MS || w->cpu_ms * 100 < w->ms * BUSY_PERCENT ||
	    w->total < FIRST_BYTES || w->now_ms < t->retry_ms)
		return PACKET_THREADS_KEEP;
	t->serial_rate = rate;
	t->windows = t->slow = t->idle = 0;
	return PACKET_THREADS_START;
}

static enum packet_verdict
judge_threads(struct packet_trial *t, const struct packet_window *w,
    double rate)
{
	t->idle = w->bytes < IDLE_BYTES ? t->idle + 1 : 0;
	if (t->idle >= IDLE_MAX)
		return PACKET_THREADS_STOP;
	if (w->bytes < LOOK_BYTES || ++t->windows <= SETTLE_WINDOWS)
		return PACKET_THREADS_KEEP;
	t->slow = rate < t->serial_rate * gain_wanted ? t->slow + 1 : 0;
	/* The first that counts decides; later only a row of them. */
	if (t->slow >= SLOW_MAX ||
	    (t->slow > 0 && t->windows == SETTLE_WINDOWS + 1)) {
		log_debug("threads do not pay: %.0f, without %.0f kB/s", rate,
		    t->serial_rate);
		return give_up(t, w->now_ms);
	}
	if (t->windows == SLOW_MAX)
		t->backoff_ms = 0;
	return PACKET_THREADS_KEEP;
}

enum packet_verdict
packet_trial_judge(struct packet_trial *t, const struct packet_window *w)
{
	double rate = (double)w->bytes / (double)w->ms;

	return w->threads > 0 ? judge_threads(t, w, rate) :
				judge_serial(t, w, rate);
}

static uint64_t
moved(const struct packet *p)
{
	return p->half[PACKET_TX].total.bytes + p->half[PACKET_RX].total.bytes;
}

static uint64_t
thread_cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void
judge(struct packet *p, const struct packet_window *w)
{
	switch (packet_trial_judge(&p->trial, w)) {
	case PACKET_THREADS_START:
		if (packet_threads_start(p, p->trial.threads_max) == 0)
			(void)give_up(&p->trial, w->now_ms);
		break;
	case PACKET_THREADS_STOP:
		packet_threads_stop(p);
		break;
	case PACKET_THREADS_KEEP:
		break;
	}
}

uint32_t
packet_tend(struct packet *p)
{
	struct packet_trial *t = &p->trial;
	struct packet_window w = { .total = moved(p),
		.threads = packet_threads(p) };

	if (p->pipe != NULL && w.threads == 0)
		packet_threads_stop(p); /* a child, or opened ones were left */
	if (t->threads_max == 0 || !p->authenticated)
		return 0;
	w.bytes = w.total - t->start_bytes;
	if (w.threads == 0 && w.bytes < LOOK_BYTES)
		return 0;
	w.now_ms = loop_now_ms();
	w.ms = w.now_ms - t->start_ms;
	if (w.ms >= (w.bytes < LOOK_BYTES ? TEND_MS : WINDOW_MS)) {
		uint64_t cpu_ms = thread_cpu_ms();

		w.cpu_ms = cpu_ms - t->start_cpu_ms;
		judge(p, &w);
		t->start_ms = w.now_ms;
		t->start_cpu_ms = cpu_ms;
		t->start_bytes = w.total;
	}
	return packet_threads(p) > 0 ? TEND_MS : 0;
}
