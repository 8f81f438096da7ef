/* SPDX-License-Identifier: ISC */
/*
 * The entries of one directory: they come in any order, and are told sorted by
 * the bytes of their names, each name once. More of them than memory is meant
 * for go to an unnamed file, a sorted run at a time, and are merged when they
 * are told.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_SCAN_GROUP_H
#define HPN_XFER_SYNC_SYNC_SCAN_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "xfer/sftp/walk-reader.h"

enum { SCAN_RUN_ENTRIES = 16384 }; /* a run has about so many */

struct scan_entry {
	struct walk_item item; /* without name and text, until it is sorted */
	size_t name;	       /* where it lies in the group's names */
	char *text;	       /* of a link; owned, or NULL */
	char *real;	       /* real path of a directory that a link leads to;
				* owned, or NULL */
	uint8_t *set;	       /* owned; item.xattrs points to it; or NULL */
	uint64_t dev;
	unsigned looks; /* that were made at it: enum list_look_kind */
	bool via_link;	/* it is what a link leads to */
	bool dropped;	/* it is not told */
};

struct scan_run;

/* The unnamed file, for any number of groups. It is made when it is needed.
 * Embedded; zeroed it is none. */
struct scan_file {
	bool open;
	int fd;
	uint64_t len;
};
void scan_file_close(struct scan_file *f);

/* Embedded; zeroed, but for the file, it is empty. */
struct scan_group {
	struct scan_entry *v; /* owned; not yet in a run */
	size_t count, cap, next;
	struct buf names;
	size_t set_bytes; /* bytes of all entries' extended attributes */
	struct scan_run *runs; /* owned */
	size_t n_runs;
	struct scan_file *file; /* borrowed; for the runs */
	size_t *heap; /* owned: runs by the names that come next in them */
	size_t in_heap;
	char *before; /* the last name that was told; owned, or NULL */
	bool any, merging;
	uint64_t total;
};

void scan_group_clear(struct scan_group *g);
/* Adds an entry; good until the next call. NULL: no memory. */
struct scan_entry *scan_group_add(struct scan_group *g, const void *name,
    size_t len, const struct walk_item *item);
/* Sets the extended attributes of an entry. The entry is marked as one whose
 * attributes are unread if the group would need too much memory, or if they
 * could not be read (set NULL). */
void scan_group_set_xattrs(struct scan_group *g, struct scan_entry *e,
    const struct buf *set);
const char *scan_group_name(const struct scan_group *g,
    const struct scan_entry *e);
/* Memory that its entries take. */
size_t scan_group_bytes(const struct scan_group *g);
/* Moves the entries to the file. */
int scan_group_spill(struct scan_group *g) must_check;
/* Sorts the entries; then they are told one by one. 1; 0: there are no more;
 * ERR_*. */
int scan_group_sort(struct scan_group *g) must_check;
int scan_group_next(struct scan_group *g, struct walk_item *item) must_check;

#endif
