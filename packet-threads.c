/* SPDX-License-Identifier: ISC */
/*
 * Whether threads help a connection, and how: started when its loop thread is
 * seen to be the limit, kept if that pays, stopped when it idles.
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
	KEYSTREAM_MAX = 32, /* threads of a direction */
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

/* ---- the two forms -------------------------------------------------------- */

static void
pipe_set_keys(struct packet *p, enum packet_dir dir)
{
	const struct packet_keys *k = &p->half[dir].keys;

	pipeline_set_keys(p->pipe,
	    dir == PACKET_TX ? PIPELINE_ENCRYPT : PIPELINE_DECRYPT, k->cipher,
	    k->mac, k->key, k->iv, k->mac_key);
}

static void
keystream_start(struct packet *p, enum packet_dir dir)
{
	struct packet_half *h = &p->half[dir];
	int r;

	if (!cipher_keystream_can(h->keys.cipher))
		return;
	if ((r = cipher_keystream_start(h->cipher, &h->pos, p->keystream_threads)) != 0)
		log_debug("no threads for keystream: %s", err_text(r));
}

void
packet_threads_set_keys(struct packet *p, enum packet_dir dir)
{
	if (p->pipe != NULL)
		pipe_set_keys(p, dir);
	if (p->keystream_threads > 0)
		keystream_start(p, dir);
}

static bool
ready_for_threads(const struct packet *p)
{
	return p->authenticated && p->half[PACKET_TX].cipher != NULL &&
	    p->half[PACKET_RX].cipher != NULL;
}

static void
keystream_stop(struct packet *p)
{
	for (int dir = 0; p->keystream_threads > 0 && dir < 2; dir++)
		cipher_keystream_stop(p->half[dir].cipher);
	p->keystream_threads = 0;
}

static void
pipe_stop(struct packet *p)
{
	if (p->pipe == NULL)
		return;
	(void)pipeline_set_threads(p->pipe, 0);
	packet_tx_collect(p, true);
	/* Opened packets that wait to be taken keep the pipeline. */
	if (pipeline_pending(p->pipe, PIPELINE_DECRYPT) > 0)
		return;
	pipeline_free(p->pipe);
	p->pipe = NULL;
	free(p->rx_other);
	p->rx_other = NULL;
	p->rx_other_cap = 0;
}

size_t
packet_threads_start(struct packet *p, size_t threads)
{
	size_t got;

	if (!ready_for_threads(p))
		return 0;
	keystream_stop(p);
	if (p->pipe == NULL) {
		if ((p->pipe = pipeline_new(wake, p)) == NULL)
			return 0;
		pipe_set_keys(p, PACKET_TX);
		pipe_set_keys(p, PACKET_RX);
	}
	got = pipeline_set_threads(p->pipe, threads);
	log_debug("%zu threads help with %s", got,
	    packet_cipher_name(p, PACKET_TX));
	return got;
}

size_t
packet_keystream_start(struct packet *p, size_t threads)
{
	size_t got;

	if (!ready_for_threads(p))
		return 0;
	pipe_stop(p);
	p->keystream_threads = threads;
	keystream_start(p, PACKET_TX);
	keystream_start(p, PACKET_RX);
	got = packet_threads(p);
	log_debug("%zu threads make keystream for %s", got,
	    packet_cipher_name(p, PACKET_TX));
	return got;
}

void
packet_threads_stop(struct packet *p)
{
	pipe_stop(p);
	keystream_stop(p);
}

