/* SPDX-License-Identifier: ISC */
/*
 * The counters of all monitors of one hpnsshd, in one file below /run. It
 * outlives the listener, and needs none (socket activation). Each monitor has a
 * slot in it, which says whose connection it serves; totals stand in front.
 * Every change is made under a lock of the file and by one write, so a process
 * that is killed loses what it had not handed over, and nothing else. Slots of
 * processes that have ended are free.
 *
 * A file that is broken, or somebody else's, is told of and made anew. One that
 * cannot be used is told of once, and then nothing is counted or limited.
 *
 * Threads: one at a time. A process that was forked must not use it.
 */
#ifndef HPN_SERVER_EVENTS_COUNTERS_H
#define HPN_SERVER_EVENTS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "conf/server-conf.h"
#include "server/events/counter-table.h"

enum {
	COUNTERS_VERSION = 3,
	COUNTERS_SLOTS = 16 * 1024, /* most connections at a time */
	COUNTERS_HEAD = 4096,	    /* bytes before the first slot */
	COUNTERS_SLOT = 128,	    /* bytes of a slot */
	COUNTERS_WAIT_MS = 200,	    /* most that one call waits for the lock */
};

/* Where the counters of this configuration are: beside PidFile, or in /run by
 * the first port. Caller frees. */
char *counters_path(const struct server_conf *c);

/* The limits that hold for one connection; bytes a second in each direction. */
struct counters_limits {
	uint64_t user_max; /* over all connections of the user */
	uint64_t group;	   /* counts with group_max */
	uint64_t group_max; /* over all users of it */
};

/* FNV-1a: a number for a name. */
uint64_t counters_sum(const void *p, size_t len);

struct counters;

/* Nothing is opened before the first call that needs the file. */
struct counters *counters_new(const char *path);
/* Likewise for a process that serves no connection: it only counts. */
struct counters *counters_new_aside(const char *path);
/* Hands over what was counted, and gives the slot back: this connection is not
 * counted among the open ones any more. */
void counters_leave(struct counters *c);
/* Leaves, if the file was needed and that was not done. NULL is fine. */
void counters_free(struct counters *c);

/* Counts n more; counters_flush() hands it over. NULL: nothing is done. */
void counters_count(struct counters *c, enum counter counter, uint64_t n);
/* ERR_AGAIN: the lock is not to be had now; all that was counted is kept.
 * ERR_SYSTEM: the file cannot be used; likewise. */
int counters_flush(struct counters *c) must_check;

/* What is so now. */
struct counters_now {
	uint64_t total[COUNTER_COUNT];
	uint64_t since;	      /* when totals began, in seconds of time(3) */
	uint64_t connections; /* that are open */
	uint64_t users;	      /* different ones that are logged in */
	uint64_t sessions;    /* that are open */
};
/* Flushes, frees slots of processes that have ended, and sums up. */
int counters_look(struct counters *c, struct counters_now *now) must_check;

/* Is it this process's turn to write the text of metrics? It is for one of all
 * that ask in every_ms; and at_end, when no other connection is open. */
bool counters_turn(struct counters *c, uint64_t every_ms, bool at_end);

/* This connection is the user's from here on. ERR_LIMIT: the user has max
 * already; nothing is changed. Otherwise as counters_flush(). */
int counters_login(struct counters *c, uid_t uid, uint64_t max) must_check;
/* Likewise one more session of the user's, on any connection. */
int counters_session(struct counters *c, uint64_t max) must_check;
/* A session has begun, whatever the limit; one has ended. */
void counters_session_begin(struct counters *c);
void counters_session_end(struct counters *c);

/* This connection's limits from here on; they are told with the next
 * counters_share(). */
void counters_set_limits(struct counters *c,
    const struct counters_limits *limits);
/* What this connection wants to move from here on, in bytes a second out and
 * in; got: its share of capacity, as it was divided last, which is done anew
 * from time to time, and if at_once. Otherwise as counters_flush(). */
int counters_share(struct counters *c, const uint64_t want[2],
    uint64_t capacity, bool at_once, uint64_t got[2]) must_check;

#endif
