/* SPDX-License-Identifier: ISC */
/*
 * The window that we offer on a channel (RFC 4254 section 5.2), and how its
 * width follows the path. Pure functions, without clock or socket: the caller
 * passes the time and what the kernel knows of the path.
 *
 * Each byte of a window is in one of three states:
 *
 *	left		the peer may still send it
 *	waiting		it arrived, and the sink has not taken it yet
 *	consumed	the sink took it, and the peer has not been told yet
 *
 * Window that the peer has been given cannot be taken back. To make a window
 * smaller, consumed bytes are kept instead of given back. As long as too few
 * bytes are consumed for that, the rest counts as withheld. So at any time
 *
 *	left + waiting + consumed == max + withheld
 *
 * and the right side is the most bytes that the peer can make us keep in
 * memory.
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
 * CHANNELS_BUDGET limits the sum of the windows of a connection: if all sinks
 * stop, we have to keep that many bytes. Windows grow only while the sum is
 * less than CHANNELS_GROW_LIMIT (10 Gbit/s over 50 ms), so that something is
 * left for channels opened later. The first CHANNELS_FEW channels get up to
 * half of what is left, later ones so little that a thousand idle channels
 * leave enough for a busy one. Channels that move data soon have equal shares:
 * smaller windows grow to a share, and larger ones shrink to it when the sum is
 * near the limit. In any case a channel gets RECV_WINDOW_LEAST, and
 * RECV_WINDOW_LEAST_OF_MANY if there are more than CHANNELS_MANY.
 * it.
 *
 * An OpenSSH peer keeps data that it cannot send yet in a buffer of at most
 * 16 MiB. It moves the content to the front when half of the buffer was sent,
 * but at each read when the buffer is full. So a backlog of more than 8 MiB
 * costs it much (10 s of CPU per GB, and stalls), one of 2 MiB next to nothing.
 */
#define CHANNELS_BUDGET ((uint32_t)64 * 1024 * 1024)
#define CHANNELS_GROW_LIMIT ((uint32_t)60 * 1024 * 1024)
#define RECV_WINDOW_LEAST ((uint32_t)16 * 1024)
#define RECV_WINDOW_LEAST_OF_MANY ((uint32_t)4 * 1024)
#define RECV_WINDOW_BACKLOG_MAX ((uint32_t)8 * 1024 * 1024)

enum {
	CHANNELS_FEW = 8,     /* numbers of channels: see above */
	CHANNELS_SOME = 64,
	CHANNELS_MANY = 1024,
	RECV_WINDOW_MEASURE_US = 1000, /* least time to measure a rate over */
	RECV_WINDOW_REST_MS = 10 * 1000, /* a window unused so long halves */
	RECV_MOVERS_MS = 1000, /* length of a period of recv_movers */
};

struct recv_window {
	uint32_t max; /* bytes that we offer */
	uint32_t left, waiting, consumed; /* bytes, see above */
	uint32_t withheld; /* bytes to keep back once they are consumed */
	uint32_t unproven; /* bytes the peer must use before max may grow */
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
	uint32_t share;	 /* bytes given without proof, within limit */
	bool exact;	 /* see channels_set_exact_windows() */
};

/* Counts the channels that moved data in this period or the last one. The
 * budget is divided by their number, as idle channels need no share. */
struct recv_movers {
	uint64_t period; /* number of this period; the first is 1 */
	uint64_t began_ms; /* start of this period */
	size_t now, last; /* channels counted in this period, and the last */
};

/* Counts a channel that moves data now. period: the one in which it was counted
 * last, 0 if never. Returns the number of the period that it is now. */
uint64_t recv_movers_note(struct recv_movers *m, uint64_t period,
    uint64_t now_ms);
size_t recv_movers_count(const struct recv_movers *m);

/* A new window of so many bytes, which the peer is told by the caller. */
void recv_window_init(struct recv_window *w, uint32_t bytes);
/* The window becomes wider by so many bytes. If the peer was not told of them,
 * the next adjust tells it. */
void recv_window_grant(struct recv_window *w, uint32_t bytes, bool told);
/* Data arrived. False: the peer sent more than it may, nothing is changed. */
bool recv_window_receive(struct recv_window *w, uint32_t bytes) must_check;
/* Notes that the sink has taken these bytes, or thrown them away. */
void recv_window_consume(struct recv_window *w, uint32_t bytes);

/*
 * The steps of a window adjust, in this order. recv_window_adjust_due() tells
 * whether one is due (packet: bytes of the largest packet that the peer may
 * send). Then recv_window_rest() and _shrink(), unless windows are fixed;
 * _withhold(); _grow(), if recv_window_may_grow(); and _give_back(), which
 * returns the bytes for WINDOW_ADJUST, at most `most`; 0 if the peer need not
 * be told.
 */
bool recv_window_adjust_due(const struct recv_window *w, uint32_t packet);
/* recv_window_shrink(), for when the budget is short: the window shrinks to
 * share bytes (an equal part of the budget), unless it is only a little wider.
 * recv_window_rest() makes a window smaller that was not used for some time. */
void recv_window_shrink(struct recv_window *w, uint32_t share);
void recv_window_rest(struct recv_window *w, uint64_t now_ms);
void recv_window_withhold(struct recv_window *w);
bool recv_window_may_grow(const struct recv_window *w);
void recv_window_grow(struct recv_window *w, const struct recv_path *path,
    uint64_t now_us);
uint32_t recv_window_give_back(struct recv_window *w, uint32_t most);

/* The window (bytes) to offer from now on. max: the one offered so far. per_rtt
 * and before: bytes that arrived in the last round trip, and in the one before
 * it (0: not known). The result is never less than max, and more only if the
 * window holds the peer back. Exact: no more than the peer can use in the next
 * round trip. */
uint32_t recv_window_next(uint32_t max, uint64_t per_rtt, uint64_t before,
    const struct recv_path *path);
/* The window of a new channel that asks for `wanted` bytes. The windows of the
 * `others` add up to `offered`, and the new sum stays within the budget. fixed:
 * windows do not grow later, so the first few channels get all they ask for. */
uint32_t recv_window_first(uint32_t wanted, uint64_t offered, size_t others,
    bool fixed);
/* The bytes that each of so many channels that move data may have. */
uint32_t recv_window_share(size_t movers);
/* The bytes that a window may grow to if those of the other channels add up to
 * `offered`. */
uint32_t recv_window_limit(uint64_t offered, size_t movers);
/* Has the sum of all offers come so near to the budget that large windows keep
 * small ones from growing? */
bool recv_window_is_short(uint64_t offered);
/* The bytes of a share that a channel is given without proof that it needs
 * them, as many as the first channels get from the beginning. Next to wide
 * windows a narrow one could not prove its need: our adjust for it waits in
 * queues for many round trips of the path, so that little seems to arrive in
 * one. */
uint32_t recv_window_fair(size_t movers, bool exact);
/* The bytes that a window of max bytes shrinks to when it was not used for
 * idle_ms. */
uint32_t recv_window_rested(uint32_t max, uint64_t idle_ms);

#endif
