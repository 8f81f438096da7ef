/* SPDX-License-Identifier: ISC */
/*
 * Names of a directory that wait until all of its names are known, because two
 * of them may be one at the target (xfer/name-folds.h). From the first name on
 * that only one end has, all of them wait, in their order; where the target
 * does not have the directory, from the first one on that may be one with
 * another before it.
 *
 * Only the target knows what is one there. It is asked (LSTAT) for a new name
 * of a class that has several: if it has that, though it did not list it, the
 * two are one file. Two new names of a class are asked for when the first one
 * has been made. So where names do not meet nothing is asked, and nothing waits
 * for an answer.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_HELD_H
#define HPN_XFER_SYNC_SYNC_HELD_H

#include <stdbool.h>

#include "base/err.h"
#include "xfer/sftp/walk-reader.h"

struct sync_held;
struct sync_pair_state;
struct sync_plan;

/* The open group's next name, and what it is at its source and at the target
 * (NULL: it is not there). True if it waits. */
bool sync_held_takes(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t);
/* Is a name of the open group waiting? */
bool sync_held_waits(const struct sync_pair_state *s);
/* Are so many waiting that they have to be judged before more are read? */
bool sync_held_is_full(const struct sync_plan *p);
/* Decides about the names that wait. 0: about all; SYNC_SCAN_LATER; ERR_*.
 * group_ends: the next name is one of another group. */
int sync_held_judge(struct sync_plan *p, bool group_ends) must_check;
/* False: no name that waited is judged now. Else out: what the pair's further
 * directory `dest` had by it, whose scan has gone on since; NULL: nothing. */
bool sync_held_dest(const struct sync_pair_state *s, unsigned dest,
    const struct walk_item **out);
void sync_held_free(struct sync_pair_state *s);

#endif
