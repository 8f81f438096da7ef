/* SPDX-License-Identifier: ISC */
/*
 * Runs the threads that help a connection: starts them when the CPU time of the
 * loop thread is the limit, keeps them if the connection gets faster, and stops
 * them when it idles.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "packet-internal.h"

enum {
	POLL_MS = 1000, /* time between two checks of threads that may idle */
	KEYSTREAM_MAX = 32, /* most threads of a direction */
};

static void
wake(void *arg)
{
	struct packet *p = arg;

	if (p->threads.notify != NULL)
		p->threads.notify(p->threads.notify_arg);
}

/* ---- the two forms ----------------------------------------------------- */

static void
pipe_set_keys(struct packet *p, enum packet_dir dir)
{
	const struct packet_keys *k = &p->half[dir].keys;

	pipeline_set_keys(p->threads.pipe,
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
	r = cipher_keystream_start(h->cipher, &h->pos, p->threads.keystream);
	if (r != 0)
		log_debug("no threads for keystream: %s", err_text(r));
}

void
packet_threads_set_keys(struct packet *p, enum packet_dir dir)
{
	if (p->threads.pipe != NULL &&
	    !cipher_is_chained(p->half[dir].keys.cipher))
		pipe_set_keys(p, dir);
	if (p->threads.keystream > 0)
		keystream_start(p, dir);
}

bool
packet_threads_can(const struct packet *p, enum packet_dir dir)
{
	const struct packet_half *h = &p->half[dir];

	return h->cipher != NULL && !cipher_is_chained(h->keys.cipher);
}

static bool
ready_for_threads(const struct packet *p)
{
	return p->authenticated && packet_threads_can(p, PACKET_TX) &&
	    packet_threads_can(p, PACKET_RX);
}

static void
keystream_stop(struct packet *p)
{
	for (int dir = 0; p->threads.keystream > 0 && dir < 2; dir++)
		cipher_keystream_stop(p->half[dir].cipher);
	p->threads.keystream = 0;
}

static void
pipe_stop(struct packet *p)
{
	if (p->threads.pipe == NULL)
		return;
	(void)pipeline_set_threads(p->threads.pipe, 0);
	packet_tx_collect(p, true);
	/* The pipeline is freed only when all packets that it has decrypted
	 * are taken. */
	if (pipeline_pending(p->threads.pipe, PIPELINE_DECRYPT) > 0)
		return;
	pipeline_free(p->threads.pipe);
	p->threads.pipe = NULL;
	free(p->rx.other);
	p->rx.other = NULL;
	p->rx.other_cap = 0;
}

size_t
packet_threads_start(struct packet *p, size_t threads)
{
	size_t got;

	if (!ready_for_threads(p))
		return 0;
	keystream_stop(p);
	if (p->threads.pipe == NULL) {
		if ((p->threads.pipe = pipeline_new(wake, p)) == NULL)
			return 0;
		pipe_set_keys(p, PACKET_TX);
		pipe_set_keys(p, PACKET_RX);
	}
	got = pipeline_set_threads(p->threads.pipe, threads);
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
	p->threads.keystream = threads;
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
	const struct pipeline *pipe = p->threads.pipe;
	size_t n = pipe != NULL ? pipeline_threads(pipe) : 0;

	for (int dir = 0; p->threads.keystream > 0 && dir < 2; dir++)
		n += cipher_keystream_threads(p->half[dir].cipher);
	return n;
}

bool
packet_rx_posted(const struct packet *p)
{
	return p->rx.jobs[0] + p->rx.jobs[1] > 0;
}

void
packet_set_threads(struct packet *p, int max)
{
	p->threads.trial.threads_max = max == PACKET_THREADS_AUTO ?
	    pipeline_threads_auto() :
	    (size_t)max;
}

void
packet_set_form(struct packet *p, enum packet_form form, bool deny_keystream)
{
	p->threads.trial.form = form;
	p->threads.trial.keystream_denied = deny_keystream;
}

void
packet_set_notify(struct packet *p, void (*notify)(void *arg), void *arg)
{
	p->threads.notify = notify;
	p->threads.notify_arg = arg;
}

bool
packet_prepare_wait(struct packet *p, bool reading)
{
	bool tx, rx;

	if (p->threads.pipe == NULL)
		return true;
	tx = p->tx.unencrypted > 0;
	rx = reading && pipeline_pending(p->threads.pipe, PIPELINE_DECRYPT) > 0;
	if (pipeline_threads(p->threads.pipe) == 0)
		return !tx && !rx; /* the loop must do the jobs itself */
	/* If encrypted bytes wait for the socket, the socket wakes the loop. If
	 * none do, the loop does a job itself instead of sleeping. */
	if (tx && packet_tx_ready(p) == 0 &&
	    (pipeline_help(p->threads.pipe, PIPELINE_ENCRYPT) ||
		!pipeline_arm_wake(p->threads.pipe, PIPELINE_ENCRYPT)))
		return false;
	return !rx || pipeline_arm_wake(p->threads.pipe, PIPELINE_DECRYPT);
}

/* ---- the decision ------------------------------------------------------ */

static uint64_t
moved(const struct packet *p)
{
	return p->half[PACKET_TX].total.bytes + p->half[PACKET_RX].total.bytes;
}

/* Keystream of this connection can be precomputed. */
static bool
keystream_can(const struct packet *p)
{
	return !p->threads.trial.keystream_denied &&
	    (cipher_keystream_can(p->half[PACKET_TX].keys.cipher) ||
		cipher_keystream_can(p->half[PACKET_RX].keys.cipher));
}

static size_t
start_form(struct packet *p, enum packet_form form)
{
	const char *env = getenv("SSH_CIPHER_THREADS");
	size_t threads = p->threads.trial.threads_max;

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
	packet_trial_give_up(&p->threads.trial, now_ms);
}

static void
judge(struct packet *p, const struct packet_window *w)
{
	struct packet_trial *t = &p->threads.trial;

	switch (packet_trial_judge(t, w)) {
	case PACKET_THREADS_START:
		t->has_second = keystream_can(p) &&
		    (cipher_keystream_measure(p->half[PACKET_TX].cipher) ||
			cipher_keystream_measure(p->half[PACKET_RX].cipher));
		start_or_give_up(p, PACKET_FORM_PIPELINE, w->now_ms);
		break;
	case PACKET_THREADS_OTHER:
		start_or_give_up(p,
		    t->phase == PACKET_TRY_KEYSTREAM ? PACKET_FORM_KEYSTREAM :
						       PACKET_FORM_PIPELINE,
		    w->now_ms);
		break;
	case PACKET_THREADS_STOP:
		packet_threads_stop(p);
		break;
	case PACKET_THREADS_KEEP:
		break;
	}
}

/* The user has named a form (CipherForm) that the cipher has: no trial. */
static bool
form_is_given(const struct packet *p)
{
	enum packet_form form = p->threads.trial.form;

	return form != PACKET_FORM_AUTO &&
	    (form != PACKET_FORM_KEYSTREAM || keystream_can(p));
}

static void
start_given_form(struct packet *p)
{
	enum packet_form form = p->threads.trial.form;
	uint64_t now_ms = clock_ms();

	if (form != PACKET_FORM_SERIAL && packet_threads(p) == 0 &&
	    now_ms >= p->threads.trial.retry_ms)
		start_or_give_up(p, form, now_ms);
}

static void
judge_window(struct packet *p, struct packet_window *w)
{
	struct packet_trial *t = &p->threads.trial;
	bool hardly_used = w->bytes < PACKET_WINDOW_BYTES;
	uint64_t cpu_ms;

	w->now_ms = clock_ms();
	w->ms = w->now_ms - t->start_ms;
	if (w->ms < PACKET_WINDOW_MS || (hardly_used && w->ms < POLL_MS))
		return;
	cpu_ms = clock_thread_us() / 1000;
	w->cpu_ms = cpu_ms - t->start_cpu_ms;
	judge(p, w);
	t->start_ms = w->now_ms;
	t->start_cpu_ms = cpu_ms;
	t->start_bytes = w->total;
}

uint32_t
packet_poll(struct packet *p)
{
	struct packet_trial *t = &p->threads.trial;
	struct packet_window w = { .total = moved(p),
		.threads = packet_threads(p) };

	/* There may be a pipeline or a keystream without threads: after a
	 * fork(2), if they were stopped while decrypted packets were left, or
	 * if the new cipher has no keystream. */
	if (p->threads.pipe != NULL && pipeline_threads(p->threads.pipe) == 0)
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
	if (w.threads > 0 || w.bytes >= PACKET_WINDOW_BYTES)
		judge_window(p, &w);
	return packet_threads(p) > 0 ? POLL_MS : 0;
}
