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

/* Called when fd is ready. events: LOOP_READ, LOOP_WRITE or both. After a
 * hang-up or an error fd is ready for all events that are wanted. */
typedef void (*loop_fd_fn)(void *arg, int fd, int events);
typedef void (*loop_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

/* Makes a loop. NULL: memory or descriptors are out. */
struct loop *loop_new(void);
/* A loop that uses poll(2) on every system, for processes that may make few
 * system calls. */
struct loop *loop_new_portable(void);
void loop_free(struct loop *l);

/* Watches fd, which is borrowed, for events. The loop owns the watch, which may
 * be removed inside a callback. */
struct loop_fd *loop_watch(struct loop *l, int fd, int events, loop_fd_fn fn,
    void *arg);
void loop_fd_want(struct loop_fd *w, int events);
void loop_unwatch(struct loop *l, struct loop_fd *w); /* NULL is fine */

/* A timer fires once, delay_ms from now; it is gone before fn is called. */
struct loop_timer *loop_after(struct loop *l, uint64_t delay_ms, loop_fn fn,
    void *arg);
void loop_cancel(struct loop *l, struct loop_timer *t); /* NULL is fine */

/* Has the loop call fn after the signal signo has arrived, once if it arrived
 * several times. fn NULL: the signal has its default action again; if it ends
 * processes and has arrived without fn being called, it ends this one now. */
int loop_on_signal(struct loop *l, int signo, loop_signal_fn fn,
    void *arg) must_check;

/* As loop_on_signal(), but a signal that was ignored when this program began
 * (nohup) stays ignored. An error is only logged. */
void loop_on_signal_if_wanted(struct loop *l, int signo, loop_signal_fn fn,
    void *arg);

/* Calls the functions of loop_on_signal() for signals that have arrived since
 * the last turn. */
void loop_take_signals(struct loop *l);
/* Lets the signal signo, unless it is ignored, end the process at once with
 * this status: for programs that leave nothing behind. Not for signals of
 * loop_on_signal(). */
int loop_exit_on_signal(int signo, int status) must_check;

/* Called once a turn, before the loop waits, for instance to write output. The
 * functions are called in the order in which they were added. If one returns
 * true, the loop does not wait in this turn. A function may be removed, by the
 * same fn and arg, inside of any callback. */
typedef bool (*loop_turn_fn)(void *arg);
int loop_on_turn(struct loop *l, loop_turn_fn fn, void *arg) must_check;
void loop_off_turn(struct loop *l, loop_turn_fn fn, void *arg);

/* Runs until loop_stop(); 0 or ERR_SYSTEM. loop_turn() does one turn that
 * waits at most max_wait_ms (-1: no limit). */
int loop_run(struct loop *l) must_check;
int loop_turn(struct loop *l, int max_wait_ms) must_check;
void loop_stop(struct loop *l);
void loop_wake(struct loop *l);
/* Lets the present turn not wait, so that the functions of loop_on_turn() are
 * called again soon. It does what loop_wake() does, at less cost, for the
 * loop's own thread. */
void loop_again(struct loop *l);

#endif
