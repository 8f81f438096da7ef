/* SPDX-License-Identifier: ISC */
/*
 * --retry, where a run cannot go on in place: the program runs itself anew, and
 * compares all again. What an earlier try has done is the same by then, so it
 * is not done again. A few numbers of the tries before go along.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_AGAIN_H
#define HPN_CLIENT_SYNC_SYNC_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

struct login_ticket;
struct sync_run;

/* Before the command line is read: keeps it (argv is borrowed), and takes what
 * an earlier try has left. */
void sync_again_begin(int argc, char **argv);
/* Is this a later try? */
bool sync_again_is(void);
/* The number of this try, from 1 on. */
unsigned sync_again_tries(void);
/* Applies it: the time at which the first try began, and what may still be
 * deleted. */
void sync_again_apply(struct sync_run *run);
/* An item is done. */
void sync_again_item(const struct sync_run *run, const char *letters);
/* May the connection, which is lost with err, be made again? */
bool sync_again_may(const struct sync_run *run, int err);
/* Waits, and runs the program anew if that may be; else it returns. */
void sync_again(struct sync_run *run, int err);

/* The ticket by which the last try's login goes on; its kind is 0 if there is
 * none. */
const struct login_ticket *sync_again_ticket(void);
/* What all tries write into their locks. */
const char *sync_again_token(void);
/* A lock is being made: one that is empty is this program's, if the connection
 * is lost meanwhile. */
void sync_again_locks(bool now);
/* Was it, when the last try ended? */
bool sync_again_locked_half(void);
/* Is a list read from standard input, which has it only once? */
bool sync_again_reads_input(void);

#endif
