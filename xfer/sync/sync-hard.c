/* SPDX-License-Identifier: ISC */
/*
 * Sets of hard links (-H): names of the source that are one file. One name of a
 * set is copied first: a name whose target needs no change, or else the first
 * that was met, which waits until all names are known. The other names become
 * links to that target when it is whole; names that are links to it already
 * stay. A set takes a row of a table, and its first name is in a file, however
 * many names the set has.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed-hash.h"
#include "base/mem.h"
#include "crypto/rand.h"
#include "xfer/sync/sync-path.h"
#include "xfer/sync/sync-plan-internal.h"

enum {
	ROWS_FIRST = 1024,
	SETS_MAX = 8 * 1024 * 1024,
};

struct sync_set {
	uint64_t dev, ino; /* numbers at the source; ino 0: the row is free */
	struct sync_file_id to; /* numbers of the first name's target; ino 0:
				 * unknown */
	uint64_t first; /* where its paths are */
	enum { SET_NEW, SET_COPIED, SET_STAYS } state;
};

struct sync_sets {
	struct sync_set *rows; /* owned; size is a power of two */
	size_t used, size;
	struct keyed_hash key; /* secret of the table, because a peer chooses
			        * the numbers */
	struct sync_spool paths;
	bool told;
};

/* ---- the table ---------------------------------------------------------- */

static struct sync_set *
row_of(const struct keyed_hash *key, struct sync_set *rows, size_t size,
    uint64_t dev, uint64_t ino)
{
	size_t i = keyed_hash_place(key, dev, ino, size);

	while (rows[i].ino != 0 && (rows[i].ino != ino || rows[i].dev != dev))
		i = (i + 1) & (size - 1);
	return &rows[i];
}

static void
grow(struct sync_sets *t)
{
	size_t size = t->size == 0 ? ROWS_FIRST : t->size * 2;
	struct sync_set *rows;

	if (t->used < t->size / 4 * 3)
		return;
	rows = xcalloc(size, sizeof *rows);
	for (size_t i = 0; i < t->size; i++)
		if (t->rows[i].ino != 0)
			*row_of(&t->key, rows, size, t->rows[i].dev,
			    t->rows[i].ino) = t->rows[i];
	free(t->rows);
	t->rows = rows;
	t->size = size;
}

/* The set of a file, made if it is new; NULL: there are too many sets. */
static struct sync_set *
set_of(struct sync_plan *p, const struct walk_item *i)
{
	struct sync_sets *t = p->sets;
	struct sync_set *s;

	if (t == NULL) {
		t = p->sets = xcalloc(1, sizeof *t);
		rand_bytes(&t->key, sizeof t->key);
		sync_spool_init(&t->paths);
	}
	grow(t);
	s = row_of(&t->key, t->rows, t->size, i->dev, i->ino);
	if (s->ino != 0)
		return s;
	if (t->used >= SETS_MAX) {
		if (!t->told)
			p->p.hooks.fail(p->p.hooks.arg, i->name, "is one hard "
			    "link too many: its names, and those of files "
			    "that follow, are copied");
		t->told = true;
		return NULL;
	}
	t->used++;
	s->dev = i->dev;
	s->ino = i->ino;
	return s;
}

void
sync_sets_free(struct sync_sets *t)
{
	if (t == NULL)
		return;
	sync_spool_clear(&t->paths);
	free(t->rows);
	free(t);
}

/* ---- the first name ----------------------------------------------------- */

static bool
is_in_set(const struct sync_plan *p, const struct sync_record *r)
{
	return p->p.opts->one_file.hard_links && r->item.kind == WALK_FILE &&
	    r->item.ino != 0;
}

/* Notes the record's name as the first one of its set: the path at the target
 * for links, and the name that is shown. */
static void
set_first(struct sync_plan *p, struct sync_set *s, const struct sync_record *r)
{
	char *path = sync_target_path(p, r), *shown = sync_record_shown(p, r);
	struct buf b;
	int err;

	buf_init(&b);
	buf_put(&b, path, strlen(path) + 1);
	buf_put(&b, shown, strlen(shown) + 1);
	s->first = sync_spool_end(&p->sets->paths);
	err = buf_err(&b);
	if (err == 0)
		err = sync_spool_put(&p->sets->paths, buf_data(&b),
		    buf_len(&b));
	if (err != 0) {
		p->p.hooks.fail(p->p.hooks.arg, shown, err_text(err));
		s->state = SET_NEW; /* the next name becomes the first one */
	}
	buf_clear(&b);
	free(shown);
	free(path);
}

static bool
is_same(const struct sync_file_id *a, const struct sync_file_id *b)
{
	return a->ino != 0 && a->ino == b->ino && a->dev == b->dev;
}

static bool
stays(const struct sync_decision *d, const struct sync_record *r)
{
	return r->dest > 0 || d->action == SYNC_NOTHING ||
	    d->action == SYNC_ATTRS;
}

bool
sync_set_takes(struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r)
{
	struct sync_set *s;

	if (!is_in_set(p, r) || d->left_alone ||
	    (s = set_of(p, &r->item)) == NULL)
		return false;
	if (stays(d, r) && s->state != SET_STAYS) {
		s->state = SET_STAYS;
		s->to = r->dest > 0 ? r->becomes : r->is;
		set_first(p, s, r);
		return false;
	}
	if (s->state == SET_STAYS && is_same(&r->is, &s->to)) {
		/* The target's name is a link to the set's file already. */
		d->action = SYNC_NOTHING;
		r->dest = 0;
		r->letters[0] = '.';
		memset(r->letters + 2, ' ', SYNC_ITEM_LEN - 2);
		return false;
	}
	if (r->dest > 0 && is_same(&r->becomes, &s->to))
		return false;
	r->kind = XFER_ORDER_COPY;
	r->dest = 0;
	if (s->state == SET_NEW) {
		s->state = SET_COPIED;
		set_first(p, s, r);
		sync_count_copy(p, r);
		sync_record_put(p, &p->firsts, r);
	} else {
		sync_record_put(p, &p->links, r);
	}
	return true;
}

/* ---- the others --------------------------------------------------------- */

static void
link_letters(struct sync_record *r)
{
	r->silent = false;
	r->letters[0] = 'h';
	if (strspn(r->letters + 2, ".") == SYNC_ITEM_LEN - 2)
		memset(r->letters + 2, ' ', SYNC_ITEM_LEN - 2);
}

bool
sync_set_links(struct sync_plan *p, struct sync_record *r)
{
	struct sync_set *s;
	const uint8_t *paths;
	size_t len;
	char *own;
	bool is_first;

	if (!is_in_set(p, r) || (s = set_of(p, &r->item)) == NULL)
		return false;
	if (s->state == SET_NEW) {
		s->state = SET_COPIED;
		set_first(p, s, r);
		return false;
	}
	if (sync_spool_read(&p->sets->paths, s->first, &paths, &len) != 0)
		return false;
	own = sync_target_path(p, r);
	is_first = strcmp(own, (const char *)paths) == 0;
	free(own);
	if (is_first)
		return false;
	r->link = (const char *)paths;
	r->text = r->item.text = r->link + strlen(r->link) + 1;
	link_letters(r);
	return true;
}
