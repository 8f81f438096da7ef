/* SPDX-License-Identifier: ISC */
/*
 * What is in a tree, or what certain names are, as an SFTP server tells it:
 * groups of entries in the order of walk@hpnssh.org (xfer/sftp/walk-reader.h),
 * whether the server has that extension or has to be asked directory by
 * directory. A tree of this host is scanned through a server of its own, too.
 *
 * A group is always whole and sorted, however wide its directory is, and is
 * told entry by entry, so a reader need not hold it either. Our server keeps
 * to that in bounded memory; what a stock server tells of a wide directory is
 * sorted in an unnamed file of this host ($TMPDIR or /var/tmp).
 *
 * The scan asks ahead, and never blocks: whoever reads it gives its session
 * turns. Its first requests leave at once, together with INIT and with a
 * confine@hpnssh.org that was asked for before. The scan has to be freed before
 * its session.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_SCAN_H
#define HPN_XFER_SYNC_SYNC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/sftp/walk-reader.h"

struct sftp;
struct sync_owners;
struct sync_scan;

enum { SYNC_SCAN_LATER = 2 }; /* no item is here yet */

struct sync_scan_opts {
	/* The path of the top, and the same in a session that confine@ has made
	 * a root for: "/" or "/sub". Which one holds is known when the answer
	 * to confine@ is there. */
	const char *root, *confined_root;
	uint32_t want;	  /* enum walk_want */
	/* Rules in the form of a walk, which save the server work; whoever
	 * reads the scan applies its rules to all items just the same. */
	const void *rules;
	size_t rules_len;
	bool recursive;	  /* false: the top's group only */
	bool many;	  /* one of many scans at a time: little is read
			   * ahead */
	bool copy_links;  /* links are what they lead to (-L) */
	bool copy_dirlinks; /* those to directories are (-k) */
	/* The paths below the root that are scanned in place of the whole tree,
	 * each once, in any order; NULL: the tree. The groups are those of
	 * their directories. A path that is not there is no entry. */
	const char *const *names;
	size_t n_names;
	/* Maps ids of the items to the target's; NULL: they are not mapped.
	 * With owners_guess they are not mapped either, but asked for: they are
	 * ids of the target, and mostly those of the source as well. */
	struct sync_owners *owners;
	bool owners_guess;
};

/* Begins the scan. What o points to is borrowed. */
int sync_scan_new(struct sync_scan **out, struct sftp *s,
    const struct sync_scan_opts *o) must_check;
/* Frees the scan, which may be in the middle of its work. */
void sync_scan_free(struct sync_scan *c); /* NULL: nothing */
/* Gets the next item. 1: it is *item, valid until the next call.
 * SYNC_SCAN_LATER: it has not come yet. 0: the scan is whole. ERR_*: it is not,
 * and never will be. A group that could not be
 * read is an item with a status. */
int sync_scan_next(struct sync_scan *c, struct walk_item *item) must_check;
/* For a scan with owners: reads the items that have come, so that their ids are
 * asked for before the first item is wanted. */
void sync_scan_read_ahead(struct sync_scan *c);
/* What the top itself is: WALK_UNKNOWN with a status if it is not there.
 * SYNC_SCAN_LATER, 1 or ERR_*. A link is followed. */
int sync_scan_top(struct sync_scan *c, struct walk_item *item) must_check;
/* Times have nanoseconds. Known with the first item. */
bool sync_scan_has_ns(const struct sync_scan *c);
/* Digests come with WALK_DIGEST. Known with the first item. */
bool sync_scan_has_digests(const struct sync_scan *c);

#endif
