/* SPDX-License-Identifier: ISC */
/* Locking and unlocking the agent. A wrong passphrase is answered only after a
 * delay, which grows with each wrong one. The tries of all clients together
 * take turns with a pause in between, so a client with many connections cannot
 * guess faster, and does not keep the agent busy. */
#include "agent/agent-internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { DELAY_MS = 100, DELAY_MAX_MS = 10 * 1000, GAP_MS = 100 };

enum outcome
request_lock(struct request *q)
{
	struct span passphrase = rd_string(&q->body);
	int r = rd_end(&q->body);

	if (r == 0)
		r = shield_lock(q->a->shield, passphrase);
	if (r != 0)
		return request_fail(q);
	log_debug("locked");
	q->a->wrong = 0;
	agentd_stop_tokens(q->a);
	return request_succeed(q);
}

static void
on_turn_to_try(void *arg)
{
	struct client *c = arg;

	c->waiting.timer = NULL;
	c->may_try = true;
	client_again(c);
}

static void
on_delay_over(void *arg)
{
	struct client *c = arg;

	c->waiting.timer = NULL;
	client_fail(c);
}

static enum outcome
wait_for(struct request *q, uint64_t delay_ms, loop_fn fn)
{
	q->c->waiting.timer = loop_after(q->a->loop, delay_ms, fn, q->c);
	return q->c->waiting.timer != NULL ? WAITS : request_fail(q);
}

/* Reserves the next turn to try a passphrase. Returns the milliseconds until
 * it. */
static uint64_t
take_turn(struct agentd *a)
{
	uint64_t now = clock_ms(), turn = MAX(now, a->next_try_ms);

	a->next_try_ms = turn + (a->wrong > 0 ? GAP_MS : 0);
	return turn - now;
}

enum outcome
request_unlock(struct request *q)
{
	struct span passphrase = rd_string(&q->body);
	struct agentd *a = q->a;
	uint64_t delay_ms;
	int r;

	if (rd_end(&q->body) != 0 || !shield_is_locked(a->shield))
		return request_fail(q);
	if (!q->c->may_try && (delay_ms = take_turn(a)) > 0)
		return wait_for(q, delay_ms, on_turn_to_try);
	q->c->may_try = false;
	r = shield_unlock(a->shield, passphrase);
	if (r == 0) {
		log_debug("unlocked");
		a->wrong = 0;
		a->next_try_ms = 0;
		return request_succeed(q);
	}
	if (a->wrong < DELAY_MAX_MS / DELAY_MS)
		a->wrong++;
	a->next_try_ms = MAX(a->next_try_ms, clock_ms() + GAP_MS);
	return wait_for(q, (uint64_t)a->wrong * DELAY_MS, on_delay_over);
}
