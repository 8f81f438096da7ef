/* SPDX-License-Identifier: ISC */
/*
 * What the system keeps of an account beside its entry: the hash of its
 * password and how long both are good. Two ways: a shadow file
 * (account-shadow.c), or fields of the entry itself (account-bsd.c). Needs the
 * superuser's rights.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_ACCOUNT_H
#define HPN_SERVER_MONITOR_ACCOUNT_H

#include <stdbool.h>

/* Days, counted from 1970 where they are dates; negative: there is none. */
struct account_rules {
	long changed; /* the password was; 0: it must be */
	long max;     /* days that it is good for */
	long inactive; /* and that it may still be changed in */
	long expires; /* the account's last day */
};

/* Caller wipes and frees; NULL if there is none to be had. */
char *account_hash(const char *name);
/* The mark of a locked account is in the hash's place. */
bool account_hash_is_locked(const char *hash);
/* False: nothing is known. */
bool account_rules(const char *name, struct account_rules *out);

#endif
