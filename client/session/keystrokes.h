/* SPDX-License-Identifier: ISC */
/*
 * Decides when keystrokes are sent, so that whoever watches the network does
 * not learn when keys were pressed. They are sent at regular ticks instead of
 * at once. Ticks without a keystroke send chaff (a packet without meaning) for
 * a while after the last keystroke. This code has no clock, socket or random
 * numbers of its own: the caller brings them.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_SESSION_KEYSTROKES_H
#define HPN_CLIENT_SESSION_KEYSTROKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEYSTROKES_PENDING_MAX = 512, /* bytes that wait; more are not typed by
				       * a user */
	KEYSTROKES_CHAFF_MS = 1024,   /* chaff is sent for so long after a
				       * keystroke, */
	KEYSTROKES_CHAFF_RANDOM_MS = 2048, /* plus a random time that is less
					    * than this */
	KEYSTROKES_LIFT_MS = 1000, /* not active for so long after another
				    * channel has sent something */
};

enum keystrokes_verdict {
	KEYSTROKES_WRITE, /* write what waits for the socket */
	KEYSTROKES_HOLD,
	KEYSTROKES_CHAFF, /* send a packet without meaning, and write */
};

struct keystrokes {
	uint64_t interval_us; /* 0: never active */
	bool active;
	uint64_t skew_us; /* random part of each tick in this active time: 0 to
			   * 10 % of interval_us */
	uint64_t next_us; /* time of the next tick */
	uint64_t chaff_us; /* time until which chaff is sent */
	uint64_t other_us; /* time when another channel last sent something; 0:
			    * never */
	const char *ended; /* why the last active time ended; static; NULL: it
			    * has not */
};

/* The facts of this turn of the loop. */
struct keystrokes_now {
	uint64_t us;	 /* the time */
	bool terminal;	 /* a session with a terminal is open */
	bool rekeying;
	bool typed;	 /* such a session has sent something since the last
			  * turn */
	bool other;	 /* another channel has sent something since the last
			  * turn */
	size_t pending;	 /* bytes that wait for the socket */
	bool chaff;	 /* the peer answers SSH_MSG_PING, so chaff may be
			  * sent */
	uint32_t random; /* any 32 bits, new ones each turn */
};

void keystrokes_init(struct keystrokes *k, uint32_t interval_ms);
/* Decides what to do in this turn of the loop. *wait_us: microseconds after
 * which it has to be asked again at the latest; 0: no need to. */
enum keystrokes_verdict keystrokes_decide(struct keystrokes *k,
    const struct keystrokes_now *now, uint64_t *wait_us);

#endif
