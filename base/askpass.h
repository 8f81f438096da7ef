/* SPDX-License-Identifier: ISC */
/*
 * Asking the user by a program that shows a window (SSH_ASKPASS). askpass_ask()
 * asks while the loop goes on, for processes that must not wait; askpass_wait()
 * waits for the answer.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_ASKPASS_H
#define HPN_BASE_ASKPASS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"

/* The most bytes of an answer. A longer one is refused, because the first part
 * of a secret is useless. The tokens that some institutions have users paste
 * are long. */
enum {
	ASKPASS_ANSWER_MAX = 16 * 1024,
	/* Size of the buffer for an answer: one byte more, by which a longer
	 * answer is noticed, and a NUL. */
	ASKPASS_BUFFER_BYTES = ASKPASS_ANSWER_MAX + 2,
};

enum askpass_kind {
	ASKPASS_CONFIRM, /* yes or no */
	ASKPASS_SECRET,	 /* the user types a secret */
	/* text is shown until askpass_drop(), or until the user closes it */
	ASKPASS_NOTICE,
};

struct askpass;

/* The path of the program: that of SSH_ASKPASS, or our default. */
const char *askpass_program(void);
/* Is there a display that the program could show a window on (X11 or
 * Wayland)? */
bool askpass_has_display(void);

/* May the program be asked? Yes if there is a display, or SSH_ASKPASS_REQUIRE
 * says that it needs none; no if SSH_ASKPASS_REQUIRE says never. */
bool askpass_possible(void);

/* Asks, and waits for the answer, which is empty for a confirmation; the caller
 * calls askpass_free(). NULL: the user cancelled or did not agree, nobody could
 * be asked, or the answer was too long, which was logged. */
char *askpass_wait(enum askpass_kind kind, const char *text);
void askpass_free(char *answer); /* wipes; NULL is fine */

/* Shows text until askpass_hide() is called with the result. 0: the text could
 * not be shown, so there is nothing to hide. */
pid_t askpass_show(const char *text);
void askpass_hide(pid_t window);

/* Called with the answer. answer: what was typed, for ASKPASS_SECRET only,
 * without the end of its line; it is wiped after the call. agreed: the program
 * exited with 0, and for ASKPASS_CONFIRM printed nothing but "yes". */
typedef void (*askpass_fn)(void *arg, bool agreed, const char *answer);

/* Asks while the loop goes on. text is shown as it is, so what a peer sent must
 * be escaped. told is called once, in a later turn, unless askpass_drop() comes
 * before. NULL: nobody can be asked, and the reason was logged; this is no
 * consent. */
struct askpass *askpass_ask(struct loop *loop, enum askpass_kind kind,
    const char *text, askpass_fn told, void *arg);
/* Ends the program of a question whose answer is not wanted any more. NULL is
 * fine. */
void askpass_drop(struct askpass *a);

#endif
