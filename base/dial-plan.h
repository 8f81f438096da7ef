/* SPDX-License-Identifier: ISC */
/*
 * The decisions of base/dial.c without its sockets: which of several
 * addresses is tried when (RFC 8305 section 5), and who wins. Pure: the
 * caller tells what happened and what time it is.
 *
 * The addresses stand in rounds, 0 first. A round is a list to be tried in its
 * order; the next round is a second choice (another port, say).
 *
 * Threads: any, one plan by one at a time.
 */
#ifndef HPN_BASE_DIAL_PLAN_H
#define HPN_BASE_DIAL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	DIAL_ADDRESSES_MAX = 128,
	DIAL_ROUNDS_MAX = 2,
	/* RFC 8305 section 5 recommends it. */
	DIAL_NEXT_MS = 250,
};

struct dial_address {
	struct sockaddr_storage sa;
	socklen_t len;
	unsigned round; /* not below the round of the address in front */
};

struct dial_times {
	uint32_t next_ms;    /* between the starts of two attempts of a round */
	uint32_t round_ms;   /* from the beginning of one round to the next */
	uint64_t timeout_ms; /* limit for the whole dial; 0: none */
};

enum dial_state {
	DIAL_WAITING, /* was not tried yet */
	DIAL_RUNNING,
	DIAL_FAILED,
	DIAL_CONNECTED, /* the winner */
};

struct dial_plan {
	struct dial_times times;
	uint64_t begun_ms;
	size_t n, running, running_max;
	bool has_winner;
	struct {
		enum dial_state state;
		unsigned round;
	} attempts[DIAL_ADDRESSES_MAX];
	struct {
		bool begun;
		bool failed; /* an attempt failed since the last start */
		uint64_t last_start_ms;
	} rounds[DIAL_ROUNDS_MAX];
};

/* Begins a plan. running_max: most attempts at the same time; 0: no limit. */
void dial_plan_init(struct dial_plan *p, const struct dial_address *addresses,
    size_t n, const struct dial_times *times, size_t running_max,
    uint64_t now_ms);

/* Returns the address to try now, which counts as running from here on; or -1,
 * and *wait_ms is the time after which to ask again if nothing happens before
 * (UINT64_MAX: never). An address is tried when an attempt of its round has
 * failed since the last start, when the last start of its round is next_ms ago,
 * or when no attempt runs. A round begins when all attempts of the rounds
 * before it have failed, or at its time. */
int dial_plan_next(struct dial_plan *p, uint64_t now_ms, uint64_t *wait_ms);

/* Tell what became of a running attempt. The first that connects is the winner.
 * dial_plan_connected() is false for all later ones, whose sockets the caller
 * closes. */
bool dial_plan_connected(struct dial_plan *p, size_t which);
void dial_plan_failed(struct dial_plan *p, size_t which);

/* Is there a winner, or have all failed, or is the time up? */
bool dial_plan_is_over(const struct dial_plan *p, uint64_t now_ms);

/* Lets the address families take turns, each in its own order, so that one
 * that does not work here costs one step only (RFC 8305 section 4). */
void dial_interleave(struct dial_address *addresses, size_t n);

#endif
