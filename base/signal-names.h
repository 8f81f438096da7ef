/* SPDX-License-Identifier: ISC */
/*
 * Names of signals in SSH messages about sessions (RFC 4254 sections 6.9 and
 * 6.10).
 *
 * Threads: any.
 */
#ifndef HPN_BASE_SIGNAL_NAMES_H
#define HPN_BASE_SIGNAL_NAMES_H

/* The name of a signal; static. One that the RFC does not name gets a name with
 * our domain. */
const char *signal_ssh_name(int signo);
/* The number of a signal by its name; 0: the RFC has no such name. */
int signal_ssh_number(const char *name);

#endif
