/* SPDX-License-Identifier: ISC */
/*
 * A helper: a process that does what this one had better not do itself, such as
 * running somebody's library. It gets requests on a socket, each with its
 * length in front, and answers each. A helper may hang, crash and lie, so only
 * helper_wait() waits for it, and the length of an answer has a limit.
 *
 * Threads: any, but one at a time, for the whole of it (child_abandon()).
 */
#ifndef HPN_BASE_HELPER_H
#define HPN_BASE_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/wire.h"

struct helper {
	pid_t pid; /* 0: none */
	int fd;	   /* -1: the helper was given up */
	/* the error that calls return once the helper was given up */
	int useless;
	size_t answer_max;
	struct buf out; /* the request, with its length in front; wiped */
	struct buf in;
};

/* Runs the program that the environment variable `variable` names, or else the
 * usual one. After an error h is as after helper_give_up(). */
int helper_start(struct helper *h, const char *variable, const char *usual,
    size_t answer_max, int useless) must_check;
/* Is that program there, and may it be run? */
bool helper_is_there(const char *variable, const char *usual);
/* Ends the helper, whatever it is doing. Later calls with h fail. */
void helper_give_up(struct helper *h);

/* Makes `request` the one that helper_step() sends next, and forgets the last
 * answer. */
int helper_ask(struct helper *h, const struct buf *request) must_check;
/* Does the helper wait until h->fd is writable? False: until it is readable. */
bool helper_writes(const struct helper *h);
/* Sends and receives when h->fd is ready. 0: *answer is the answer, valid up to
 * the next call. ERR_AGAIN: the answer is not complete. Another error: the
 * helper was given up. */
int helper_step(struct helper *h, struct span *answer) must_check;
/* Waits until h->fd is ready; ERR_TIMEOUT at end_ms (clock_ms). */
int helper_wait(const struct helper *h, uint64_t end_ms) must_check;

#endif
