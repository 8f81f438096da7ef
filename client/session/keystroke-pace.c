/* SPDX-License-Identifier: ISC */
#include "client/session/keystroke-pace.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "channels-timeout.h"
#include "client/session/keystrokes.h"
#include "crypto/rand.h"

struct keystroke_pace {
	struct keystroke_pace_params p;
	struct keystrokes k;
	struct channels_sent sent; /* what the channels had sent at the last
				    * turn */
	struct loop_timer *timer;
	uint64_t due_us; /* clock_us() at which timer fires */
};

/* The timer has woken the loop, whose turn then calls may_write() again;
 * nothing else is to be done. */
static void
on_tick(void *arg)
{
	struct keystroke_pace *kp = arg;

	kp->timer = NULL;
}

static void
arm(struct keystroke_pace *kp, uint64_t now_us, uint64_t wait_us)
{
	if (wait_us == 0 ||
	    (kp->timer != NULL && kp->due_us == now_us + wait_us))
		return;
	loop_cancel(kp->p.loop, kp->timer);
	kp->due_us = now_us + wait_us;
	kp->timer = loop_after(kp->p.loop, (wait_us + 999) / 1000, on_tick,
	    kp);
}

static int
send_chaff(struct keystroke_pace *kp)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_PING);
	buf_put_cstring(&b, "PING!");
	r = packet_put(kp->p.packet, &b);
	buf_clear(&b);
	return r;
}

static void
log_change(bool was_active, const struct keystrokes *k)
{
	if (!was_active && k->active)
		log_debug("obscuring keystroke timing, every %llu ms",
		    (unsigned long long)k->interval_us / 1000);
	else if (was_active && !k->active)
		log_debug("keystroke timing is not obscured any more: %s",
		    k->ended);
}

static int
may_write(void *arg, bool *write)
{
	struct keystroke_pace *kp = arg;
	struct channels_sent sent = channels_sent(kp->p.channels);
	bool was_active = kp->k.active;
	struct keystrokes_now now = { .us = clock_us(),
		.terminal = channels_use(kp->p.channels).terminal,
		.rekeying = kex_running(kp->p.kex),
		.typed = sent.terminal != kp->sent.terminal,
		.other = sent.other != kp->sent.other,
		.pending = packet_tx_pending(kp->p.packet),
		.chaff = kex_peer_pings(kp->p.kex) };
	enum keystrokes_verdict verdict;
	uint64_t wait_us;

	if (now.terminal)
		now.random = rand_uniform(UINT32_MAX);
	kp->sent = sent;
	verdict = keystrokes_decide(&kp->k, &now, &wait_us);
	log_change(was_active, &kp->k);
	arm(kp, now.us, wait_us);
	*write = verdict != KEYSTROKES_HOLD;
	return verdict == KEYSTROKES_CHAFF ? send_chaff(kp) : 0;
}

int
keystroke_pace_new(struct keystroke_pace **out,
    const struct keystroke_pace_params *params)
{
	struct keystroke_pace *kp = calloc(1, sizeof *kp);

	if (kp == NULL)
		return ERR_NOMEM;
	kp->p = *params;
	keystrokes_init(&kp->k, params->interval_ms);
	connection_set_pace(params->connection, may_write, kp);
	*out = kp;
	return 0;
}

void
keystroke_pace_free(struct keystroke_pace *kp)
{
	if (kp == NULL)
		return;
	connection_set_pace(kp->p.connection, NULL, NULL);
	loop_cancel(kp->p.loop, kp->timer);
	free(kp);
}
