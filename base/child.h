/* SPDX-License-Identifier: ISC */
/*
 * Programs that carry bytes for this one over pipes.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_CHILD_H
#define HPN_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Makes a pipe with a large buffer, which programs that are started do not
 * inherit. ends[0] is read. */
int child_pipe(int ends[2]) must_check;
/* Starts argv[0] (searched in PATH if without '/') with in and out as its
 * standard input and output; -1: ours. */
int child_spawn(pid_t *pid, char *const argv[], int in, int out) must_check;
/* Waits until the child has ended; *status as waitpid(2) gives it. */
int child_reap(pid_t pid, int *status) must_check;
/* Waits until the child has ended. Returns its exit status, or 128 + the signal
 * that ended it. */
int child_wait(pid_t pid) must_check;
/* For callers that have nothing else to do: both wait until the deadline
 * (clock_ms) at most, and then return ERR_TIMEOUT. child_read_all() appends
 * what it reads from fd until its end; ERR_LIMIT: it is more than max bytes.
 * The other one is child_reap() with a limit. */
int child_read_all(int fd, uint64_t deadline_ms, size_t max,
    struct buf *out) must_check;
int child_reap_until(pid_t pid, uint64_t deadline_ms, int *status) must_check;
/*
 * Kills a child without waiting for its end, which may take long if it is
 * inside a driver. Later calls of either function reap it. One thread only.
 */
void child_abandon(pid_t pid);
void child_reap_abandoned(void);
/* Does this status of waitpid(2) tell of a crash, rather than of an exit or
 * of a signal that was sent on purpose? */
bool child_crashed(int wait_status);

#endif
