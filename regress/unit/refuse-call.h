/* SPDX-License-Identifier: ISC */
/*
 * A system call that this process is refused from here on, with an error of the
 * test's choice: what an older kernel, or another one, does. There is no way
 * back, so a test forks first.
 */
#ifndef HPN_REGRESS_UNIT_REFUSE_CALL_H
#define HPN_REGRESS_UNIT_REFUSE_CALL_H

#include <stdbool.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* False: this system cannot refuse calls. */
bool refuse_call(long number, int error);

/* Runs the function in a child: its answer, or fails the test. Calls are
 * refused in there without harm. 77: it had nothing to look at. */
void in_child(int (*function)(void));

#endif
