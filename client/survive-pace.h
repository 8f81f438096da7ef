/* SPDX-License-Identifier: ISC */
/*
 * When a client whose connection is lost tries to make another one, and how
 * long a try may take. By itself it tries more and more rarely; an event (the
 * network has changed, a key was typed) has it try at once.
 *
 * Threads: any; pure functions, to which the caller passes the time.
 */
#ifndef HPN_CLIENT_SURVIVE_PACE_H
#define HPN_CLIENT_SURVIVE_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum survive_event {
	SURVIVE_EVENT_NET, /* addresses or routes of this host have changed */
	SURVIVE_EVENT_KEY, /* the user has typed something */
};

struct survive_pace {
	/* Set by the caller. */
	bool tty;	    /* a user is waiting */
	bool proxied;	    /* the host is reached through another program, of
			     * which only the host's answer is seen */
	uint64_t rtt_us;    /* the round trip when the connection was new */
	uint64_t answer_ms; /* how long the program took for the host's first
			     * answer then */
	/* Kept by the functions. */
	unsigned tries;	  /* since the loss */
	unsigned backoff; /* tries since the loss, or the last event */
	unsigned slow;	  /* tries that have reached the host, but took too
			   * long */
	unsigned silent;  /* tries that a program has got no answer for */
	unsigned ended;	  /* tries in a row that an event has ended */
	unsigned broken;  /* tries that have ended by themselves */
	bool event;	  /* one has happened since the last try began */
	uint64_t try_ms;  /* when the last try began */
};

/* How long a try may take. */
struct survive_limits {
	unsigned step_s;   /* until each of the host's answers */
	uint64_t first_ms; /* until the host is reached */
	uint64_t whole_ms;
};

/* The connection is lost. */
void survive_pace_lost(struct survive_pace *p);
/* A try begins. */
struct survive_limits survive_pace_try(struct survive_pace *p,
    uint64_t now_ms);
/* A try has taken too long; reached: the host was reached by it. */
void survive_pace_late(struct survive_pace *p, bool reached);
/* A try has ended by itself, and in vain. */
void survive_pace_broken(struct survive_pace *p);
/* No try is running, and the last one has ended by itself: milliseconds until
 * the next one. */
uint64_t survive_pace_wait_ms(struct survive_pace *p, uint64_t now_ms);
/* An event has happened and no try is running: milliseconds until the next
 * one. */
uint64_t survive_pace_event_ms(struct survive_pace *p, enum survive_event e,
    uint64_t now_ms);
/* An event has happened, and the try that is running has not reached the host:
 * milliseconds until it is to be ended for another one. A packet that was sent
 * before the event may be lost, and is not sent again before a second has
 * passed; but a try that has just begun may end well. */
uint64_t survive_pace_spare_ms(struct survive_pace *p, uint64_t now_ms);
/* The try that was running is ended because of an event, and not by itself. */
void survive_pace_ended(struct survive_pace *p);

#endif
