/* SPDX-License-Identifier: ISC */
/*
 * Divides rates among the connections in the file of counters. Each monitor
 * writes what its connection wants, and from time to time one of them computes
 * the shares of all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/events/counters-internal.h"
#include "server/events/shares.h"

enum {
	DIVIDE_MS = 50, /* how often shares are divided */
	/* A connection that has told no wants for so long has no share:
	 * connections that move data tell them every 100 ms. */
	SILENT_MS = 500,
};

void
counters_set_limits(struct counters *c, const struct counters_limits *limits)
{
	c->mine.limits = *limits;
}

static bool
counts(const struct counters_slot *s, uint64_t now)
{
	return s->pid != 0 && s->wanted_ms != 0 && s->wanted_ms <= now &&
	    now - s->wanted_ms < SILENT_MS;
}

/* Divides the capacity of one direction among the connections that have told
 * their wants. */
static void
divide(struct counters_slot *s, size_t n, int way, uint64_t capacity,
    uint64_t now)
{
	struct share *v = xcalloc(n + 1, sizeof *v);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (counts(&s[i], now))
			v[k++] = (struct share){ .want = s[i].want[way],
				.user = s[i].uid,
				.user_max = s[i].limits.user_max,
				.group = s[i].limits.group,
				.group_max = s[i].limits.group_max };
	shares_spread(v, k, capacity);
	k = 0;
	for (size_t i = 0; i < n; i++)
		if (counts(&s[i], now))
			s[i].got[way] = v[k++].got;
	free(v);
}

static int
divide_all(struct counters *c, uint64_t capacity, uint64_t now)
{
	struct counters_slot *s = counters_get_slots(c);
	int r;

	for (int way = 0; way < 2; way++)
		divide(s, (size_t)c->head.used, way, capacity, now);
	c->head.shared_ms = now;
	if ((r = counters_put_slots(c, s)) == 0)
		r = counters_put_head(c);
	if (c->at >= 0)
		memcpy(c->mine.got, s[c->at].got, sizeof c->mine.got);
	free(s);
	return r;
}

int
counters_share(struct counters *c, const uint64_t want[2], uint64_t capacity,
    bool at_once, uint64_t got[2])
{
	uint64_t now;
	int r = counters_lock_often(c);

	if (r != 0)
		return r;
	now = clock_ms();
	c->mine.wanted_ms = MAX(now, (uint64_t)1);
	memcpy(c->mine.want, want, sizeof c->mine.want);
	r = counters_put_mine(c);
	/* A time in the future was written before the machine last started. */
	if (r == 0 &&
	    (at_once || c->head.shared_ms > now ||
		now - c->head.shared_ms >= DIVIDE_MS))
		r = divide_all(c, capacity, now);
	counters_unlock(c);
	memcpy(got, c->mine.got, sizeof c->mine.got);
	return r == 0 && c->at < 0 ? ERR_LIMIT : r;
}
