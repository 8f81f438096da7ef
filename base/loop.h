/* SPDX-License-Identifier: ISC */
/*
 * The event loop: descriptors, timers, signals and work to be done once a
 * turn. One loop per process, run by the thread that made it. Signal
 * handlers only write to a pipe; the callbacks run in the loop.
 *
 * Threads: loop thread only, but loop_wake() may be called by any.
 */
#ifndef HPN_BASE_LOOP_H
#define HPN_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_fd;
struct loop_timer;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* events: LOOP_READ | LOOP_WRITE as ready; hang-up and error count as both
 * of the wanted ones. */
typedef void (*loop_fd_fn)(void *arg, int fd, int events);
typedef void (*loop_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

/* Life. NULL when memory or descriptors are out. */
struct loop *loop_new(void);
/* With poll(2) in any case, for processes that may call little else. */
struct loop *loop_new_portable(void);
void loop_free(struct loop *l);

/* Descriptors. The watch is owned by the loop; fd is borrowed. A watch
 * starts with the given events and may be removed inside a callback. */
struct loop_fd *loop_watch(struct loop *l, int fd, int events, loop_fd_fn fn,
    void *arg);
void loop_fd_want(struct loop_fd *w, int events);
void loop_unwatch(struct loop *l, struct loop_fd *w); /* NULL is fine */

/* A timer fires once, delay_ms from now; it is gone before fn is called. */
struct loop_timer *loop_after(struct loop *l, uint64_t delay_ms, loop_fn fn,
    void *arg);
void loop_cancel(struct loop *l, struct loop_timer *t); /* NULL is fine */

/* fn is called in the loop after signo arrived (once for several). NULL
 * gives the signal its default action back, also for one that arrived and
 * was not told yet, if it asks the process to end. */
int loop_on_signal(struct loop *l, int signo, loop_signal_fn fn,
    void *arg) must_check;

/* The same for a signal that may have been ignored since before this program
 * began (nohup), which it then stays. Only a lack of means is logged. */
void loop_on_signal_if_wanted(struct loop *l, int signo, loop_signal_fn fn,
    void *arg);

/* Calls the functions of loop_on_signal() for signals that have arrived since
 * the last turn. */
void loop_take_signals(struct loop *l);
/* signo, unless it is ignored, ends the process at once with this status:
 * for programs with nothing to tidy up. Not for signals of loop_on_signal(). */
int loop_exit_on_signal(int signo, int status) must_check;

/* Called once a turn, before waiting, in the order of adding: here output is
 * flushed. If one returns true, the loop does not wait but only looks.
 * Removing (fn and arg as added) is allowed inside of any callback. */
typedef bool (*loop_turn_fn)(void *arg);
int loop_on_turn(struct loop *l, loop_turn_fn fn, void *arg) must_check;
void loop_off_turn(struct loop *l, loop_turn_fn fn, void *arg);

/* Runs until loop_stop(); 0 or ERR_SYSTEM. loop_turn() does one turn that
 * waits at most max_wait_ms (-1: no limit). */
int loop_run(struct loop *l) must_check;
int loop_turn(struct loop *l, int max_wait_ms) must_check;
void loop_stop(struct loop *l);
void loop_wake(struct loop *l);
/* The turn that is under way does not wait, so that the functions of
 * loop_on_turn() are called once more. A cheap loop_wake() for the loop's own
 * thread. */
void loop_again(struct loop *l);

#endif
