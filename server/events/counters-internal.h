/* SPDX-License-Identifier: ISC */
/*
 * The common part of counters*.c: the form of the file, and what is done while
 * its lock is held.
 *
 * Threads: one at a time.
 */
#ifndef HPN_SERVER_EVENTS_COUNTERS_INTERNAL_H
#define HPN_SERVER_EVENTS_COUNTERS_INTERNAL_H

#include "server/events/counters.h"

#define COUNTERS_NOBODY UINT64_MAX

/* The head of the file, in the byte order of this machine. */
struct counters_head {
	uint64_t magic;
	uint32_t version, counters; /* COUNTERS_VERSION, COUNTER_COUNT */
	uint64_t since;		    /* time(3) */
	uint64_t written_ms;	    /* clock_ms() when a process last took the
				     * turn to write the text */
	uint64_t shared_ms;	    /* clock_ms() when the shares were last
				     * divided */
	uint64_t used;		    /* slots from this number on were never in
				     * use */
	uint64_t total[COUNTER_COUNT];
	uint64_t sum; /* of all before it */
};
_Static_assert(sizeof(struct counters_head) <= COUNTERS_HEAD,
    "head of counters");

struct counters_slot {
	uint64_t pid;	/* 0: free */
	uint64_t start; /* proc_start() */
	uint64_t uid;	/* COUNTERS_NOBODY: not logged in */
	uint64_t sessions;
	/* For counters-shares.c. Rates are bytes a second, out and in. */
	uint64_t wanted_ms; /* clock_ms() when want was set; 0: never */
	uint64_t want[2], got[2];
	struct counters_limits limits;
	uint64_t spare[4];
};
_Static_assert(sizeof(struct counters_slot) == COUNTERS_SLOT,
    "slot of counters");

struct counters {
	char *path;
	int fd; /* -1: not open */
	bool told;
	struct counters_slot mine; /* this process's slot as it should be in the
				    * file */
	bool mine_is_new; /* mine is to be written with what was counted */
	int64_t at;		   /* which slot; -1: none */
	uint64_t todo[COUNTER_COUNT];
	uint64_t busy_ms; /* clock_ms() when the lock could not be taken; 0: it
			   * could */
	/* Between lock() and counters_unlock(). */
	struct counters_head head;
};

/* Opens the file if it is not open, takes the lock, reads the head, and makes
 * sure that this process has a slot. For frequent calls: if the lock could not
 * be taken, it returns ERR_AGAIN at once for some time. */
int counters_lock_often(struct counters *c) must_check;
void counters_unlock(struct counters *c);

/* Reads all slots while the lock is held; there are c->head.used. Caller
 * frees. */
struct counters_slot *counters_get_slots(struct counters *c);
int counters_put_slots(struct counters *c,
    const struct counters_slot *s) must_check;
int counters_put_head(struct counters *c) must_check;
int counters_put_mine(struct counters *c) must_check;

#endif
