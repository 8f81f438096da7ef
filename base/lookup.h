/* SPDX-License-Identifier: ISC */
/*
 * Processes that ask the system for names. The system answers by modules and
 * files (NSS), which a process that has secrets had better not load, and which
 * may take long. Each of these processes has only its end of a socket, and ends
 * when the other end is closed.
 *
 * Usually the process that asks forks them. If it has secrets, it executes its
 * own program instead, so that nothing of its memory is in them. If it is about
 * to change its root directory, it forks a starter before, which then forks
 * them: whoever may write to the new root directory could choose there which
 * modules are loaded, and what a name means.
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

/* Forks the starter. To be called while this process has no secrets and no
 * threads. become() is called in the starter: it gives up what the starter must
 * not have, such as an identity, and ends the process if it cannot. The user's
 * programs cannot look into the starter. ERR_SYSTEM with errno. */
int lookup_begin(void (*become)(const void *arg),
    const void *arg) must_check;
/* For tests, which begin more than once: ends the starter. */
void lookup_end(void);

/* From now on, unless there is a starter, the processes execute this process's
 * program, with name (static) as its name. That program hands its one argument
 * on to lookup_main(). */
void lookup_execute(const char *name);
/* If argument is that of such a process, answers questions and does not
 * return. */
void lookup_main(const char *argument);

/* Starts a process of that kind, which gets sock, an end of a socket pair
 * (SOCK_STREAM); the caller then closes sock. ERR_SYSTEM with errno. If the
 * process fails later, the other end is closed. */
int lookup_process(enum lookup_kind kind, int sock) must_check;

#endif
