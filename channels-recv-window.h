/* SPDX-License-Identifier: ISC */
/*
 * The window that we offer on a channel (RFC 4254 section 5.2), and how it
 * follows the path. Pure: no clock and no socket; the caller brings the time
 * and what the kernel tells of the path.
 *
 * Each byte of a window is in one of three states:
 *
 *	left		the peer may still send it
 *	waiting		it arrived, and the sink has not taken it yet
 *	consumed	the sink took it, and the peer has not been told yet
 *
 * What the peer was offered cannot be taken back. A window becomes smaller by
 * keeping what is consumed instead of giving it back; as long as the peer
 * still has some of that, it counts as withheld. So at any time
 *
 *	left + waiting + consumed == max + withheld
 *
 * and the right side is what the peer can make us keep in memory.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_RECV_WINDOW_H
#define HPN_CHANNELS_RECV_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The budget of a connection: the sum of what all its channels offer is what
 * sinks that stop can make us keep. Windows grow to less, 10 Gbit/s over
 * 50 ms, so that something is left for a channel that is opened later. The
 * first ones get what they want, up to half of what is left; further ones so
 * little of it that a thousand which idle leave enough for one that is busy to
 * grow. Those that move data get equal shares soon: smaller windows grow to
 * one, and when the budget is short larger ones shrink to one. Outside of the
 * budget each has a little in any case, and beyond a thousand channels less of
 * it.
 *
 * What OpenSSH's sender cannot send yet it keeps in one buffer of 16 MiB at
 * most. It moves the content to the front when half of that was sent, but
 * with each read when the buffer is full: a backlog of more than 8 MiB costs
 * it dearly (10 s of CPU per GB; it stalls), and one of 2 MiB next to nothing.
 */
#define CHANNELS_BUDGET ((uint32_t)64 * 1024 * 1024)
#define CHANNELS_GROW_LIMIT ((uint32_t)60 * 1024 * 1024)
#define RECV_WINDOW_LEAST ((uint32_t)16 * 1024)
#define RECV_WINDOW_LEAST_OF_MANY ((uint32_t)4 * 1024)
#define RECV_WINDOW_BACKLOG_MAX ((uint32_t)8 * 1024 * 1024)

enum {
	CHANNELS_FEW = 8,     /* such numbers of channels: see above */
	CHANNELS_SOME = 64,
	CHANNELS_MANY = 1024,
	RECV_WINDOW_MEASURE_US = 1000, /* least time to measure a rate over */
	RECV_WINDOW_REST_MS = 10 * 1000, /* unused so long, it halves */
	RECV_MOVERS_MS = 1000, /* who moved nothing for longer does not count */
};

struct recv_window {
	uint32_t max; /* bytes that we offer */
	uint32_t left, waiting, consumed; /* bytes, see above */
	uint32_t withheld; /* bytes that will not be given back */
	uint32_t unproven; /* bytes to be used before it may grow again */
	uint64_t arrived;  /* bytes since measured_us */
	uint64_t measured_us; /* 0: not measured yet */
	uint64_t per_rtt;  /* bytes that arrived in the last round trip */
	uint64_t used_ms;  /* time of the last adjust; 0: none yet */
};

/* The facts that are known of the path when an adjust is due. */
struct recv_path {
	uint64_t rtt_us; /* round trip time; 0: not known */
	uint32_t rcvbuf; /* bytes of the connection's TCP receive buffer */
	uint32_t limit;	 /* bytes that this window may grow to */
	uint32_t share;	 /* it gets these without proof, within the limit */
	bool exact;	 /* see channels_set_exact_windows() */
};

/* Which channels moved data of late: their number is what the budget is
 * divided by. Channels that idle do not count. */
struct recv_movers {
	uint64_t period; /* number of the current one; the first is 1 */
	uint64_t began_ms;
	size_t now, last; /* that moved in this period, and the one before */
};

/* A channel moves data that moved last in this period (0: never): which it is
 * now. */
uint64_t recv_movers_note(struct recv_movers *m, uint64_t period,
    uint64_t now_ms);
size_t recv_movers_count(const struct recv_movers *m);

/* The first offer, of so many bytes. */
void recv_window_init(struct recv_window *w, uint32_t bytes);
/* So much more; if the peer was not told, the next adjust tells it. */
void recv_window_grant(struct recv_window *w, uint32_t bytes, bool told);
/* Data arrived; false: more than the peer may send, nothing is changed. */
bool recv_window_receive(struct recv_window *w, uint32_t bytes) must_check;
/* The sink took so much, or nobody ever will. */
void recv_window_consume(struct recv_window *w, uint32_t bytes);

/*
 * An adjust, in this order: is one due (packet: bytes, the largest one that
 * the peer may send)? Becomes smaller after a rest (not for fixed windows),
 * withholds, grows if it may, and gives back: the bytes of WINDOW_ADJUST, 0
 * if there is nothing to tell.
 */
bool recv_window_adjust_due(const struct recv_window *w, uint32_t packet);
/* Becomes smaller, after a rest: where the budget is short, to an equal share
 * of it. What is only a little more stays. */
void recv_window_shrink(struct recv_window *w, uint32_t share);
void recv_window_rest(struct recv_window *w, uint64_t now_ms);
void recv_window_withhold(struct recv_window *w);
bool recv_window_may_grow(const struct recv_window *w);
void recv_window_grow(struct recv_window *w, const struct recv_path *path,
    uint64_t now_us);
uint32_t recv_window_give_back(struct recv_window *w);

/* The window (bytes) to offer from now on, given the one offered so far and
 * the bytes that arrive in a round trip, now and the last time (0: not known).
 * It never shrinks here, and grows only for a peer that it holds back; exact:
 * to no more than that peer can use in the next round trip. */
uint32_t recv_window_next(uint32_t max, uint64_t per_rtt, uint64_t before,
    const struct recv_path *path);
/* The window of a new channel for which `wanted` was asked, where the others,
 * so many, have `offered`: the sum stays within the connection's budget. fixed:
 * windows do not grow later, so the first few are as wide as was asked. */
uint32_t recv_window_first(uint32_t wanted, uint64_t offered, size_t others,
    bool fixed);
/* What each of so many that move data may have of the budget. */
uint32_t recv_window_share(size_t movers);
/* How far a window may grow where the others have `offered`. */
uint32_t recv_window_limit(uint64_t offered, size_t movers);
/* Has the sum of all offers come so near to the budget that large windows keep
 * small ones from growing? */
bool recv_window_is_short(uint64_t offered);
/* Of it, what is given without proof that it is of use: as much as the first
 * channels have from the beginning. Beside their windows small ones never
 * prove it: an adjust of ours then waits in queues for many of the path's round
 * trips, so that little seems to arrive in one. */
uint32_t recv_window_fair(size_t movers, bool exact);
/* Bytes that so many channels offer at most. */
uint64_t recv_window_sum_max(size_t channels);
/* And the window after a time in which nothing was used of it. */
uint32_t recv_window_rested(uint32_t max, uint64_t idle_ms);

#endif
