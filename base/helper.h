/* SPDX-License-Identifier: ISC */
/*
 * A helper: a process of its own that does for this one what it had better not
 * do itself, such as running somebody's library. It gets requests on a socket,
 * each with its length in front, and gives an answer to each. It may hang,
 * crash and lie: nothing here waits for it but helper_wait(), and an answer
 * has a limit.
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
	int useless; /* the error that calls return after that */
	size_t answer_max;
	struct buf out; /* with its length in front; wiped */
	struct buf in;
};

/* Runs the program that the environment's variable names, or else the usual
 * one. After an error h is as after helper_give_up(). */
int helper_start(struct helper *h, const char *variable, const char *usual,
    size_t answer_max, int useless) must_check;
/* Is that program there, and may it be run? */
bool helper_is_there(const char *variable, const char *usual);
/* Ends the helper, whatever it does. It is not asked again. */
void helper_give_up(struct helper *h);

/* Makes request the next that helper_step() sends; forgets the last answer. */
int helper_ask(struct helper *h, const struct buf *request) must_check;
/* Is h->fd waited for to be writable, rather than readable? */
bool helper_writes(const struct helper *h);
/* Sends and receives, when h->fd is ready. ERR_AGAIN: there is more to come; 0:
 * *answer is valid up to the next call; or an error, after which the helper was
 * given up. */
int helper_step(struct helper *h, struct span *answer) must_check;
/* Waits until h->fd is ready; ERR_TIMEOUT at end_ms (clock_ms). */
int helper_wait(const struct helper *h, uint64_t end_ms) must_check;

#endif
