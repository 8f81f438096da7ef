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

/* Asks, and returns the answer without the end of its line. NULL: there is no
 * terminal and no program to ask with, or the user cancelled. text is shown as
 * it is, so what a peer sent must be escaped. The caller calls
 * prompt_free(). */
char *prompt_ask(const char *text, enum prompt_echo echo);
/* As prompt_ask(), for programs that scripts write to. If standard input is no
 * terminal, the program of SSH_ASKPASS is asked before the terminal; without
 * program and terminal a line of standard input is the answer. */
char *prompt_ask_or_read(const char *text);
void prompt_free(char *answer); /* wipes; NULL is fine */

#endif
