/* SPDX-License-Identifier: ISC */
/*
 * Chooses another file of the target as the basis of a new one, which may have
 * some of its data. --fuzzy: a file of the same directory, with the same size
 * and time, or else with a similar name; so new files of a directory wait until
 * all names there are known. --detect-renames: a file that is to be deleted,
 * with the same size and time, in any directory; so new files wait until both
 * trees are known. The choice is a guess only: the transfer uses the parts of a
 * basis that are proven to be equal (xfer/delta/), and deletes come after all
 * copies.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "crypto/rand.h"
#include "xfer/delta/delta.h"
#include "xfer/part-name.h"
#include "xfer/sync/sync-plan-internal.h"

enum {
	NAMES_MAX = 16384,	/* names of one directory that are compared */
	COMPARES_MAX = 200000,	/* comparisons of names for all new files of a
				 * directory */
	EDITS_MAX = 24,		/* names that differ in more letters are not
				 * similar */
	SUFFIX_WEIGHT = 10,	/* what a differing letter of a suffix counts */
	ROWS = 1024 * 1024,	/* rows of the table: a power of two; 16 MiB */
	ROWS_USED_MAX = ROWS / 2,
	PROBES_MAX = 64,
};

struct name {
	char *path; /* owned; path at the target as in orders */
	const char *name; /* within path */
	uint64_t size;
	int64_t mtime;
};

/* A row of the table of files that are to be deleted. */
struct row {
	uint64_t key; /* 0: the row is free */
	uint64_t at;  /* place of the file's record in the list of deletes */
};

struct sync_bases {
	struct sync_spool waiting; /* new files of the open group that wait for
				    * --fuzzy */
	struct name *names;	   /* owned; files of the target in the open
				    * group */
	size_t n, room;
	uint32_t compares;
	struct sync_spool later; /* new files that wait for --detect-renames */
	struct row *rows;	 /* owned; NULL: none yet */
	size_t used;
	uint64_t secret; /* random, so that nobody can make files whose keys
			  * collide */
};

static struct sync_bases *
bases_of(struct sync_plan *p)
{
	struct sync_bases *b = p->bases;

	if (b != NULL)
		return b;
	b = p->bases = xcalloc(1, sizeof *b);
	sync_spool_init(&b->waiting);
	sync_spool_init(&b->later);
	rand_bytes(&b->secret, sizeof b->secret);
	return b;
}

static void
forget_names(struct sync_bases *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->names[i].path);
	b->n = 0;
	b->compares = 0;
}

void
sync_bases_free(struct sync_bases *b)
{
	if (b == NULL)
		return;
	forget_names(b);
	free(b->names);
	free(b->rows);
	sync_spool_clear(&b->waiting);
	sync_spool_clear(&b->later);
	free(b);
}

/* ---- what may be a basis ------------------------------------------------ */

static bool
is_large(const struct walk_item *i)
{
	return i->kind == WALK_FILE && i->size >= DELTA_NAMED_MIN;
}

void
sync_basis_seen(struct sync_plan *p, const char *path,
    const struct walk_item *t)
{
	const struct sync_record r = { .pair = p->now->number, .path = path };
	struct sync_bases *b;
	struct name *n;
	size_t room;

	if (!p->p.opts->one_file.similar || !is_large(t) ||
	    p->now->group_gone || p->now->pair.as != NULL || xfer_is_part(path))
		return;
	b = bases_of(p);
	if (b->n == NAMES_MAX)
		return;
	if (b->n == b->room) {
		room = b->room == 0 ? 64 : b->room * 2;
		b->names = xrecallocarray(b->names, b->room, room,
		    sizeof *b->names);
		b->room = room;
	}
	n = &b->names[b->n++];
	n->path = sync_target_path(p, &r);
	n->name = path_last(n->path);
	n->size = t->size;
	n->mtime = t->mtime;
}

/* The key of a file in the table, from its size and time; never 0. The
 * multipliers are odd. The secret keeps others from knowing a file's row. */
static uint64_t
key_of(const struct sync_bases *b, const struct walk_item *i)
{
	uint64_t key = (i->size ^ b->secret) * UINT64_C(0x9e3779b97f4a7c15);

	key ^= key >> 29;
	key = (key ^ (uint64_t)i->mtime ^ b->secret << 1) *
	    UINT64_C(0xbf58476d1ce4e5b9);
	key ^= key >> 32;
	return key != 0 ? key : 1;
}

void
sync_basis_goes(struct sync_plan *p, const struct walk_item *t)
{
	struct sync_bases *b;
	uint64_t key;
	size_t i;

	if (!p->p.opts->one_file.renamed || !is_large(t))
		return;
	b = bases_of(p);
	if (b->rows == NULL)
		b->rows = xcalloc(ROWS, sizeof *b->rows);
	if (b->used >= ROWS_USED_MAX)
		return;
	key = key_of(b, t);
	for (unsigned n = 0; n < PROBES_MAX; n++) {
		i = (size_t)(key + n) & (ROWS - 1);
		if (b->rows[i].key != 0)
			continue;
		b->rows[i].key = key;
		b->rows[i].at = sync_spool_end(&p->to_delete);
		b->used++;
		return;
	}
}

/* ---- names that are similar --------------------------------------------- */

/* The number of letters to insert, remove or change to make one text of the
 * other; any number above EDITS_MAX if it is greater than that. */
