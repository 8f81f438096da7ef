/* SPDX-License-Identifier: ISC */
#include "channels-recv-window.h"

#include "base/mem.h"
#include "channels.h"

/*
 * A sender whom the window holds back gets a whole window through in a round
 * trip. A sender who gets less than half of it through is held back by
 * something else, and a wider window would only fill buffers. The width follows
 * from the TCP receive buffer, which the kernel enlarges to about twice what
 * arrives in a round trip: a window of that size is wider than TCP's own, even
 * if the peer is told of more only when half of it is used.
 *
 * Exact windows: a path with a full queue holds twice what arrives in a round
 * trip. A sender in slow start will have doubled its rate before it sees this
 * window, so the growth since the last round trip is added. But the sender's
 * backlog must stay below RECV_WINDOW_BACKLOG_MAX, as it moves a larger one in
 * memory again and again.
 */
uint32_t
recv_window_next(uint32_t max, uint64_t per_rtt, uint64_t before,
    const struct recv_path *path)
{
	uint64_t most = MIN(path->rcvbuf, path->limit), useful = 2 * per_rtt;

	if (path->exact) {
		if (before > 0 && per_rtt > before)
			useful += 4 * MIN(per_rtt - before, per_rtt / 2);
		useful = MIN(useful, per_rtt + RECV_WINDOW_BACKLOG_MAX);
		/* A smaller step is not worth a window adjust. */
		if (useful < (uint64_t)max * 9 / 8)
			return max;
		most = MIN(most, useful);
	} else if (useful < max) {
		return max;
	}
	return (uint32_t)MAX((uint64_t)max, most);
}

uint32_t
recv_window_rested(uint32_t max, uint64_t idle_ms)
{
	uint64_t rests = idle_ms / RECV_WINDOW_REST_MS;

	while (rests-- > 0 && max > CHANNEL_WINDOW_DEFAULT)
		max = MAX(max / 2, (uint32_t)CHANNEL_WINDOW_DEFAULT);
	return max;
}

/* A new channel gets what is left of the budget, divided by this. */
static uint32_t
share_for(size_t others)
{
	if (others < CHANNELS_FEW)
		return 2;
	return others < CHANNELS_SOME ? 128 : 1024;
}

uint32_t
recv_window_first(uint32_t wanted, uint64_t offered, size_t others,
    bool fixed)
{
	uint64_t left = offered < CHANNELS_BUDGET ?
	    CHANNELS_BUDGET - offered : 0;
	uint32_t least = others < CHANNELS_MANY ? RECV_WINDOW_LEAST :
						  RECV_WINDOW_LEAST_OF_MANY;

	if (fixed && others < CHANNELS_FEW)
		return wanted;
	return (uint32_t)MIN((uint64_t)wanted,
	    MAX(left / share_for(others), (uint64_t)least));
}

uint64_t
recv_movers_note(struct recv_movers *m, uint64_t period, uint64_t now_ms)
{
	uint64_t passed = now_ms - m->began_ms;

	if (m->period == 0 || passed >= RECV_MOVERS_MS) {
		m->last = passed < 2 * RECV_MOVERS_MS ? m->now : 0;
		m->now = 0;
		m->began_ms = now_ms;
		m->period++;
	}
	if (period != m->period)
		m->now++;
	return m->period;
}

size_t
recv_movers_count(const struct recv_movers *m)
{
	return MAX(MAX(m->now, m->last), (size_t)1);
}

uint32_t
recv_window_share(size_t movers)
{
	return (uint32_t)MAX(CHANNELS_GROW_LIMIT / movers,
	    (size_t)RECV_WINDOW_LEAST_OF_MANY);
}

uint32_t
recv_window_limit(uint64_t offered, size_t movers)
{
	uint64_t left = offered < CHANNELS_GROW_LIMIT ?
	    CHANNELS_GROW_LIMIT - offered : 0;

	return (uint32_t)MIN(left, (uint64_t)recv_window_share(movers));
}

bool
recv_window_is_short(uint64_t offered)
{
	return offered >= CHANNELS_GROW_LIMIT / 16 * 15;
}

