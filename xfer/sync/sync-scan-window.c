/* SPDX-License-Identifier: ISC */
/*
 * A window between a scan and its reader.
 *
 * DESIGN. An item whose ids are known goes straight through. If one has to
 * wait, the window is filled with items behind it, so that their ids are asked
 * for together: owners then cost two round trips for a tree, not two for each
 * owner. Items before an error of the scan are still told.
 */
#include "xfer/sync/sync-scan-internal.h"

#include <stdlib.h>

#include "xfer/sync/sync-acls.h"
#include "xfer/sync/sync-kept.h"
#include "xfer/sync/sync-owners.h"

enum { BYTES_MAX = 2 * 1024 * 1024 }; /* of items that wait */

struct scan_window {
	struct scan_window_source from;
	struct sync_kept_list kept;
	struct sync_kept *told; /* owned; NULL: none */
	/* Extended attributes with the target's ids: of the item that was told
	 * last, of the top, and of an item that is only looked at. */
	struct buf xattrs, of_top, seen;
	size_t bytes;
	bool over; /* the scan has ended, with the result `end` */
	int end;
};

struct scan_window *
scan_window_new(const struct scan_window_source *from)
{
	struct scan_window *w = calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	w->from = *from;
	TAILQ_INIT(&w->kept);
	return w;
}

void
scan_window_free(struct scan_window *w)
{
	struct sync_kept *k;

	if (w == NULL)
		return;
	while ((k = TAILQ_FIRST(&w->kept)) != NULL) {
		TAILQ_REMOVE(&w->kept, k, entry);
		free(k);
	}
	free(w->told);
	buf_clear(&w->xattrs);
	buf_clear(&w->of_top);
	buf_clear(&w->seen);
	free(w);
}

/* Maps the item's ids to those with which it is told. False: some are not known
 * yet; they will be asked for. set: buffer for mapped extended attributes. */
static bool
is_known(struct scan_window *w, struct walk_item *item, struct buf *set)
{
	struct sync_owners *o = w->from.owners;
	bool user, group, acls = true, has_acls;
	uint32_t uid, gid;

	if (item->is_group || item->kind == WALK_UNKNOWN)
		return true;
	user = sync_owners_find(o, OWNERS_USER, item->uid, &uid);
	group = sync_owners_find(o, OWNERS_GROUP, item->gid, &gid);
	has_acls = sync_acls_have_ids(item->xattrs);
	if (has_acls)
		acls = sync_acls_map(o, item->xattrs, set);
	if (w->from.guess)
		return true;
	if (user && group && acls) {
		item->uid = uid;
		item->gid = gid;
		if (has_acls)
			item->xattrs = buf_span(set);
	}
	return user && group && acls;
}

static void
end(struct scan_window *w, int r)
{
	w->over = true;
	w->end = r;
}

static void
keep(struct scan_window *w, const struct walk_item *item)
{
	struct sync_kept *k = sync_kept_new(item);

	if (k == NULL) {
		end(w, ERR_NOMEM);
		return;
	}
	w->bytes += k->bytes;
	TAILQ_INSERT_TAIL(&w->kept, k, entry);
}

void
scan_window_fill(struct scan_window *w)
{
	struct walk_item item, seen;
	int r;

	while (!w->over && w->bytes < BYTES_MAX) {
		r = w->from.next(w->from.scan, &item);
		if (r == SYNC_SCAN_LATER)
			break;
		if (r != 1) {
			end(w, r);
			break;
		}
		seen = item;
		(void)is_known(w, &seen, &w->seen);
		keep(w, &item);
	}
	/* An error shows at the next item that has to wait. */
	(void)!sync_owners_ask(w->from.owners);
}

/* Takes the first item that waits, if its ids are known by now. */
static bool
take_kept(struct scan_window *w, struct walk_item *item)
{
	struct sync_kept *k = TAILQ_FIRST(&w->kept);

	if (k == NULL || !is_known(w, &k->item, &w->xattrs))
		return false;
	TAILQ_REMOVE(&w->kept, k, entry);
	w->bytes -= k->bytes;
	w->told = k;
	*item = k->item;
	return true;
}

int
scan_window_next(struct scan_window *w, struct walk_item *item)
{
	int r;

	free(w->told);
	w->told = NULL;
	if (take_kept(w, item))
		return 1;
	if (TAILQ_EMPTY(&w->kept)) {
		if (w->over)
			return w->end;
		r = w->from.next(w->from.scan, item);
		if (r != 1 || is_known(w, item, &w->xattrs))
			return r;
		keep(w, item);
	}
	scan_window_fill(w);
	if ((r = sync_owners_ask(w->from.owners)) < 0)
		return r;
	return take_kept(w, item) ? 1 : SYNC_SCAN_LATER;
}

int
scan_window_map(struct scan_window *w, struct walk_item *item)
{
	int r;

	if (is_known(w, item, &w->of_top))
		return 1;
	r = sync_owners_ask(w->from.owners);
	return r < 0 ? r : is_known(w, item, &w->of_top) ? 1 : SYNC_SCAN_LATER;
}
