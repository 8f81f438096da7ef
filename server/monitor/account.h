/* SPDX-License-Identifier: ISC */
/*
 * What the system stores about an account beside the fields of struct user: the
 * hash of the password, and how long password and account are valid. It comes
 * from a shadow file (account-shadow.c) or from further fields of struct passwd
 * (account-bsd.c). Needs the superuser's rights.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_ACCOUNT_H
#define HPN_SERVER_MONITOR_ACCOUNT_H

#include <stdbool.h>

/* Dates are in days since 1970. A negative field: the system has no such
 * rule. */
struct account_rules {
	long changed; /* date of the last change of the password; 0: it must be
		       * changed now */
	long max;     /* days from then on that the password is valid */
	long inactive; /* days after those in which an expired password may
			* still be changed */
	long expires; /* date of the account's last day */
};

/* The hash of the account's password, or what stands in its place. Caller wipes
 * and frees. NULL: there is none. */
char *account_hash(const char *name);
/* Whether what account_hash() returned is the mark of a locked account. */
bool account_hash_is_locked(const char *hash);
/* Fills *out. False: the system has no such account or no rules. */
bool account_rules(const char *name, struct account_rules *out);

#endif
