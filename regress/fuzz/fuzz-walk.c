/* SPDX-License-Identifier: ISC */
/*
 * What a server says of a walk: any bytes. The first four are what was asked
 * for; then come replies, each behind a 16 bit length. What is read is in the
 * order that is promised, and has no name that leads anywhere else.
 */
#include <stdlib.h>
#include <string.h>

#include "regress/fuzz/fuzz.h"
#include "xfer/sftp/walk-reader.h"
#include "xfer/xattrs.h"

static void
check(const struct walk_item *item)
{
	if (item->is_group) {
		if (item->path[0] == '/' || strstr(item->path, "//") != NULL ||
		    strlen(item->path) > WALK_PATH_MAX)
			abort();
		return;
	}
	if (item->name[0] == '\0' || strchr(item->name, '/') != NULL ||
	    strcmp(item->name, "..") == 0 || strcmp(item->name, ".") == 0 ||
	    strlen(item->name) > WALK_NAME_MAX)
		abort();
	if (item->mode > WALK_MODE_MAX || item->nsec > WALK_NSEC_MAX ||
	    item->size > INT64_MAX)
		abort();
	if (xattrs_check(item->xattrs, XATTRS_ALL) < 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct walk_reader reader;
	char before[WALK_PATH_MAX + 1] = "";
	struct rd in = rd_from(data, len);
	bool any = false;
	struct walk_item item;
	int r = 0;

	walk_reader_init(&reader, rd_u32(&in));
	while (in.len > 2 && r == 0) {
		walk_reader_reply(&reader, fuzz_piece(&in));
		while ((r = walk_reader_next(&reader, &item)) == 1) {
			check(&item);
			if (!item.is_group)
				continue;
			if (any && walk_path_cmp(before, item.path) >= 0)
				abort();
			strcpy(before, item.path);
			any = true;
		}
	}
	walk_reader_clear(&reader);
	return 0;
}
