/* SPDX-License-Identifier: ISC */
/*
 * A table of files that have several names (hard links), by device and inode:
 * the names of each that are found, and where the first one is.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_STATE_HARD_TABLE_H
#define HPN_XFER_STATE_HARD_TABLE_H

#include "base/keyed-hash.h"
#include "xfer/state/transfer-state.h"

/* A file with several names. */
struct xfer_hard {
	uint64_t dev, ino;
	struct xfer_file *owner; /* copies the first name; NULL: done */
	char *path;		 /* owned; its path, once it is there */
	struct local_dir *at;	 /* owned; a download's directory of path */
	uint32_t names;		 /* names that were not found yet */
	struct xfer_files waiting;
	struct xfer_hard *next;
};

/* A zeroed table is empty. */
struct xfer_hard_table {
	size_t used, size; /* size: a power of two */
	struct keyed_hash key; /* secret, because a peer chooses the numbers */
	struct xfer_hard **rows;
};

/* The place of a file in the table, or the free place where it would be
 * added. */
struct xfer_hard **xfer_hard_find(const struct xfer_hard_table *t,
    uint64_t dev, uint64_t ino);
/* Makes room for one more file. False: no memory. */
bool xfer_hard_grow(struct xfer_hard_table *t) must_check;
void xfer_hard_remove(struct xfer_hard_table *t, struct xfer_hard **at);

#endif
