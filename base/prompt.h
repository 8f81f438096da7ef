/* SPDX-License-Identifier: ISC */
/*
 * Asking the user: on the controlling terminal, or through the program that
 * SSH_ASKPASS names (base/askpass.h), as SSH_ASKPASS_REQUIRE says (never,
 * prefer, force).
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_BASE_PROMPT_H
#define HPN_BASE_PROMPT_H


enum prompt_echo { PROMPT_HIDDEN, PROMPT_VISIBLE };

/* The answer without line end; NULL if there is no terminal and no program to
 * ask with, or the user cancelled. text is shown as it is: escape what a peer
 * sent. Caller frees with prompt_free(). */
char *prompt_ask(const char *text, enum prompt_echo echo);
/* For programs that scripts feed: where the standard input is no terminal, the
 * program is preferred to the terminal; and without either of them the answer
 * is a line of the standard input. */
char *prompt_ask_or_read(const char *text);
void prompt_free(char *answer); /* wipes; NULL is fine */

#endif
