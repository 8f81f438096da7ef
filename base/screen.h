/* SPDX-License-Identifier: ISC */
/*
 * A line of the terminal that is not finished (the progress of a copy), and
 * what else is written there: log lines, questions, messages. Each of them
 * calls screen_clear() first, so that nothing stands behind half a line.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_SCREEN_H
#define HPN_BASE_SCREEN_H

/* Tells that the caller has an unfinished line, which clear takes off the
 * screen. arg is borrowed; clear NULL: there is no such line any more. */
void screen_set_line(void (*clear)(void *arg), void *arg);
/* Takes that line off: to be called before all other output to the terminal. */
void screen_clear(void);

#endif
