/* SPDX-License-Identifier: ISC */
/* --extra: finds the names in a tree that are not in a manifest. A digest of
 * each of the manifest's names is held. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/sync/sync-run.h"
#include "crypto/digest.h"
#include "xfer/sync/sync-path.h"
#include "xfer/sync/sync-scan.h"

enum { KEPT = 16 }; /* bytes of a digest that are kept */

struct sync_extra {
	struct sync_run *run;
	uint8_t (*names)[KEPT]; /* digests of names; owned; sorted when the tree
				 * is read */
	size_t n, room;
	uint64_t found;
	char *group; /* owned; path of the directory whose names are being
		      * read */
};

struct sync_extra *
sync_extra_new(struct sync_run *run)
{
	struct sync_extra *x = xcalloc(1, sizeof *x);

	x->run = run;
	return x;
}

static void
digest_of(const char *name, uint8_t out[KEPT])
{
	uint8_t digest[DIGEST_MAX_LEN];

	if (digest_once(DIGEST_SHA256, name, strlen(name), digest) < 0)
		abort();
	memcpy(out, digest, KEPT);
}

void
sync_extra_known(struct sync_extra *x, const char *name)
{
	if (x->n == x->room) {
		size_t room = x->room > 0 ? 2 * x->room : 1024;

		x->names = xrecallocarray(x->names, x->room, room, KEPT);
		x->room = room;
	}
	digest_of(name, x->names[x->n++]);
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, KEPT);
}

static void
take(struct sync_extra *x, const struct walk_item *item)
{
	uint8_t digest[KEPT];
	char *path, *shown;

	if (item->is_group) {
		free(x->group);
		x->group = xstrdup(item->path);
	}
	if (item->status != 0) {
		sync_tell_fail(x->run, *item->path != '\0' ? item->path : ".",
		    "cannot be read");
		return;
	}
	if (item->is_group || item->kind == WALK_DIR)
		return;
	path = sync_path_below(x->group, item->name);
	digest_of(path, digest);
	if (bsearch(digest, x->names, x->n, KEPT, compare) == NULL) {
		shown = xstr_escape(path);
		printf("%s: extra\n", shown);
		free(shown);
		x->found++;
	}
	free(path);
}

uint64_t
sync_extra_find(struct sync_extra *x, struct sync_end *end, const char *top)
{
	struct sync_scan_opts opts = { .root = top, .confined_root = top,
		.want = WALK_MODE, .recursive = true };
	struct walk_item item;
	struct sync_scan *scan;
	int r;

	if (x->n > 0)
		qsort(x->names, x->n, KEPT, compare);
	if ((r = sync_scan_new(&scan, end->s, &opts)) < 0)
		sync_lost(x->run, r);
	while (!x->run->stop && (r = sync_scan_next(scan, &item)) != 0) {
		if (r == SYNC_SCAN_LATER)
			sync_hosts_turn(x->run, 1000);
		else if (r < 0)
			sync_lost(x->run, r);
		else
			take(x, &item);
	}
	sync_scan_free(scan);
	return x->found;
}

void
sync_extra_free(struct sync_extra *x)
{
	if (x == NULL)
		return;
	free(x->names);
	free(x->group);
	free(x);
}
