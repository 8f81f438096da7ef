/* SPDX-License-Identifier: ISC */
/*
 * Further directories of the target's side (--link-dest and its kin). Their
 * scans follow those of the sources: names that no source has are passed over.
 */
#include "config.h"

#include <string.h>

#include "xfer/sync/sync-plan-internal.h"

int
sync_dests_fill(struct sync_pair_state *s)
{
	int r = 1;

	for (unsigned i = 0; i < s->pair.n_dests; i++) {
		struct sync_cursor *c = &s->dests[i];
		int one = sync_cursor_fill(c);

		if (one == SYNC_SCAN_LATER)
			r = one;
		/* A further directory that cannot be read to its end counts as
		 * ended. */
		if (one < 0) {
			c->have = c->in_group = false;
			c->ended = true;
		}
	}
	return r;
}

int
sync_dests_top(struct sync_pair_state *s)
{
	for (unsigned i = 0; i < s->pair.n_dests; i++) {
		int r = sync_scan_top(s->dests[i].scan, &s->dests[i].top);

		if (r == SYNC_SCAN_LATER)
			return r;
		if (r < 0)
			s->dests[i].top.kind = WALK_UNKNOWN;
	}
	return 1;
}

bool
sync_dests_follow(struct sync_pair_state *s, const char *group,
    const char *name)
{
	bool moved = false;

	for (unsigned i = 0; i < s->pair.n_dests; i++) {
		struct sync_cursor *c = &s->dests[i];

		if (!c->have)
			continue;
		if (c->item.is_group) {
			if (group == NULL ||
			    walk_path_cmp(c->item.path, group) >= 0)
				continue;
			c->in_group = false;
			c->skips = true;
		} else if (c->in_group && group == NULL &&
		    strcmp(c->item.name, name) >= 0) {
			continue;
		}
		c->have = false;
		moved = true;
	}
	return moved;
}

void
sync_dests_join(struct sync_pair_state *s, const char *path)
{
	for (unsigned i = 0; i < s->pair.n_dests; i++) {
		struct sync_cursor *c = &s->dests[i];

		c->in_group = false;
		if (!c->have || !c->item.is_group ||
		    strcmp(c->item.path, path) != 0)
			continue;
		c->have = false;
		c->in_group = c->item.status == 0;
		c->skips = !c->in_group;
	}
}

/* How much of the source's file a further directory has under the same name. */
enum sync_match {
	SYNC_MATCH_NONE,
	SYNC_MATCH_KIND, /* something of the same kind */
	SYNC_MATCH_DATA, /* the same content */
	SYNC_MATCH_ALL,	 /* and attributes */
};

struct sync_found {
	enum sync_match match;
	unsigned dest;
	const struct walk_item *item;
	struct sync_decision decision; /* what would be done if this were the
				        * target */
};

/* Compares the file of a further directory with the source's. Options that
 * leave existing targets alone are ignored here. */
static enum sync_match
match(const struct sync_plan *p, const struct walk_item *s,
    const struct walk_item *item, struct sync_decision *d)
{
	struct sync_opts o = *p->p.opts;

	o.update = o.existing = o.ignore_existing = false;
	o.size.max_given = false;
	o.size.min = 0;
	if (item->kind != s->kind)
		return SYNC_MATCH_NONE;
	*d = sync_decide(&o, p->p.ends, s, item);
	switch (d->action) {
	case SYNC_NOTHING:
		return SYNC_MATCH_ALL;
	case SYNC_ATTRS:
		return SYNC_MATCH_DATA;
	default:
		return SYNC_MATCH_KIND;
	}
}

static bool
same_file(const struct walk_item *a, const struct walk_item *b)
{
	return a->ino != 0 && a->ino == b->ino && a->dev == b->dev;
}

/* True if the target may be replaced by a link to the found file. A target that
 * needs no change is replaced only if it is known to be another file. */
