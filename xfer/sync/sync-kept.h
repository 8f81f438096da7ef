/* SPDX-License-Identifier: ISC */
/*
 * Copies of items of a scan, which itself keeps an item only until its next
 * one, for those who read ahead of whom they tell.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_SYNC_SYNC_KEPT_H
#define HPN_XFER_SYNC_SYNC_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "compat/queue.h"
#include "xfer/sftp/walk-reader.h"

struct sync_kept {
	struct walk_item item;
	void *with; /* what its reader knows of it besides; NULL at first */
	size_t bytes; /* memory that it takes */
	uint8_t digest[WALK_DIGEST_LEN];
	TAILQ_ENTRY(sync_kept) entry;
	char text[]; /* the path or name, the text of a link, and the set of
		      * extended attributes */
};
TAILQ_HEAD(sync_kept_list, sync_kept);

/* NULL: no memory. It is freed by free(). */
struct sync_kept *sync_kept_new(const struct walk_item *item);

#endif
