/* SPDX-License-Identifier: ISC */
/*
 * The account that this program runs for: by the system's table of accounts,
 * and where that does not have the user (accounts of LDAP for a program that
 * cannot ask it, a container), by USER or LOGNAME, and HOME. The environment is
 * not believed as root, nor in a program with rights that its user has not.
 *
 * Threads: one at a time.
 */
#ifndef HPN_BASE_OWN_ACCOUNT_H
#define HPN_BASE_OWN_ACCOUNT_H

/* Borrowed, until the next question for any account; NULL: nobody knows. */
const char *own_account_name(void);
const char *own_account_home(void);

#endif
