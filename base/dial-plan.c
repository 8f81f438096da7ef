/* SPDX-License-Identifier: ISC */
#include "base/dial-plan.h"

#include <string.h>

#include "base/mem.h"

void
dial_plan_init(struct dial_plan *p, const struct dial_address *addresses,
    size_t n, const struct dial_times *times, size_t running_max,
    uint64_t now_ms)
{
	ENSURE(n <= DIAL_ADDRESSES_MAX);
	*p = (struct dial_plan){
		.times = *times,
		.begun_ms = now_ms,
		.n = n,
		.running_max = running_max != 0 ? running_max : n,
	};
	for (size_t i = 0; i < n; i++) {
		ENSURE(addresses[i].round < DIAL_ROUNDS_MAX);
		ENSURE(i == 0 || addresses[i].round >= addresses[i - 1].round);
		p->attempts[i].round = addresses[i].round;
	}
}

static bool
time_is_up(const struct dial_plan *p, uint64_t now_ms)
{
	return p->times.timeout_ms != 0 &&
	    now_ms - p->begun_ms >= p->times.timeout_ms;
}

/* The time at which the round's next address is to be tried, if no attempt
 * fails before. */
static uint64_t
due_ms(const struct dial_plan *p, unsigned round)
{
	if (!p->rounds[round].begun)
		return p->begun_ms + (uint64_t)round * p->times.round_ms;
	return p->rounds[round].last_start_ms + p->times.next_ms;
}

static bool
is_due(const struct dial_plan *p, unsigned round, uint64_t now_ms)
{
	return p->running == 0 || p->rounds[round].failed ||
	    due_ms(p, round) <= now_ms;
}

/* The round's first address that was not tried; p->n: all were. */
static size_t
first_waiting(const struct dial_plan *p, unsigned round)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->attempts[i].round == round &&
		    p->attempts[i].state == DIAL_WAITING)
			break;
	return i;
}

static int
start(struct dial_plan *p, size_t which, uint64_t now_ms)
{
	unsigned round = p->attempts[which].round;

	p->attempts[which].state = DIAL_RUNNING;
	p->running++;
	p->rounds[round].begun = true;
	p->rounds[round].failed = false;
	p->rounds[round].last_start_ms = now_ms;
	return (int)which;
}

int
dial_plan_next(struct dial_plan *p, uint64_t now_ms, uint64_t *wait_ms)
{
	*wait_ms = UINT64_MAX;
	if (dial_plan_is_over(p, now_ms))
		return -1;
	if (p->times.timeout_ms != 0)
		*wait_ms = p->begun_ms + p->times.timeout_ms - now_ms;
	if (p->running >= p->running_max)
		return -1;
	for (unsigned round = 0; round < DIAL_ROUNDS_MAX; round++) {
		size_t i = first_waiting(p, round);

		if (i == p->n)
			continue;
		if (is_due(p, round, now_ms))
			return start(p, i, now_ms);
		*wait_ms = MIN(*wait_ms, due_ms(p, round) - now_ms);
	}
	return -1;
}

bool
dial_plan_connected(struct dial_plan *p, size_t which)
{
	ENSURE(p->attempts[which].state == DIAL_RUNNING);
	if (p->has_winner)
		return false;
	p->has_winner = true;
	p->attempts[which].state = DIAL_CONNECTED;
	p->running--;
	return true;
}

void
dial_plan_failed(struct dial_plan *p, size_t which)
{
	ENSURE(p->attempts[which].state == DIAL_RUNNING);
	p->attempts[which].state = DIAL_FAILED;
	p->running--;
	p->rounds[p->attempts[which].round].failed = true;
}

bool
dial_plan_is_over(const struct dial_plan *p, uint64_t now_ms)
{
	if (p->has_winner || time_is_up(p, now_ms))
		return true;
	if (p->running > 0)
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (p->attempts[i].state == DIAL_WAITING)
			return false;
	return true;
}

void
dial_interleave(struct dial_address *addresses, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int before = addresses[i - 1].sa.ss_family;
		struct dial_address other;
		size_t from = i;

		while (from < n && addresses[from].sa.ss_family == before)
			from++;
		if (from == n)
			return;
		other = addresses[from];
		memmove(&addresses[i + 1], &addresses[i],
		    (from - i) * sizeof *addresses);
		addresses[i] = other;
	}
}
