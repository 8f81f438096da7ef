/* SPDX-License-Identifier: ISC */
/*
 * The counters of all monitors of one hpnsshd, in a file below /run. The file
 * outlives the listener, and works without one (socket activation). Each
 * monitor has a slot in it, which tells whose connection it serves; totals
 * stand before the slots. Every change is made by one write, while the file is
 * locked, so a process that is killed loses only what it had not yet handed
 * over. Slots of processes that have ended count as free.
 *
 * A file that is damaged, or somebody else's, is reported and made anew. If the
 * file cannot be used at all, that is reported once, and then nothing is
 * counted or limited.
 *
 * Threads: one at a time. A child process must not use the object.
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
	COUNTERS_SLOTS = 16 * 1024, /* limit of connections at a time */
	COUNTERS_HEAD = 4096,	    /* bytes before the first slot */
	COUNTERS_SLOT = 128,	    /* bytes of a slot */
	COUNTERS_WAIT_MS = 200,	    /* limit of time that one call waits for the
				     * lock */
};

/* The path of the file for this configuration: beside PidFile, or in /run, with
 * the first port in its name. Caller frees. */
char *counters_path(const struct server_conf *c);

/* Limits for one connection, in bytes a second for each direction. */
struct counters_limits {
	uint64_t user_max; /* limit for all connections of the user together */
	uint64_t group;	   /* counts with group_max */
	uint64_t group_max; /* limit for all users of the group together */
};

/* FNV-1a: a number that stands for a name. */
uint64_t counters_sum(const void *p, size_t len);

struct counters;

/* Makes the object. The file is opened by the first call that needs it. */
struct counters *counters_new(const char *path);
/* Makes the object for a process that counts, but serves no connection. */
struct counters *counters_new_aside(const char *path);
/* Hands over what was counted, and frees the slot: this connection is no longer
 * one of the open ones. */
void counters_leave(struct counters *c);
/* Frees c, after counters_leave() if that is still to be done. c may be
 * NULL. */
void counters_free(struct counters *c);

/* Adds n to a counter in memory; counters_flush() hands it over. c may be
 * NULL. */
void counters_count(struct counters *c, enum counter counter, uint64_t n);
/* Hands over what was counted. ERR_AGAIN: the lock cannot be taken now.
 * ERR_SYSTEM: the file cannot be used. In both cases the counts are kept. */
int counters_flush(struct counters *c) must_check;

/* The sums over all monitors at this moment. */
struct counters_now {
	uint64_t total[COUNTER_COUNT];
	uint64_t since;	      /* time(3) at which the totals began */
	uint64_t connections; /* that are open */
	uint64_t users;	      /* number of different users who are logged in */
	uint64_t sessions;    /* that are open */
};
/* Hands over what was counted, frees slots of processes that have ended, and
 * sums up. */
int counters_look(struct counters *c, struct counters_now *now) must_check;

/* True if this process should write the text of metrics: one of all that ask is
 * chosen every every_ms; with at_end, it is chosen if no other connection is
 * open. */
bool counters_turn(struct counters *c, uint64_t every_ms, bool at_end);

/* Notes that this connection is the user's. ERR_LIMIT: the user has max
 * connections already, and nothing is changed. Else as counters_flush(). */
int counters_login(struct counters *c, uid_t uid, uint64_t max) must_check;
/* Counts a session more. ERR_LIMIT: the user has max on all connections. Else
 * as counters_flush(). */
int counters_session(struct counters *c, uint64_t max) must_check;
/* Takes a session off the count. */
void counters_session_end(struct counters *c);
/* Sets how many sessions are open on this connection, where there is no limit;
 * counters_flush() writes it. */
void counters_note_sessions(struct counters *c, uint64_t n);

/* Sets this connection's limits; the next counters_share() writes them. */
void counters_set_limits(struct counters *c,
    const struct counters_limits *limits);
/* Writes what this connection wants to move, in bytes a second out and in. got:
 * its share of capacity as last divided; shares are divided anew from time to
 * time, and now if at_once. Else as counters_flush(). */
int counters_share(struct counters *c, const uint64_t want[2],
    uint64_t capacity, bool at_once, uint64_t got[2]) must_check;

#endif
