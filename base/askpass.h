/* SPDX-License-Identifier: ISC */
/*
 * Asking the user by a program that shows a window (SSH_ASKPASS), while the
 * loop goes on: for processes that have no terminal, or must not wait.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_ASKPASS_H
#define HPN_BASE_ASKPASS_H

#include <stdbool.h>

#include "base/loop.h"

enum { ASKPASS_ANSWER_MAX = 1024 }; /* bytes with the NUL */

enum askpass_kind {
	ASKPASS_CONFIRM, /* yes or no */
	ASKPASS_SECRET,	 /* something is to be typed */
	ASKPASS_NOTICE,	 /* shown until it is dropped, or the user ends it */
};

struct askpass;

/* The program, as SSH_ASKPASS or our default says. */
const char *askpass_program(void);
/* Is there a display that it could show something on (X11 or Wayland)? */
bool askpass_has_display(void);

/* answer: what was typed, for ASKPASS_SECRET only, without its line end and
 * wiped afterwards. agreed: the program exited well; for ASKPASS_CONFIRM
 * also: it printed nothing else than yes. */
typedef void (*askpass_fn)(void *arg, bool agreed, const char *answer);

/* text is shown as it is: escape what a peer sent. told is called once, later;
 * not if it is dropped before. NULL: nobody can be asked, which is no consent;
 * why was logged. */
struct askpass *askpass_ask(struct loop *loop, enum askpass_kind kind,
    const char *text, askpass_fn told, void *arg);
/* The question is no longer of interest: the program is ended. NULL is fine. */
void askpass_drop(struct askpass *a);

#endif
