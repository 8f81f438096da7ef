/* SPDX-License-Identifier: ISC */
/*
 * Processes that ask the system for names. It answers by modules and files
 * (NSS) that a process with something to lose had better not load, and can
 * wait for long. Each of these processes holds nothing but its end of a
 * socket, and ends with the other end.
 *
 * They are forked from the process that asks, where that has no secrets. One
 * that has some executes its own program afresh, so that nothing of its memory
 * is in them. One that is about to change its root directory has a starter
 * forked before, from which they come: whoever may write to that directory
 * would choose what is loaded, and what a name means.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_LOOKUP_H
#define HPN_BASE_LOOKUP_H

#include <stdbool.h>

#include "base/err.h"

enum lookup_kind {
	LOOKUP_HOSTS = 1, /* base/resolve.h */
	LOOKUP_OWNERS,	  /* base/owners.h */
};

/* Forks the starter; to be called while there are no secrets in this process
 * and no threads. become, called in it, gives up what it must not have, as an
 * identity; it ends the process if it cannot. The user's programs cannot look
 * into the starter. ERR_SYSTEM with errno. */
int lookup_begin(void (*become)(const void *arg),
    const void *arg) must_check;
/* For tests, which begin more than once: ends the starter. */
void lookup_end(void);

/* From now on the processes are executed, not forked, if there is no starter:
 * they run this process's program under name (static), and that program hands
 * its one argument on to lookup_main(). */
void lookup_execute(const char *name);
/* If argument is that of such a process, serves and does not return. */
void lookup_main(const char *argument);

/* Starts a process of that kind at sock, an end of a socket (SOCK_SEQPACKET)
 * which the caller then closes. ERR_SYSTEM with errno. What goes wrong later
 * ends the socket. */
int lookup_process(enum lookup_kind kind, int sock) must_check;

#endif
