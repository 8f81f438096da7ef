/* SPDX-License-Identifier: ISC */
/*
 * A part belongs to the copy that made it, or that has taken it over. A copy is
 * known by a number. Each descriptor through which a part is written holds it
 * for its copy: handles of one copy, which may be of several sessions and
 * processes, hold a part together, two copies never do. A hold is a lock of the
 * open file (F_OFD_SETLK), so it ends when the file is closed, and with the
 * process. On file systems without locks nothing is held, and no hold is seen.
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

struct stat;

/* The number of all programs that tell none: they may hold a part together. */
enum { XFER_COPY_UNKNOWN = 0 };

/* Makes a new part, open for reading and writing, and held for copy. Returns a
 * descriptor, or -1 with errno; EEXIST: the name is taken. */
int xfer_part_make(int at, const char *name, mode_t mode, uint64_t copy);
/* Opens a part that is there, and holds it for copy. It must be this user's and
 * have no other name (else EPERM), and no other copy may hold it (EBUSY).
 * Returns a descriptor, or -1 with errno. */
int xfer_part_take(int at, const char *name, uint64_t copy);
/* Holds the file that fd is for copy. further: only if the copy has it open
 * already; else only if it has not, because the session of a lost connection
 * may still write to it. False with EBUSY if it cannot be held. A handle that
 * cannot read is held as long as the copy's first handle. */
bool xfer_part_hold(int fd, uint64_t copy, bool further);
/* Is the file that fd is held by another handle, too, of whatever copy? */
bool xfer_part_is_shared(int fd);
/* Does any copy hold the part of that name? */
bool xfer_part_is_held(int at, const char *name);
/* Is name still that of the file that fd is? */
bool xfer_part_is(int fd, int at, const char *name);
/* Is fd a file of this user's, with one name? Nothing else is a part of ours,
 * whatever its name: another user may have put it there. */
bool xfer_part_is_own(int fd);
/* Renames the part, if it is still the file that fd is. ESTALE if part was the
 * name of another file before, or target is afterwards. EBUSY if the target is
 * itself a part which some copy writes: it is left alone. */
int xfer_part_to_target(int fd, int at, const char *part, int to_at,
    const char *target);
/* Does the same for a file that the caller holds open, and has the attributes
 * of. */
int xfer_part_give_name(const struct stat *st, int at, const char *part,
    int to_at, const char *target);

#endif
