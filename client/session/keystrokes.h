/* SPDX-License-Identifier: ISC */
/*
 * When keystrokes leave, so that whoever watches the network does not learn
 * when keys were pressed: at ticks instead of at once, and with packets that
 * say nothing in ticks without keystrokes, for a while after the last one. Only
 * the decisions: no clock, no socket, no random numbers; the caller brings
 * them.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_SESSION_KEYSTROKES_H
#define HPN_CLIENT_SESSION_KEYSTROKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEYSTROKES_PENDING_MAX = 512, /* bytes: with more it is no typing */
	KEYSTROKES_CHAFF_MS = 1024,   /* after a keystroke, and */
	KEYSTROKES_CHAFF_RANDOM_MS = 2048, /* less than this more */
	KEYSTROKES_LIFT_MS = 1000, /* after something else was sent */
};

enum keystrokes_verdict {
	KEYSTROKES_WRITE, /* what waits for the socket */
	KEYSTROKES_HOLD,
	KEYSTROKES_CHAFF, /* a packet that says nothing, and write */
};

struct keystrokes {
	uint64_t interval_us; /* 0: never active */
	bool active;
	uint64_t skew_us; /* of this active time: 0 to 10 % of the interval */
	uint64_t next_us; /* the next tick */
	uint64_t chaff_us; /* chaff until then */
	uint64_t other_us; /* something else was sent then; 0: never */
	const char *ended; /* why it is not active any more, static; or NULL */
};

/* The facts of this turn of the loop. */
struct keystrokes_now {
	uint64_t us;	 /* the time */
	bool terminal;	 /* a session with one is open */
	bool rekeying;
	bool typed;	 /* it has sent something since the last turn */
	bool other;	 /* another channel has */
	size_t pending;	 /* bytes that wait for the socket */
	bool chaff;	 /* the peer answers packets that say nothing */
	uint32_t random; /* any 32 bits, new ones each turn */
};

void keystrokes_init(struct keystrokes *k, uint32_t interval_ms);
/* wait_us: when to ask again at the latest; 0: no need to. */
enum keystrokes_verdict keystrokes_decide(struct keystrokes *k,
    const struct keystrokes_now *now, uint64_t *wait_us);

#endif
