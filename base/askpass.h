/* SPDX-License-Identifier: ISC */
/*
 * Asking the user by a program that shows a window (SSH_ASKPASS): while the
 * loop goes on, for processes that have no terminal, or must not wait; or
 * waiting for the answer.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_ASKPASS_H
#define HPN_BASE_ASKPASS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"

/* Bytes of an answer that is taken; a longer one is refused, as a part of a
 * secret is none. Some institutions' tokens have many. */
enum {
	ASKPASS_ANSWER_MAX = 16 * 1024,
	/* Of its buffer: one byte too many is noticed, and a NUL. */
	ASKPASS_BUFFER_BYTES = ASKPASS_ANSWER_MAX + 2,
};

enum askpass_kind {
	ASKPASS_CONFIRM, /* yes or no */
	ASKPASS_SECRET,	 /* something is to be typed */
	ASKPASS_NOTICE,	 /* shown until it is dropped, or the user ends it */
};

struct askpass;

/* The program, as SSH_ASKPASS or our default says. */
const char *askpass_program(void);
/* Is there a display that the program could show a window on (X11 or
 * Wayland)? */
bool askpass_has_display(void);

/* May the program be asked? Yes if there is a display, or SSH_ASKPASS_REQUIRE
 * says that it needs none; no if SSH_ASKPASS_REQUIRE says never. */
bool askpass_possible(void);

/* Asks, and waits for the answer, which is empty for a confirmation; the caller
 * calls askpass_free(). NULL: the user cancelled or did not agree, nobody could
 * be asked, or the answer is too long, which was logged. */
char *askpass_wait(enum askpass_kind kind, const char *text);
void askpass_free(char *answer); /* wipes; NULL is fine */

/* Shows text until askpass_hide(), if askpass_possible(). 0: text is not shown,
 * and nothing is to hide. */
pid_t askpass_show(const char *text);
void askpass_hide(pid_t window);

/* answer: what was typed, for ASKPASS_SECRET only, without its line end and
 * wiped afterwards. agreed: the program exited well; for ASKPASS_CONFIRM
 * also: it printed nothing else than yes. */
typedef void (*askpass_fn)(void *arg, bool agreed, const char *answer);

/* Asks while the loop goes on. text is shown as it is: escape what a peer sent.
 * told is called once, later, unless askpass_drop() comes before. NULL: nobody
 * can be asked, which is no consent; why was logged. */
struct askpass *askpass_ask(struct loop *loop, enum askpass_kind kind,
    const char *text, askpass_fn told, void *arg);
/* The question is no longer of interest: the program is ended. NULL is fine. */
void askpass_drop(struct askpass *a);

#endif
