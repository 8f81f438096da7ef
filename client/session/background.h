/* SPDX-License-Identifier: ISC */
/*
 * Going on in the background (-f, ControlPersist), out of reach of the
 * terminal's signals.
 *
 * Threads: loop thread only, and no other.
 */
#ifndef HPN_CLIENT_SESSION_BACKGROUND_H
#define HPN_CLIENT_SESSION_BACKGROUND_H

#include <stdbool.h>

/* The process that the user waits for ends with status 0; a child goes on.
 * leaves_stdio: no session is on 0, 1 and 2, neither one of its own nor one
 * that a master has for it. */
void background_enter(bool leaves_stdio);
/* The child's half of it, for who forks in another way. */
void background_settle(bool leaves_stdio);

#endif
