/* SPDX-License-Identifier: ISC */
#include "channels-timeout.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"

/* LOOK_MS: time between two looks at all channels. */
enum { LOOK_MS = 200 };

/* Channel types whose kind has another name for users, on the client and, if
 * server_kind is not NULL, on the server; and whether their packets are
 * interactive. */
static const struct {
	const char *type, *kind, *server_kind;
	bool interactive;
} named[] = {
	{ "auth-agent@openssh.com", "agent-connection", NULL, true },
	{ "agent-connect", "agent-connection", NULL, true },
	{ "x11", "x11-connection", NULL, true },
	{ "tun@openssh.com", "tun-connection", "tun", false },
};

static size_t
find_named(const char *type)
{
	size_t i = 0;

	while (i < ARRAY_LEN(named) && strcmp(named[i].type, type) != 0)
		i++;
	return i;
}

static const char *
kind_of(const struct channel *c)
{
	size_t i = find_named(c->type);

	if (i == ARRAY_LEN(named))
		return c->type;
	if (named[i].server_kind != NULL &&
	    packet_is_server(c->chs->packet))
		return named[i].server_kind;
	return named[i].kind;
}

static bool
is_session(const struct channel *c)
{
	return strcmp(c->type, "session") == 0;
}

/* ---- timeouts ----------------------------------------------------------- */

static void
arm(struct channels *chs, uint64_t due_ms)
{
	struct channels_clock *k = &chs->clock;
	uint64_t now = clock_ms();

	if (k->timer != NULL && k->due_ms <= due_ms)
		return;
	loop_cancel(chs->loop, k->timer);
	k->due_ms = due_ms;
	k->timer = loop_after(chs->loop, due_ms > now ? due_ms - now : 0,
	    channels_look_at_clocks, chs);
}

static void
expire(struct channel *c, uint32_t after_s)
{
	log_verbose("channel %u: closing after %u seconds of inactivity",
	    c->id, after_s);
	c->clock.expired = true;
	/* The sinks are dropped: CLOSE would wait for ever if one of them
	 * takes nothing. */
	c->io = NULL;
	channel_set_fds(c, -1, -1, -1, -1);
	channel_hold_close(c, false);
	channel_close(c, false);
	if (c->ops->timed_out != NULL)
		c->ops->timed_out(c->arg, c);
}

/* The time at which c's timeout ends; 0: c has none. */
static uint64_t
due_of(const struct channel *c)
{
	if (c->state != CHANNEL_OPEN || c->clock.expired ||
	    c->clock.timeout_s == 0)
		return 0;
	return c->clock.used_ms + (uint64_t)c->clock.timeout_s * 1000;
}

static void
expire_all(struct channels *chs)
{
	for (size_t i = 0; i < chs->n; i++) {
		struct channel *c = chs->v[i];

		if (c != NULL && c->state == CHANNEL_OPEN && !c->clock.expired)
			expire(c, 0);
	}
}

/* Closes the channels whose timeout is over. Returns when the next timeout
 * ends. */
static uint64_t
expire_due(struct channels *chs, uint64_t now)
{
	uint64_t next = UINT64_MAX, due;

	for (size_t i = 0; i < chs->n; i++) {
		struct channel *c = chs->v[i];

		if (c == NULL || (due = due_of(c)) == 0)
			continue;
		if (due > now)
			next = MIN(next, due);
		else
			expire(c, c->clock.timeout_s);
	}
	return next;
}

void
channels_look_at_clocks(void *arg)
{
	struct channels *chs = arg;
	struct channels_clock *k = &chs->clock;
	uint64_t now = clock_ms(), next, due;

	k->timer = NULL;
	/* Channels that moved data after the last turn count as used. */
	for (struct channel *c = chs->active.first; c != NULL;
	    c = c->next_active)
		channel_note_use(c, now);
	next = expire_due(chs, now);
	if (k->timeouts.global_s != 0 && chs->count > 0) {
		due = k->used_ms + (uint64_t)k->timeouts.global_s * 1000;
		if (due <= now)
			expire_all(chs);
		else
			next = MIN(next, due);
	}
	if (next != UINT64_MAX)
		arm(chs, MAX(next, now + LOOK_MS));
}

