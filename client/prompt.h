/* SPDX-License-Identifier: ISC */
/*
 * Asking the user: on the controlling terminal, or through the program that
 * SSH_ASKPASS names (SSH_ASKPASS_REQUIRE: never, prefer, force).
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_CLIENT_PROMPT_H
#define HPN_CLIENT_PROMPT_H

#include <stdbool.h>
#include <sys/types.h>

enum { PROMPT_ANSWER_MAX = 1024 }; /* bytes with the NUL */

enum prompt_echo { PROMPT_HIDDEN, PROMPT_VISIBLE };

/* The answer without line end; NULL if there is no terminal and no program to
 * ask with, or the user cancelled. text is shown as it is: escape what a peer
 * sent. Caller frees with prompt_free(). */
char *prompt_ask(const char *text, enum prompt_echo echo);
/* Shows text in a window, if there is a display, until it is hidden; 0: it is
 * not shown. */
pid_t prompt_show(const char *text);
void prompt_hide(pid_t window);
void prompt_free(char *answer); /* wipes; NULL is fine */

#endif