static bool
may_link(const struct sync_decision *now, const struct walk_item *t,
    const struct sync_found *found)
{
	if (same_file(t, found->item))
		return false;
	return now->action != SYNC_NOTHING ||
	    (t->nlink != 0 && found->item->nlink != 0);
}

const struct walk_item *
sync_dest_item(const struct sync_pair_state *s, unsigned dest,
    const char *name)
{
	const struct sync_cursor *c = &s->dests[dest];
	const struct walk_item *item;

	if (*name == '\0')
		return &c->top;
	if (sync_held_dest(s, dest, &item))
		return item;
	return c->in_group && c->have && !c->item.is_group &&
	    strcmp(c->item.name, name) == 0 ? &c->item : NULL;
}

static struct sync_found
find(const struct sync_plan *p, const struct walk_item *s,
    const struct walk_item *t)
{
	const struct sync_pair_state *pair = p->now;
	const char *name = *s->name != '\0' &&
	    pair->pair.as != NULL ? pair->pair.as : s->name;
	struct sync_found best = { .match = SYNC_MATCH_NONE };
	struct sync_decision d, now;

	for (unsigned i = 0; i < pair->pair.n_dests; i++) {
		const struct walk_item *item = sync_dest_item(pair, i, name);
		enum sync_match m;

		if (best.match == SYNC_MATCH_ALL)
			break;
		m = item != NULL ? match(p, s, item, &d) : SYNC_MATCH_NONE;
		if (m > best.match)
			best = (struct sync_found){ .match = m, .dest = i,
				.item = item, .decision = d };
	}
	if (t == NULL || t->kind != s->kind)
		return best;
	/* An existing target is replaced only by a link to a file that equals
	 * the source in all. */
	now = sync_decide(p->p.opts, p->p.ends, s, t);
	if (best.match != SYNC_MATCH_ALL || s->kind != WALK_FILE ||
	    p->p.opts->one_file.dest != SYNC_DEST_LINK ||
	    !may_link(&now, t, &best))
		best.match = SYNC_MATCH_NONE;
	return best;
}

/* Sets the line that -i shows for a name which a further directory has, and
 * whether it is shown: where nothing differs, it is only with -ii. */
static void
tell_as(const struct sync_plan *p, const struct sync_found *found,
    struct sync_record *r, char how)
{
	bool is_file = r->item.kind == WALK_FILE;

	sync_itemise(&found->decision, p->p.up && !p->p.here, &r->item,
	    r->letters);
	if (how != 0)
		r->letters[0] = how;
	/* With 'c' and without -t the copy gets the present time. */
	if (how == 'c' && !p->p.opts->times && (is_file ||
		(r->item.kind == WALK_DIR && found->match < SYNC_MATCH_ALL))) {
		if (r->letters[2] == ' ')
			memset(r->letters + 2, '.', SYNC_ITEM_LEN - 2);
		r->letters[4] = 'T';
	}
	r->silent = found->match == SYNC_MATCH_ALL && !p->p.tell_equal;
}

void
sync_dests_apply(const struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r, const struct walk_item *t)
{
	enum sync_dest dest = p->p.opts->one_file.dest;
	struct sync_found found = find(p, &r->item, t);
	bool is_file = r->item.kind == WALK_FILE;

	if (found.match == SYNC_MATCH_NONE)
		return;
	if (found.match == SYNC_MATCH_ALL && dest == SYNC_DEST_COMPARE &&
	    r->item.kind != WALK_DIR) {
		d->action = SYNC_NOTHING;
		tell_as(p, &found, r, '.');
		r->silent = false;
	} else if (found.match == SYNC_MATCH_ALL && dest == SYNC_DEST_LINK &&
	    is_file) {
		d->action = SYNC_COPY;
		r->dest = found.dest + 1;
		r->becomes = (struct sync_file_id){ found.item->dev,
			found.item->ino };
		tell_as(p, &found, r, 'h');
	} else {
		tell_as(p, &found, r, is_file &&
		    found.match == SYNC_MATCH_KIND ? 0 : 'c');
	}
}