void
channels_set_timeouts(struct channels *chs, const struct channels_timeouts *t)
{
	ENSURE(chs->count == 0);
	chs->clock.timeouts = *t;
}

static void
set_timeout(struct channel *c, const char *kind)
{
	const struct channels_timeouts *t = &c->chs->clock.timeouts;

	c->clock.timeout_s = t->seconds != NULL ? t->seconds(t->arg, kind) : 0;
	c->clock.used = true;
	channel_touch(c);
}

void
channel_set_kind(struct channel *c, const char *kind)
{
	c->clock.carries = c->clock.named = true;
	set_timeout(c, kind);
}

void
channel_start_clock(struct channel *c)
{
	c->clock.used = true;
	channel_touch(c);
	if (c->clock.named)
		return;
	if (!is_session(c))
		c->clock.carries = true;
	set_timeout(c, kind_of(c));
}

void
channel_note_use(struct channel *c, uint64_t now_ms)
{
	struct channels_clock *k = &c->chs->clock;
	uint64_t due;

	if (!c->clock.used)
		return;
	c->clock.used = false;
	c->clock.used_ms = k->used_ms = now_ms;
	if (k->timer != NULL)
		return; /* the timer looks at all channels when it fires */
	if ((due = due_of(c)) != 0)
		arm(c->chs, due);
	if (k->timeouts.global_s != 0)
		arm(c->chs, now_ms + (uint64_t)k->timeouts.global_s * 1000);
}

void
channels_stop_clock(struct channels *chs)
{
	loop_cancel(chs->loop, chs->clock.timer);
	chs->clock.timer = NULL;
}

/* ---- use ---------------------------------------------------------------- */

static void
count_use(struct channels *chs, struct channels_use u, int by)
{
	chs->clock.carrying += (size_t)(u.any ? by : 0);
	chs->clock.interactive += (size_t)(u.interactive ? by : 0);
	chs->clock.terminals += (size_t)(u.terminal ? by : 0);
}

void
channel_count_use(struct channel *c)
{
	size_t i = find_named(c->type);
	bool any = c->state == CHANNEL_OPEN && c->clock.carries;
	bool quick = c->interactive ||
	    (i < ARRAY_LEN(named) && named[i].interactive);

	count_use(c->chs, c->clock.counted, -1);
	c->clock.counted = (struct channels_use){ any, any && quick,
		any && c->interactive };
	count_use(c->chs, c->clock.counted, 1);
}

void
channel_forget_use(struct channel *c)
{
	count_use(c->chs, c->clock.counted, -1);
	c->clock.counted = (struct channels_use){ false, false, false };
}

struct channels_use
channels_use(const struct channels *chs)
{
	const struct channels_clock *k = &chs->clock;

	return (struct channels_use){ k->carrying > 0, k->interactive > 0,
		k->terminals > 0 };
}

void
channel_count_sent(struct channel *c, size_t bytes)
{
	struct channels_sent *s = &c->chs->clock.sent;

	if (c->interactive)
		s->terminal += bytes;
	else
		s->other += bytes;
}

struct channels_sent
channels_sent(const struct channels *chs)
{
	return chs->clock.sent;
}

void
channels_tell_use(struct channels *chs)
{
	struct channels_clock *k = &chs->clock;
	struct channels_use now = channels_use(chs);

	if (now.any == k->told.any &&
	    now.interactive == k->told.interactive &&
	    now.terminal == k->told.terminal)
		return;
	k->told = now;
	if (k->use != NULL)
		k->use(k->use_arg, now);
}

void
channels_on_use(struct channels *chs, channels_use_fn fn, void *arg)
{
	chs->clock.use = fn;
	chs->clock.use_arg = arg;
	if (fn != NULL)
		fn(arg, chs->clock.told);
}
