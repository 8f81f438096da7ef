/* SPDX-License-Identifier: ISC */
/*
 * Asking the user through the program that SSH_ASKPASS names, in a window of
 * its own. It is told by SSH_ASKPASS_PROMPT what kind of question it is.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_ASKPASS_H
#define HPN_BASE_ASKPASS_H

#include <stdbool.h>

#include "base/loop.h"

enum { ASKPASS_ANSWER_MAX = 1024 }; /* bytes with the NUL */

enum askpass_kind {
	ASKPASS_TEXT,	 /* a line of text */
	ASKPASS_CONFIRM, /* yes or no */
	ASKPASS_NOTICE,	 /* nothing; shown until it is dropped */
};

/* Is there a display for it (or does SSH_ASKPASS_REQUIRE say that it needs
 * none, or that it must not be used)? */
bool askpass_possible(void);

/* The answer without line end; NULL: the user cancelled, or the program could
 * not be run (which was logged). Caller frees with askpass_free(). Blocks. */
char *askpass_ask(enum askpass_kind kind, const char *text);
void askpass_free(char *answer); /* wipes; NULL is fine */
/* Does an answer to ASKPASS_CONFIRM agree? NULL does not. */
bool askpass_is_consent(const char *answer);

/*
 * The same without waiting: told is called once, later, with an answer that is
 * wiped when it returns; not if the question is dropped before. NULL: nobody
 * can be asked; why was logged.
 */
struct askpass;
typedef void (*askpass_told_fn)(void *arg, const char *answer);
struct askpass *askpass_start(struct loop *loop, enum askpass_kind kind,
    const char *text, askpass_told_fn told, void *arg);
/* The question is no longer of interest: the program is ended. NULL is fine. */
void askpass_drop(struct askpass *a);

#endif
