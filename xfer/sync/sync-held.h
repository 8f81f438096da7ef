/* SPDX-License-Identifier: ISC */
/*
 * Names of a directory that wait until all of its names are known, because two
 * of them may be the same file at the target (xfer/name-folds.h).
 *
 * From the first name on that only one side has, all names of the directory
 * wait, in their order. Where the target does not have the directory, they wait
 * from the first name on that may be the same as one before it. Only the target
 * knows which names it takes for the same. It is asked (LSTAT) for a new name
 * whose class has other names: if it has a name that it did not list, that is
 * another spelling of one that it lists. If a class has two new names, the
 * target is asked for the second one when the first has been made. So in a
 * directory without such classes nothing is asked, and no answer waited for.
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

/* Offers the open group's next name, with its entries at the source and at the
 * target (NULL: it is missing there). True: the name waits, and the group has
 * its own copies of the path and the entries. */
bool sync_held_takes(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t);
/* True if a name of the open group waits. */
bool sync_held_waits(const struct sync_pair_state *s);
/* True if so many names wait that they have to be judged before more are
 * read. */
bool sync_held_is_full(const struct sync_plan *p);
/* Decides about the names that wait. 0: all are done; SYNC_SCAN_LATER; ERR_*.
 * group_ends: the group has no more names. */
int sync_held_judge(struct sync_plan *p, bool group_ends) must_check;
/* Sets *out to the entry that the further directory `dest` had for the waiting
 * name that is being judged; NULL: none. Its scan has gone on since. False: no
 * waiting name is being judged. */
bool sync_held_dest(const struct sync_pair_state *s, unsigned dest,
    const struct walk_item **out);
void sync_held_free(struct sync_pair_state *s);

#endif
