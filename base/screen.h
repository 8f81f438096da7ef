/* SPDX-License-Identifier: ISC */
/*
 * A line of the terminal that is not finished (the progress of a copy), and
 * what else is written there: log lines, questions, messages. Whoever writes to
 * the terminal calls screen_clear() first, so that nothing is written behind
 * half a line.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_SCREEN_H
#define HPN_BASE_SCREEN_H

/* Notes that the caller has an unfinished line on the screen, which clear()
 * removes. arg is borrowed. clear NULL: the caller has no such line any
 * more. */
void screen_set_line(void (*clear)(void *arg), void *arg);
/* Removes the unfinished line, if there is one. To be called before any other
 * output to the terminal. */
void screen_clear(void);

#endif
