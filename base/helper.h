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
	int fd;	   /* -1: it was given up */
	int useless; /* what is returned when it is */
	size_t answer_max;
	struct buf out; /* with its length in front; wiped */
	struct buf in;
};

/* Runs the program that the environment's variable names, or else the usual
 * one. On error it is as after helper_give_up(). */
int helper_start(struct helper *h, const char *variable, const char *usual,
    size_t answer_max, int useless) must_check;
/* Is that program there, and may it be run? */
bool helper_is_there(const char *variable, const char *usual);
/* Ends it, whatever it does. It is not asked again. */
void helper_give_up(struct helper *h);

/* What is to be sent to it; forgets the answer before. */
int helper_ask(struct helper *h, const struct buf *request) must_check;
/* Does it wait to write, rather than to read? */
bool helper_writes(const struct helper *h);
/* When the descriptor is ready. ERR_AGAIN; or 0 and its answer, which is valid
 * up to the next call; or the error, after which it was given up. */
int helper_step(struct helper *h, struct span *answer) must_check;
/* Until the descriptor is ready, or ERR_TIMEOUT (clock_ms). */
int helper_wait(const struct helper *h, uint64_t end_ms) must_check;

#endif
