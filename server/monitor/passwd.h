/* SPDX-License-Identifier: ISC */
/*
 * Passwords against what the system has stored of them. Needs the superuser's
 * rights.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_PASSWD_H
#define HPN_SERVER_MONITOR_PASSWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/monitor/decoy-hash.h"
#include "server/user.h"

/* How often a user's password is hashed by pam_unix (measured: 1.5.2, 1.7.0)
 * before it is refused: it looks first if the empty one is right, whatever it
 * is told; 1.7 does so twice as often with nullok where that would be let in.
 * Of a name that nobody has it hashes nothing. Pure. */
unsigned passwd_pam_hashes(bool permit_empty);

/* Costs one hash if the user has one, else nothing. */
bool passwd_check(const struct user *u, const char *password,
    bool permit_empty);
/* A check that has failed. */
struct passwd_effort {
	size_t password_len;
	unsigned pam_hashes; /* see above; 0: it was passwd_check() */
	uint64_t spent_us; /* CPU time, see decoy_cpu_us() */
};
/* The hashing is done that makes the cost the same for every user. */
void passwd_equalise_cost(const struct decoys *decoys, const struct user *u,
    const struct passwd_effort *effort);
/* The account is locked by a mark in front of its password. */
bool passwd_is_locked(const struct user *u);
/* The account has expired: nobody logs in to it any more, with whatever
 * method. */
bool passwd_account_is_expired(const struct user *u);

/* What its age makes of a password that is right. */
enum passwd_age {
	PASSWD_FINE,
	PASSWD_MUST_CHANGE, /* good for nothing but changing it */
	PASSWD_TOO_OLD,	    /* not even for that */
};
enum passwd_age passwd_age(const struct user *u);
/* The age of a password by one entry, on a day (counted from 1970). Pure. */
struct account_rules;
enum passwd_age passwd_age_of(const struct account_rules *rules, long day);

#endif
