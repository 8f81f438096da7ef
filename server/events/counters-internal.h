/* SPDX-License-Identifier: ISC */
/*
 * What counters*.c share: the file's form, and what is done under its lock.
 *
 * Threads: one at a time.
 */
#ifndef HPN_SERVER_EVENTS_COUNTERS_INTERNAL_H
#define HPN_SERVER_EVENTS_COUNTERS_INTERNAL_H

#include "server/events/counters.h"

#define COUNTERS_NOBODY UINT64_MAX

/* The head of the file, in this machine's byte order. */
struct counters_head {
	uint64_t magic;
	uint32_t version, counters; /* COUNTERS_VERSION, COUNTER_COUNT */
	uint64_t since;		    /* time(3) */
	uint64_t written_ms;	    /* clock_ms(): the last turn to write */
	uint64_t shared_ms;	    /* clock_ms(): when shares were divided */
	uint64_t used;		    /* slots from here on were never in use */
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
	/* counters-shares.c; rates are bytes a second, out and in. */
	uint64_t wanted_ms; /* clock_ms(): when want was told; 0: never */
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
	struct counters_slot mine; /* as it should be in the file */
	int64_t at;		   /* which slot; -1: none */
	uint64_t todo[COUNTER_COUNT];
	uint64_t busy_ms; /* when the lock was not to be had; 0: it was */
	/* Between lock() and counters_unlock(). */
	struct counters_head head;
};

/* Opens the file if need be, takes the lock, reads the head, and sees to it
 * that this process has its slot. For what comes often: after a lock that was
 * not to be had, ERR_AGAIN for some time. */
int counters_lock_often(struct counters *c) must_check;
void counters_unlock(struct counters *c);

/* Under the lock. All slots: their number is c->head.used. Caller frees. */
struct counters_slot *counters_get_slots(struct counters *c);
int counters_put_slots(struct counters *c,
    const struct counters_slot *s) must_check;
int counters_put_head(struct counters *c) must_check;
int counters_put_mine(struct counters *c) must_check;

#endif
