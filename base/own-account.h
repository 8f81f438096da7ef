/* SPDX-License-Identifier: ISC */
/*
 * The account that this program runs for. The system's table of accounts names
 * it. If that table does not have the user (accounts of LDAP for a program that
 * cannot ask it, a container), USER or LOGNAME, and HOME, do. The environment
 * is not believed if the program runs as root, or has rights that its user has
 * not.
 *
 * Threads: one at a time.
 */
#ifndef HPN_BASE_OWN_ACCOUNT_H
#define HPN_BASE_OWN_ACCOUNT_H

/* The account's name, borrowed until the next call that asks for any account;
 * NULL: it is not known. */
const char *own_account_name(void);
const char *own_account_home(void);

#endif
