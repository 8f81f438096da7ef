/* SPDX-License-Identifier: ISC */
#include "xfer/state/hard-table.h"

#include <stdlib.h>

#include "crypto/rand.h"

enum { HARDS_FIRST = 256 };

struct xfer_hard **
xfer_hard_find(const struct xfer_hard_table *t, uint64_t dev, uint64_t ino)
{
	struct xfer_hard **at =
	    &t->rows[keyed_hash_place(&t->key, dev, ino, t->size)];

	while (*at != NULL && ((*at)->dev != dev || (*at)->ino != ino))
		at = &(*at)->next;
	return at;
}

bool
xfer_hard_grow(struct xfer_hard_table *t)
{
	struct xfer_hard_table more = { .used = t->used, .key = t->key,
		.size = t->size != 0 ? t->size * 2 : HARDS_FIRST };
	struct xfer_hard *h;

	if (t->used < t->size)
		return true;
	more.rows = calloc(more.size, sizeof(struct xfer_hard *));
	if (more.rows == NULL)
		return false;
	if (t->size == 0)
		rand_bytes(&more.key, sizeof more.key);
	for (size_t i = 0; i < t->size; i++)
		while ((h = t->rows[i]) != NULL) {
			t->rows[i] = h->next;
			h->next = NULL;
			*xfer_hard_find(&more, h->dev, h->ino) = h;
		}
	free(t->rows);
	*t = more;
	return true;
}

void
xfer_hard_remove(struct xfer_hard_table *t, struct xfer_hard **at)
{
	struct xfer_hard *h = *at;

	*at = h->next;
	t->used--;
	local_dir_unref(h->at);
	free(h->path);
	free(h);
}
