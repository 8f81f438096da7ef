/* SPDX-License-Identifier: ISC */
/* Files that have several names (hard links), by their numbers: which names are
 * found, and where the first one is. Threads: one at a time. */
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

/* All zero to begin with. */
struct xfer_hard_table {
	size_t used, size; /* size: a power of two */
	struct keyed_hash key; /* the numbers are a peer's */
	struct xfer_hard **rows;
};

/* Where the file is in the table, or would be added. */
struct xfer_hard **xfer_hard_find(const struct xfer_hard_table *t,
    uint64_t dev, uint64_t ino);
/* Makes room for one more. False: no memory. */
bool xfer_hard_grow(struct xfer_hard_table *t) must_check;
void xfer_hard_remove(struct xfer_hard_table *t, struct xfer_hard **at);

#endif