uint32_t
recv_window_fair(size_t movers, bool exact)
{
	uint32_t most = exact ?
	    (uint32_t)(RECV_WINDOW_BACKLOG_MAX / movers) :
	    CHANNEL_WINDOW_DEFAULT;

	return MIN(recv_window_share(movers), most);
}

void
recv_window_init(struct recv_window *w, uint32_t bytes)
{
	*w = (struct recv_window){ .max = bytes, .left = bytes };
}

void
recv_window_grant(struct recv_window *w, uint32_t bytes, bool told)
{
	w->max += bytes;
	if (told)
		w->left += bytes;
	else
		w->consumed += bytes;
}

bool
recv_window_receive(struct recv_window *w, uint32_t bytes)
{
	if (bytes > w->left)
		return false;
	w->left -= bytes;
	w->waiting += bytes;
	w->arrived += bytes;
	return true;
}

void
recv_window_consume(struct recv_window *w, uint32_t bytes)
{
	ENSURE(bytes <= w->waiting);
	w->waiting -= bytes;
	w->consumed += bytes;
}

/*
 * An adjust is due only when it gives back a fair part of the window: a peer
 * that is given a few bytes would send packets of a few bytes. All that arrived
 * is consumed sooner or later, so the peer is always given half of the window
 * again.
 */
bool
recv_window_adjust_due(const struct recv_window *w, uint32_t packet)
{
	uint32_t least = MIN(w->max / 2,
	    MAX(3 * MIN(packet, (uint32_t)CHANNEL_PACKET_DEFAULT),
		w->max / 16));

	return w->consumed > 0 && w->consumed >= least;
}

void
recv_window_rest(struct recv_window *w, uint64_t now_ms)
{
	uint32_t rested = w->max;

	if (w->used_ms != 0)
		rested = recv_window_rested(w->max, now_ms - w->used_ms);
	w->used_ms = now_ms;
	if (rested == w->max)
		return;
	w->withheld += w->max - rested;
	w->max = rested;
	w->unproven = rested;
}

void
recv_window_shrink(struct recv_window *w, uint32_t share)
{
	if (w->max / 9 * 8 <= share)
		return;
	w->withheld += w->max - share;
	w->max = share;
	w->unproven = MIN(w->unproven, share);
}

void
recv_window_withhold(struct recv_window *w)
{
	uint32_t kept = MIN(w->consumed, w->withheld);

	w->unproven -= MIN(w->unproven, w->consumed);
	w->withheld -= kept;
	w->consumed -= kept;
}

/* A window that shrank while it was unused grows again only after the peer has
 * used all of it. */
bool
recv_window_may_grow(const struct recv_window *w)
{
	return w->unproven == 0;
}

void
recv_window_grow(struct recv_window *w, const struct recv_path *path,
    uint64_t now_us)
{
	uint64_t elapsed = now_us - w->measured_us, per_rtt = 0;
	uint32_t next = w->max, more, back;

	if (w->measured_us != 0 && path->rtt_us > 0) {
		/* Bytes of less than a round trip are not scaled up. */
		per_rtt = w->arrived * path->rtt_us /
		    MAX(elapsed, path->rtt_us);
		next = recv_window_next(w->max, per_rtt, w->per_rtt, path);
	}
	next = MAX(next, MIN(path->share, path->limit));
	if (elapsed >= MAX(path->rtt_us, (uint64_t)RECV_WINDOW_MEASURE_US)) {
		w->per_rtt = per_rtt;
		w->measured_us = now_us;
		w->arrived = 0;
	}
	more = next - w->max;
	w->max = next;
	/* The peer still has the bytes that were to be withheld, so these
	 * need not be given back. */
	back = MIN(more, w->withheld);
	w->withheld -= back;
	w->consumed += more - back;
}

uint32_t
recv_window_give_back(struct recv_window *w, uint32_t most)
{
	uint32_t bytes = MIN(w->consumed, most);

	w->left += bytes;
	w->consumed -= bytes;
	return bytes;
}
