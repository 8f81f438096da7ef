/* SPDX-License-Identifier: ISC */
/* The letters of -i for one name, from what was decided (sync-compare.h). */
#include "xfer/sync/sync-compare.h"

#include <string.h>

#include "base/mem.h"

static char
what_happens(const struct sync_decision *d, bool up)
{
	switch (d->action) {
	case SYNC_COPY:
		return up ? '<' : '>';
	case SYNC_MAKE_DIR:
	case SYNC_MAKE_LINK:
		return 'c';
	default:
		return '.';
	}
}

static char
letter_of_kind(enum walk_kind kind)
{
	switch (kind) {
	case WALK_DIR:
		return 'd';
	case WALK_LINK:
		return 'L';
	case WALK_CHAR:
	case WALK_BLOCK:
		return 'D';
	case WALK_FIFO:
	case WALK_SOCKET:
		return 'S';
	default:
		return 'f';
	}
}

void
sync_itemise(const struct sync_decision *d, bool up,
    const struct walk_item *source, char out[SYNC_ITEM_LEN + 1])
{
	static const struct {
		unsigned differs;
		char letter;
	} letters[] = {
		{ SYNC_DIFFERS_DIGEST | SYNC_DIFFERS_TEXT, 'c' },
		{ SYNC_DIFFERS_SIZE, 's' },
		{ SYNC_DIFFERS_TIME, 't' },
		{ SYNC_DIFFERS_MODE, 'p' },
		{ SYNC_DIFFERS_OWNER, 'o' },
		{ SYNC_DIFFERS_GROUP, 'g' },
	};

	memset(out, d->is_new ? '+' : '.', SYNC_ITEM_LEN);
	out[SYNC_ITEM_LEN] = '\0';
	out[0] = what_happens(d, up);
	out[1] = letter_of_kind(source->kind);
	if (d->is_new)
		return;
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if ((d->differs & letters[i].differs) != 0)
			out[2 + i] = letters[i].letter;
	if ((d->differs & SYNC_DIFFERS_NOW) != 0)
		out[4] = 'T';
	if (d->action != SYNC_COPY &&
	    strspn(out + 2, ".") == SYNC_ITEM_LEN - 2)
		memset(out + 2, ' ', SYNC_ITEM_LEN - 2);
}
