/* SPDX-License-Identifier: ISC */
/*
 * A part belongs to the copy that made it, or that has taken it over. Each
 * descriptor that a part is written through is held for its copy, a number:
 * handles of one copy, which may be of several sessions and processes, hold a
 * part together, two copies never do. A hold is a lock of the open file
 * (F_OFD_SETLK), so it ends with it, and with the process. File systems without
 * locks tell nothing, and hold nothing.
 *
 * A name is looked up from the directory `at`, as by openat(2).
 *
 * Threads: any.
 */
#ifndef HPN_XFER_PART_LOCK_H
#define HPN_XFER_PART_LOCK_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* XFER_COPY_UNKNOWN is for programs that tell no number: they hold parts
 * together. */
enum { XFER_COPY_UNKNOWN = 0 };

/* Makes a new part, open for reading and writing, and held. A descriptor, or
 * -1 with errno; EEXIST: the name is taken. */
int xfer_part_make(int at, const char *name, mode_t mode, uint64_t copy);
/* Opens one that is there. It must be ours and have no other name (else EPERM),
 * and nobody else may hold it (EBUSY). */
int xfer_part_take(int at, const char *name, uint64_t copy);
/* Holds what fd is. further: only if the copy has it open already. False:
 * EBUSY. Handles that cannot read are held as long as the copy's first. */
bool xfer_part_hold(int fd, uint64_t copy, bool further);
/* Does somebody write to the part of that name? */
bool xfer_part_is_held(int at, const char *name);
/* Is this still the name of what fd is? */
bool xfer_part_is(int fd, int at, const char *name);
/* Is it a file of this user's, with one name? Nothing else is a part of ours,
 * whatever its name: a neighbour may have put it there. */
bool xfer_part_is_own(int fd);
/* Renames what fd is, and nothing else: ESTALE if the part's name was that of
 * another file before, or the target's is afterwards. A target that is itself a
 * part which somebody writes is left alone: EBUSY. */
int xfer_part_to_target(int fd, int at, const char *part, int to_at,
    const char *target);

#endif