static unsigned
edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[NAME_MAX + 1], before, here, best;

	if (a_len > NAME_MAX || b_len > NAME_MAX ||
	    (a_len > b_len ? a_len - b_len : b_len - a_len) > EDITS_MAX)
		return EDITS_MAX + 1;
	for (size_t i = 0; i <= b_len; i++)
		row[i] = (unsigned)i;
	for (size_t k = 1; k <= a_len; k++) {
		before = row[0];
		best = row[0] = (unsigned)k;
		for (size_t i = 1; i <= b_len; i++) {
			here = before + (a[k - 1] != b[i - 1]);
			before = row[i];
			row[i] = MIN(here, MIN(row[i], row[i - 1]) + 1);
			best = MIN(best, row[i]);
		}
		if (best > EDITS_MAX)
			return best;
	}
	return row[b_len];
}

/* The suffix of a name: from its last dot on, unless that is the first
 * letter. */
static const char *
suffix_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL && dot != name ? dot : name + strlen(name);
}

static unsigned
distance(const char *a, const char *b)
{
	const char *a_end = suffix_of(a), *b_end = suffix_of(b);

	return edits(a, (size_t)(a_end - a), b, (size_t)(b_end - b)) +
	    SUFFIX_WEIGHT * edits(a_end, strlen(a_end), b_end, strlen(b_end));
}

/* Finds the most similar file in the open group. As with rsync, one with the
 * same size and time comes before all others, whatever its name. */
static const struct name *
find_similar(struct sync_bases *b, const struct sync_record *r)
{
	const char *name = path_last(r->path);
	const struct name *best = NULL;
	unsigned nearest = EDITS_MAX + 1, n;

	for (size_t i = 0; i < b->n; i++)
		if (b->names[i].size == r->item.size &&
		    b->names[i].mtime == r->item.mtime)
			return &b->names[i];
	for (size_t i = 0; i < b->n; i++) {
		if (b->compares++ >= COMPARES_MAX)
			break;
		n = distance(name, b->names[i].name);
		if (n < nearest) {
			nearest = n;
			best = &b->names[i];
		}
	}
	return best;
}

/* ---- new files ---------------------------------------------------------- */

static bool
waits_for_all(const struct sync_plan *p)
{
	return p->p.opts->one_file.renamed && p->p.opts->delete;
}

bool
sync_basis_takes(struct sync_plan *p, const struct sync_record *r)
{
	const struct sync_opts *o = p->p.opts;

	if (o->dry_run || r->kind != XFER_ORDER_COPY || r->has_was ||
	    r->resume || r->dest != 0 || !is_large(&r->item) ||
	    p->now->pair.as != NULL)
		return false;
	if (o->one_file.similar)
		sync_record_put(p, &bases_of(p)->waiting, r);
	else if (waits_for_all(p))
		sync_record_put(p, &bases_of(p)->later, r);
	else
		return false;
	return true;
}

int
sync_bases_group_ends(struct sync_plan *p)
{
	struct sync_bases *b = p->bases;
	const struct name *found;
	const uint8_t *bytes;
	struct sync_record r;
	size_t len;
	int err;

	if (b == NULL)
		return 0;
	while ((err = sync_spool_take_first(&b->waiting, &bytes, &len)) > 0) {
		if (!sync_record_get(&r, bytes, len))
			return ERR_FORMAT;
		found = find_similar(b, &r);
		if (found != NULL) {
			r.basis = found->path;
			r.basis_size = found->size;
		}
		if (found == NULL && waits_for_all(p))
			sync_record_put(p, &b->later, &r);
		else
			sync_emit(p, &r);
	}
	forget_names(b);
	/* The list of names is of the group that ends here. */
	if (b->waiting.first > 0) {
		sync_spool_clear(&b->waiting);
		sync_spool_init(&b->waiting);
	}
	return err;
}

/* ---- files that were renamed -------------------------------------------- */

/* Reads the record that row refers to: true if it is of a file with the same
 * size and time. *old is valid until the list of deletes is read again. */
static bool
is_like(struct sync_plan *p, const struct row *row,
    const struct sync_record *r, struct sync_record *old)
{
	const uint8_t *bytes;
	size_t len;

	return sync_spool_read(&p->to_delete, row->at, &bytes, &len) == 0 &&
	    sync_record_get(old, bytes, len) &&
	    old->kind == XFER_ORDER_DELETE && !old->kept &&
	    old->item.kind == WALK_FILE && old->item.size == r->item.size &&
	    old->item.mtime == r->item.mtime;
}

static bool
has_one_name(const char *a, const char *b)
{
	return strcmp(path_last(a), path_last(b)) == 0;
}

/* Finds the file that was renamed to the new one, preferably one that has the
 * same name in another directory. The caller frees the path. */
static char *
find_renamed(struct sync_plan *p, const struct sync_record *r)
{
	const struct sync_bases *b = p->bases;
	uint64_t key = key_of(b, &r->item);
	struct sync_record old;
	char *found = NULL;
	bool same = false;

	for (unsigned n = 0; n < PROBES_MAX && b->rows != NULL && !same; n++) {
		const struct row *row = &b->rows[(size_t)(key + n) &
		    (ROWS - 1)];

		if (row->key == 0)
			break;
		if (row->key != key || !is_like(p, row, r, &old))
			continue;
		same = has_one_name(old.path, r->path);
		if (found != NULL && !same)
			continue;
		free(found);
		found = sync_target_path(p, &old);
	}
	return found;
}

int
sync_bases_next(struct sync_plan *p)
{
	struct sync_bases *b = p->bases;
	const uint8_t *bytes;
	struct sync_record r;
	size_t len;
	char *found;
	int err = b != NULL ? sync_spool_take_first(&b->later, &bytes, &len) :
			      0;

	if (err <= 0)
		return err;
	if (!sync_record_get(&r, bytes, len))
		return ERR_FORMAT;
	found = find_renamed(p, &r);
	r.basis = found;
	r.basis_size = r.item.size;
	sync_emit(p, &r);
	free(found);
	return 1;
}
