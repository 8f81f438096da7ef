/* SPDX-License-Identifier: ISC */
/*
 * Checks passwords by the hashes that the system has stored. Needs the
 * superuser's rights.
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

/* How often pam_unix (measured: 1.5.2, 1.7.0) hashes a user's password before
 * it refuses it, at most. It first tries whether the empty password is right,
 * in any case; 1.7 does so twice as often with nullok if empty passwords are
 * allowed. For a name that nobody has it hashes nothing. Pure. */
unsigned passwd_pam_hashes(bool permit_empty);

/* Whether the password is right. Makes one hash if the user has a hash, else
 * none. */
bool passwd_check(const struct user *u, const char *password,
    bool permit_empty);
/* What the check of a wrong password has cost. */
struct passwd_effort {
	size_t password_len;
	unsigned pam_hashes; /* of passwd_pam_hashes(); 0: passwd_check() was
			      * used */
	uint64_t spent_us; /* CPU time of the check; see decoy_cpu_us() */
};
/* Makes as many hashes as are missing, so that a wrong password costs the same
 * for every user. */
void passwd_equalise_cost(const struct decoys *decoys, const struct user *u,
    const struct passwd_effort *effort);
/* Whether a mark in place of the password's hash locks the account. */
bool passwd_is_locked(const struct user *u);
/* Whether the account has expired. Then nobody may log in to it, by any
 * method. */
bool passwd_account_is_expired(const struct user *u);

/* What a password that is right is good for, by its age. */
enum passwd_age {
	PASSWD_FINE,
	PASSWD_MUST_CHANGE, /* the login may only change the password */
	PASSWD_TOO_OLD,	    /* no login */
};
enum passwd_age passwd_age(const struct user *u);
/* Decides by the rules of an account, on a day (counted from 1970). Pure. */
struct account_rules;
enum passwd_age passwd_age_of(const struct account_rules *rules, long day);

#endif
