/* SPDX-License-Identifier: ISC */
/*
 * The names of signals in messages about sessions (RFC 4254 sections 6.9 and
 * 6.10).
 *
 * Threads: any.
 */
#ifndef HPN_BASE_SIGNAL_NAMES_H
#define HPN_BASE_SIGNAL_NAMES_H

/* Static. Signals that the RFC does not name have one with our domain. */
const char *signal_ssh_name(int signo);
/* 0: it is no name of the RFC. */
int signal_ssh_number(const char *name);

#endif
