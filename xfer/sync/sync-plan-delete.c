/* SPDX-License-Identifier: ISC */
/*
 * Whether, and in which order, names of the target are deleted. docs/SYNC.md
 * has the rules.
 *
 * The list of deletes is in the order of the walk, and read backwards: so what
 * is in a directory comes before it. A record of a name that stays makes the
 * directories that it is in stay, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-plan-internal.h"

enum { FEW = 20 }; /* so few names may all be deleted */

static void
refuse(struct sync_plan *p, enum sync_deletes why, const char *text)
{
	p->deletes = why;
	p->p.hooks.note(p->p.hooks.arg, NULL, text);
	sync_spool_clear(&p->to_delete);
	sync_spool_init(&p->to_delete);
	sync_spool_clear(&p->pruned);
	sync_spool_init(&p->pruned);
}

void
sync_deletes_decide(struct sync_plan *p)
{
	const struct sync_opts *o = p->p.opts;
	uint64_t n = p->n_deletes;
	char *text;

	if (n == 0)
		return;
	if (p->not_whole && !o->ignore_errors) {
		refuse(p, SYNC_DELETE_NOT_WHOLE, "not all of the source could "
		    "be read: nothing is deleted");
	} else if (o->max_delete_given && n > o->max_delete) {
		xasprintf(&text, "%llu names are to be deleted, which is more "
		    "than --max-delete=%llu: none is deleted",
		    (unsigned long long)n, (unsigned long long)o->max_delete);
		refuse(p, SYNC_DELETE_TOO_MANY, text);
		free(text);
	} else if (!o->max_delete_given && p->emptied) {
		refuse(p, SYNC_DELETE_TOO_MANY, "a source is empty: nothing "
		    "is deleted without --max-delete");
	} else if (!o->max_delete_given &&
	    p->counts.target_entries >= FEW &&
	    n > p->counts.target_entries / 2) {
		xasprintf(&text, "%llu of the target's %llu names are to be "
		    "deleted: none is deleted without --max-delete",
		    (unsigned long long)n,
		    (unsigned long long)p->counts.target_entries);
		refuse(p, SYNC_DELETE_TOO_MANY, text);
		free(text);
	}
}

/* The path with its pair in front, so that those of all pairs differ. */
static char *
key_of(const struct sync_record *r, size_t len)
{
	char *key;

	xasprintf(&key, "%u/%.*s", r->pair, (int)len, r->path);
	return key;
}

/* Keeps the directory of a name that is kept. */
static void
keep_parent(struct sync_plan *p, const struct sync_record *r)
{
	const char *slash = strrchr(r->path, '/');
	char *key;

	if (slash == NULL)
		return;
	key = key_of(r, (size_t)(slash - r->path));
	/* Names of one directory come one after the other. */
	if (p->kept.n == 0 ||
	    strcmp(p->kept.v[p->kept.n - 1], key) != 0)
		xstrlist_add(&p->kept, key);
	free(key);
}

/* Is this a directory that stays for what is in it? */
static bool
takes_kept(struct sync_plan *p, const struct sync_record *r)
{
	char *key = key_of(r, strlen(r->path));
	bool found = false;

	for (size_t i = p->kept.n; i-- > 0 && !found;) {
		if (strcmp(p->kept.v[i], key) != 0)
			continue;
		free(p->kept.v[i]);
		p->kept.v[i] = p->kept.v[--p->kept.n];
		found = true;
	}
	free(key);
	return found;
}

static void
remember_in_way(struct sync_plan *p, const struct sync_record *r)
{
	char *key = key_of(r, strlen(r->path));

	xstrlist_add(&p->in_way, key);
	free(key);
}

bool
sync_is_in_way(const struct sync_plan *p, const struct sync_record *r)
{
	char *key = key_of(r, strlen(r->path));
	bool is = p->deletes != SYNC_DELETE_DONE ||
	    strlist_has(&p->in_way, key);

	free(key);
	return is;
}

int
sync_deletes_next(struct sync_plan *p)
{
	const uint8_t *bytes;
	struct sync_record r;
	size_t len;
	int err = sync_spool_take_last(&p->to_delete, &bytes, &len);

	if (err <= 0)
		return err;
	if (!sync_record_get(&r, bytes, len))
		return ERR_FORMAT;
	if (r.kept) {
		keep_parent(p, &r);
	} else if (r.kind == XFER_ORDER_DELETE_DIR && takes_kept(p, &r)) {
		keep_parent(p, &r);
		if (r.silent)
			remember_in_way(p, &r);
		p->p.hooks.note(p->p.hooks.arg, r.path,
		    "is not deleted: not all that is in it is deleted");
	} else {
		sync_emit(p, &r);
	}
	return 1;
}