size_t
packet_threads(const struct packet *p)
{
	size_t n = p->pipe != NULL ? pipeline_threads(p->pipe) : 0;

	for (int dir = 0; p->keystream_threads > 0 && dir < 2; dir++)
		n += cipher_keystream_threads(p->half[dir].cipher);
	return n;
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
packet_set_form(struct packet *p, enum packet_form form, bool deny_keystream)
{
	p->trial.form = form;
	p->trial.keystream_denied = deny_keystream;
}

void
packet_set_notify(struct packet *p, void (*notify)(void *arg), void *arg)
{
	p->notify = notify;
	p->notify_arg = arg;
}

bool
packet_prepare_wait(struct packet *p, bool reading)
{
	bool tx, rx;

	if (p->pipe == NULL)
		return true;
	tx = p->tx_unencrypted > 0;
	rx = reading && pipeline_pending(p->pipe, PIPELINE_DECRYPT) > 0;
	if (pipeline_threads(p->pipe) == 0)
		return !tx && !rx; /* nobody but us */
	/* What is sealed waits for the socket first; then, rather than sleep,
	 * the loop does what the threads were not told of. */
	if (tx && packet_tx_ready(p) == 0 &&
	    (pipeline_help(p->pipe, PIPELINE_ENCRYPT) ||
		!pipeline_arm_wake(p->pipe, PIPELINE_ENCRYPT)))
		return false;
	return !rx || pipeline_arm_wake(p->pipe, PIPELINE_DECRYPT);
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
	t->phase = PACKET_TRY_FIRST;
	return PACKET_THREADS_START;
}

/* A form was measured: is there another one to measure, or a faster one to
 * go back to? */
static bool
try_other(struct packet_trial *t, double rate)
{
	enum packet_phase was = t->phase;
	bool other = was == PACKET_TRY_FIRST ? t->second :
	    was == PACKET_TRY_SECOND && rate < t->first_rate;

	if (was == PACKET_TRY_FIRST)
		t->first_rate = rate;
	t->phase = other && was == PACKET_TRY_FIRST ? PACKET_TRY_SECOND :
						      PACKET_TRIED;
	if (other)
		t->windows = 0;
	return other;
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
	if (try_other(t, rate))
		return PACKET_THREADS_OTHER;
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

/* May keystream be made ahead for this connection? */
static bool
keystream_can(const struct packet *p)
{
	return !p->trial.keystream_denied &&
	    (cipher_keystream_can(p->half[PACKET_TX].keys.cipher) ||
		cipher_keystream_can(p->half[PACKET_RX].keys.cipher));
}

static size_t
start_form(struct packet *p, enum packet_form form)
{
	const char *env = getenv("SSH_CIPHER_THREADS");
	size_t threads = p->trial.threads_max;

	if (form != PACKET_FORM_KEYSTREAM)
		return packet_threads_start(p, threads);
	if (env != NULL && env[0] != '\0')
		threads = (size_t)MIN(MAX(strtol(env, NULL, 10), 1),
		    (long)KEYSTREAM_MAX);
	return packet_keystream_start(p, threads);
}

static void
start_or_give_up(struct packet *p, enum packet_form form, uint64_t now_ms)
{
	if (start_form(p, form) > 0)
		return;
	packet_threads_stop(p);
	(void)give_up(&p->trial, now_ms);
}

static void
judge(struct packet *p, const struct packet_window *w)
{
	struct packet_trial *t = &p->trial;

	switch (packet_trial_judge(t, w)) {
	case PACKET_THREADS_START:
		t->second = keystream_can(p) &&
		    (cipher_keystream_measure(p->half[PACKET_TX].cipher) ||
			cipher_keystream_measure(p->half[PACKET_RX].cipher));
		start_or_give_up(p, PACKET_FORM_PIPELINE, w->now_ms);
		break;
	case PACKET_THREADS_OTHER:
		start_or_give_up(p,
		    p->keystream_threads > 0 ? PACKET_FORM_PIPELINE :
				   PACKET_FORM_KEYSTREAM,
		    w->now_ms);
		break;
	case PACKET_THREADS_STOP:
		packet_threads_stop(p);
		break;
	case PACKET_THREADS_KEEP:
		break;
	}
}

/* A form that was asked for needs no trial. */
static bool
form_is_given(const struct packet *p)
{
	enum packet_form form = p->trial.form;

	return form != PACKET_FORM_AUTO &&
	    (form != PACKET_FORM_KEYSTREAM || keystream_can(p));
}

static void
start_given_form(struct packet *p)
{
	enum packet_form form = p->trial.form;
	uint64_t now_ms = loop_now_ms();

	if (form != PACKET_FORM_SERIAL && packet_threads(p) == 0 &&
	    now_ms >= p->trial.retry_ms)
		start_or_give_up(p, form, now_ms);
}

static void
judge_window(struct packet *p, struct packet_window *w)
{
	struct packet_trial *t = &p->trial;
	uint64_t cpu_ms;

	w->now_ms = loop_now_ms();
	w->ms = w->now_ms - t->start_ms;
	if (w->ms < (w->bytes < LOOK_BYTES ? TEND_MS : WINDOW_MS))
		return;
	cpu_ms = thread_cpu_ms();
	w->cpu_ms = cpu_ms - t->start_cpu_ms;
	judge(p, w);
	t->start_ms = w->now_ms;
	t->start_cpu_ms = cpu_ms;
	t->start_bytes = w->total;
}

uint32_t
packet_poll(struct packet *p)
{
	struct packet_trial *t = &p->trial;
	struct packet_window w = { .total = moved(p),
		.threads = packet_threads(p) };

	/* A child, opened ones were left, or a cipher without keystream. */
	if (p->pipe != NULL && pipeline_threads(p->pipe) == 0)
		pipe_stop(p);
	if (w.threads == 0)
		keystream_stop(p);
	if (t->threads_max == 0 || !ready_for_threads(p))
		return 0;
	if (form_is_given(p)) {
		start_given_form(p);
		return 0;
	}
	w.bytes = w.total - t->start_bytes;
	if (w.threads > 0 || w.bytes >= LOOK_BYTES)
		judge_window(p, &w);
	return packet_threads(p) > 0 ? TEND_MS : 0;
}
