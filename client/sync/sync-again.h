/* SPDX-License-Identifier: ISC */
/*
 * --retry, for a run that cannot go on in place: the program executes itself
 * again, and compares everything anew. Files that an earlier try has copied are
 * equal by then, so they are not copied again. A few numbers of the earlier
 * tries are handed on.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_AGAIN_H
#define HPN_CLIENT_SYNC_SYNC_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

struct login_ticket;
struct sync_run;

/* Keeps the command line (argv is borrowed) before it is read, and takes what
 * an earlier try has left in the environment. */
void sync_again_begin(int argc, char **argv);
/* True if an earlier try has run this program again. */
bool sync_again_is(void);
/* The number of this try, from 1 on. */
unsigned sync_again_tries(void);
/* Puts into run what earlier tries hand on: the time at which the first one
 * began, and how many names may still be deleted. */
void sync_again_apply(struct sync_run *run);
/* Notes an item that is done, for what a later try has to know. */
void sync_again_item(const struct sync_run *run, const char *letters);
/* True if the run may begin again after its connection was lost with err. */
bool sync_again_may(const struct sync_run *run, int err);
/* Waits, and executes the program again if that is allowed; else it returns. */
void sync_again(struct sync_run *run, int err);

/* The ticket by which this try takes the place of the last one's login; kind 0:
 * there is none. */
const struct login_ticket *sync_again_ticket(void);
/* The random text that the locks of all tries of this run contain. */
const char *sync_again_token(void);
/* Notes whether a lock is being made now. An empty lock that is found after the
 * connection was lost meanwhile is then this run's. */
void sync_again_locks(bool now);
/* True if the last try ended while it made a lock. */
bool sync_again_locked_half(void);
/* True if a list is read from standard input, which a second try cannot read
 * again. */
bool sync_again_reads_input(void);

#endif
