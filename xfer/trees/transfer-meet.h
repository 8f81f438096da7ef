/* SPDX-License-Identifier: ISC */
/*
 * Two sources whose names are one at the target, as `a` and `A` are on most
 * Macs. The second would replace the first, so it is not copied, which is told.
 *
 * Only the target's file system knows which names are one there. It is asked,
 * once for each directory in which names of sources may meet
 * (xfer/name-form.h): a directory is made and looked for under its other name.
 * Where that cannot be made, names are taken to differ.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TREES_TRANSFER_MEET_H
#define HPN_XFER_TREES_TRANSFER_MEET_H

#include "xfer/state/transfer-state.h"

/* ---- transfer-names.c: sets of names ------------------------------------ */

/* A name's hash: 64 bits of SHA-256, so that nobody can make up a name with the
 * hash of another one. False: there is none. */
bool xfer_names_hash(const char *name, uint64_t *hash);
/* Adds a hash to *names (NULL: to a new set). False if it was there; true also
 * if there was no memory. */
bool xfer_names_add(struct xfer_names **names, uint64_t hash);
/* names may be NULL. */
bool xfer_names_has(const struct xfer_names *names, uint64_t hash);
void xfer_names_free(struct xfer_names **names);

/* ---- transfer-meet.c ---------------------------------------------------- */

/*
 * Notes a name that was found in d, or the target of a named source (d NULL).
 * The result is for xfer_meet_take(): in which ways another name, found before
 * or still to be found in d, may be one with it; 0: there is none. self: of a
 * source on this host; else NULL.
 */
unsigned xfer_meet_note(struct xfer *x, struct xfer_dir *d, const char *name,
    const struct stat *self);
/* Has a source copied that was found in d, or tells why it is not; later if the
 * server has to be asked. Owns what found owns, also after an error. */
int xfer_meet_take(struct xfer *x, struct xfer_dir *d, unsigned meets,
    const struct xfer_found *found) must_check;
/* The target directory is there, or it failed. m may be NULL. */
void xfer_meet_turn(struct xfer_meet *m);
void xfer_meet_free(struct xfer_meet *m);

#endif
