/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-kept.h"

#include <stdlib.h>
#include <string.h>

struct sync_kept *
sync_kept_new(const struct walk_item *item)
{
	const char *first = item->is_group ? item->path : item->name;
	const char *second = item->is_group || item->text == NULL ? "" :
								    item->text;
	size_t len = strlen(first) + 1, more = strlen(second) + 1;
	size_t set = item->is_group ? 0 : item->xattrs.len;
	struct sync_kept *k = calloc(1, sizeof *k + len + more + set);

	if (k == NULL)
		return NULL;
	k->bytes = sizeof *k + len + more + set;
	k->item = *item;
	memcpy(k->text, first, len);
	memcpy(k->text + len, second, more);
	k->item.path = k->item.name = k->text;
	k->item.text = k->text + len;
	if (set > 0) {
		memcpy(k->text + len + more, item->xattrs.p, set);
		k->item.xattrs.p = (const uint8_t *)k->text + len + more;
	}
	if (item->digest != NULL) {
		memcpy(k->digest, item->digest, sizeof k->digest);
		k->item.digest = k->digest;
	}
	return k;
}
