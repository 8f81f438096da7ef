/* SPDX-License-Identifier: ISC */
/*
 * Goes on in the background (-f, ControlPersist), out of reach of the
 * terminal's signals.
 *
 * Threads: only in a process that has no other threads.
 */
#ifndef HPN_CLIENT_SESSION_BACKGROUND_H
#define HPN_CLIENT_SESSION_BACKGROUND_H

#include <stdbool.h>

/* Forks: the process that the user waits for ends with status 0, and the child
 * returns. leaves_stdio: no session uses descriptors 0, 1 and 2, neither of
 * this process nor of a master, so they are given up (stdio_leave()). */
void background_enter(bool leaves_stdio);
/* What background_enter() does in the child, for callers that have forked
 * already. */
void background_settle(bool leaves_stdio);

#endif
