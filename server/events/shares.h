/* SPDX-License-Identifier: ISC */
/*
 * Shares of a rate: how many bytes a second each connection may move, given
 * what each wants and the limits of users, groups and the machine. Shares are
 * max-min: none is larger than what is wanted, and none could be larger without
 * making an equal or smaller one smaller still. Users are equal, whatever the
 * number of their connections; the connections of one user are, too.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_SERVER_EVENTS_SHARES_H
#define HPN_SERVER_EVENTS_SHARES_H

#include <stddef.h>
#include <stdint.h>

#define SHARES_NO_LIMIT UINT64_MAX

/* One connection; all rates are bytes a second. Those of one user are in one
 * group, if any. Where the limits of one user, or group, are told differently,
 * the smallest holds. */
struct share {
	uint64_t want;
	uint64_t user;
	uint64_t user_max;  /* over all connections of the user */
	uint64_t group;	    /* counts only with group_max */
	uint64_t group_max; /* over all users of it; or SHARES_NO_LIMIT */
	uint64_t got;	    /* the share: what is found */
};

/* Sets got of n connections, of which all together get at most capacity. */
void shares_divide(struct share *v, size_t n, uint64_t capacity);

/* Likewise; then what nobody has asked for is divided among all of them, so
 * that who wants more than was thought need not wait. */
void shares_spread(struct share *v, size_t n, uint64_t capacity);

/* The level up to which n wants are met, of which together capacity is met at
 * most: each gets the smaller of want and level. Sorts the wants. */
uint64_t shares_level(uint64_t *wants, size_t n, uint64_t capacity);

#endif
