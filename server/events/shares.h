/* SPDX-License-Identifier: ISC */
/*
 * Divides a rate: how many bytes a second each connection may move, by what
 * each wants and by the limits of users, groups and the machine. The result is
 * max-min fair: no share is larger than its want, and none could grow without
 * making an equal or smaller one smaller. Users are treated alike, however many
 * connections they have, and so are the connections of one user.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_SERVER_EVENTS_SHARES_H
#define HPN_SERVER_EVENTS_SHARES_H

#include <stddef.h>
#include <stdint.h>

#define SHARES_NO_LIMIT UINT64_MAX

/* A connection; all rates are bytes a second. A user's connections all name the
 * same group, if any. If they name different limits for the user or the group,
 * the smallest one counts. */
struct share {
	uint64_t want;
	uint64_t user;
	uint64_t user_max;  /* limit for all connections of the user together */
	uint64_t group;	    /* counts only with group_max */
	uint64_t group_max; /* limit for all users of the group together; or
			     * SHARES_NO_LIMIT */
	uint64_t got;	    /* result: the connection's share */
};

/* Sets got of the n connections; their sum is at most capacity. */
void shares_divide(struct share *v, size_t n, uint64_t capacity);

/* As shares_divide(); then capacity that nobody wants is divided among all, so
 * that a connection that can move more than it wanted need not wait. */
void shares_spread(struct share *v, size_t n, uint64_t capacity);

/* The level at which n wants meet capacity, if each gets the smaller one of its
 * want and the level. Sorts the wants. */
uint64_t shares_level(uint64_t *wants, size_t n, uint64_t capacity);

#endif
