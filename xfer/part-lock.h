/* SPDX-License-Identifier: ISC */
/*
 * Who writes to a part holds a lock on it (flock), which ends with the
 * process: so a part of somebody who is at it is told from one that was left
 * behind. A program that receives holds it alone, from before it writes until
 * the part has its final name; servers, where several sessions may write one
 * part for the same client, hold it together. File systems without locks
 * tell nothing.
 *
 * A name is looked up from the directory `at`, as by openat(2).
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PART_LOCK_H
#define HPN_XFER_PART_LOCK_H

#include <sys/types.h>

#include <stdbool.h>

/*
 * Opens a part for reading and writing, held alone. With keep it is one that
 * is there, is ours and has no other name; else (or if there is none such,
 * then *keep becomes false) a new one, and one that was left behind goes. A
 * descriptor, or -1 with errno: EBUSY if somebody holds it who may, as he is
 * this user; EACCES or EPERM if it is another's and cannot go.
 */
int xfer_part_claim(int at, const char *name, mode_t mode, bool *keep);
/* Is this still the name of what fd is? */
bool xfer_part_is(int fd, int at, const char *name);
/* Is it a file of this user's, with one name? Nothing else is a part of ours,
 * whatever its name: a neighbour may have put it there. */
bool xfer_part_is_own(int fd);
/* A server's, which was opened for writing, or claimed. False (EBUSY):
 * somebody else holds it alone. */
bool xfer_part_share(int fd);

#endif
