/* SPDX-License-Identifier: ISC */
/*
 * Copies of items of a scan. A scan keeps an item only until its next one;
 * callers that read ahead need them longer.
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
	void *with; /* the reader's own data about the item; NULL at first */
	size_t bytes; /* memory that it takes */
	uint8_t digest[WALK_DIGEST_LEN];
	TAILQ_ENTRY(sync_kept) entry;
	char text[]; /* path or name, text of a link, and set of extended
		      * attributes */
};
TAILQ_HEAD(sync_kept_list, sync_kept);

/* Copies an item. NULL: no memory. The caller frees the copy with free(). */
struct sync_kept *sync_kept_new(const struct walk_item *item);

#endif
