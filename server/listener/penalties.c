/* SPDX-License-Identifier: ISC */
#include "server/listener/penalties.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/tree.h"
#include "crypto/rand.h"

/* A source and its penalty. Each entry is in two balanced trees, so that
 * finding a source or the first entry to expire is fast whatever addresses
 * peers choose. */
struct entry {
	struct tree_node by_source, by_expiry;
	struct startups_source source;
	enum penalty_class reason; /* of the last penalty */
	bool active;		   /* the penalty is enforced */
	int64_t expires_us;
};

/* The entry of a node of the tree by_source; NULL if n is NULL. */
static struct entry *
of_source(const struct tree_node *n)
{
	return n == NULL ? NULL : (struct entry *)(void *)((char *)n -
	    offsetof(struct entry, by_source));
}

static struct entry *
of_expiry(const struct tree_node *n)
{
	return n == NULL ? NULL : (struct entry *)(void *)((char *)n -
	    offsetof(struct entry, by_expiry));
}

static int
compare_sources(const struct tree_node *a, const struct tree_node *b)
{
	return memcmp(of_source(a)->source.bytes, of_source(b)->source.bytes,
	    sizeof of_source(a)->source.bytes);
}

static int
compare_expiry(const struct tree_node *a, const struct tree_node *b)
{
	const struct entry *x = of_expiry(a);
	const struct entry *y = of_expiry(b);

	if (x->expires_us != y->expires_us)
		return x->expires_us < y->expires_us ? -1 : 1;
	return compare_sources(&x->by_source, &y->by_source);
}

/* The entries of all sources of one family of addresses. */
struct table {
	struct tree_node *by_source, *by_expiry;
	size_t count, max;
	bool deny_all; /* a full table refuses every connection of the family */
};

struct penalties {
	const struct server_penalties *conf;
	struct table tables[PENALTY_FAMILIES];
};

struct penalties *
penalties_new(const struct server_penalties *conf)
{
	struct penalties *p = xcalloc(1, sizeof *p);

	p->conf = conf;
	for (int f = 0; f < PENALTY_FAMILIES; f++) {
		struct table *t = &p->tables[f];

		t->max = (size_t)conf->max_sources[f];
		t->deny_all = conf->deny_all[f];
	}
	return p;
}

static struct entry *
first_to_expire(const struct table *t)
{
	return of_expiry(tree_first(t->by_expiry));
}

/* The rank of a node, which balances the trees. It is random: a peer that could
 * foresee ranks could make a tree as deep as a list. */
static uint32_t
rank(void)
{
	uint32_t n;

	rand_bytes(&n, sizeof n);
	return n;
}

static void
remove_entry(struct table *t, struct entry *e)
{
	tree_remove(&t->by_source, &e->by_source, compare_sources);
	tree_remove(&t->by_expiry, &e->by_expiry, compare_expiry);
	t->count--;
	free(e);
}

static void
insert_entry(struct table *t, struct entry *e)
{
	tree_insert(&t->by_source, &e->by_source, rank(), compare_sources);
	tree_insert(&t->by_expiry, &e->by_expiry, rank(), compare_expiry);
	t->count++;
}

void
penalties_free(struct penalties *p)
{
	struct entry *e;

	if (p == NULL)
		return;
	for (int f = 0; f < PENALTY_FAMILIES; f++)
		while ((e = first_to_expire(&p->tables[f])) != NULL)
			remove_entry(&p->tables[f], e);
	free(p);
}

/* The table of the source's family, after removing expired entries. NULL:
 * penalties are off, or the source has no address. */
static struct table *
table_of(struct penalties *p, const struct startups_source *source,
    int64_t now_us)
{
	struct table *t;
	struct entry *e;

	if (!p->conf->enabled || source->family == 0)
		return NULL;
	t = &p->tables[source->family == 4 ? PENALTY_IPV4 : PENALTY_IPV6];
	while ((e = first_to_expire(t)) != NULL &&
	    e->expires_us <= now_us)
		remove_entry(t, e);
	return t;
}

static struct entry *
find(struct table *t, const struct startups_source *source)
{
	struct entry wanted = { .source = *source };

	return of_source(tree_find(t->by_source, &wanted.by_source,
	    compare_sources));
}

static bool
make_room(struct table *t)
{
	if (t->count < t->max)
		return true;
	if (t->deny_all)
		return false;
	remove_entry(t, first_to_expire(t));
	return true;
}

static enum penalties_effect
add_first(const struct penalties *p, struct table *t,
    const struct startups_source *source, enum penalty_class c,
    int64_t now_us)
{
	struct entry *e;
	int64_t cost_us = MIN(p->conf->cost_us[c], p->conf->max_us);

	if (!make_room(t))
		return PENALTIES_NOTHING;
	e = xcalloc(1, sizeof *e);
	e->source = *source;
	e->reason = c;
	e->expires_us = now_us + cost_us;
	e->active = cost_us > p->conf->min_us;
	insert_entry(t, e);
	return e->active ? PENALTIES_ENFORCED : PENALTIES_DEFERRED;
}

enum penalties_effect
penalties_add(struct penalties *p, const struct startups_source *source,
    enum penalty_class c, int64_t now_us, int64_t *rest_us)
{
	const struct server_penalties *conf = p->conf;
	struct table *t = table_of(p, source, now_us);
	struct entry *e;

	*rest_us = MIN(conf->cost_us[c], conf->max_us);
	if (t == NULL || *rest_us <= 0)
		return PENALTIES_NOTHING;
	if ((e = find(t, source)) == NULL)
		return add_first(p, t, source, c, now_us);
	tree_remove(&t->by_expiry, &e->by_expiry, compare_expiry);
	e->expires_us = MIN(e->expires_us + conf->cost_us[c],
	    now_us + conf->max_us);
	e->reason = c;
	tree_insert(&t->by_expiry, &e->by_expiry, rank(), compare_expiry);
	*rest_us = e->expires_us - now_us;
	if (e->active || *rest_us <= conf->min_us)
		return PENALTIES_RAISED;
	e->active = true;
	return PENALTIES_ACTIVATED;
}

const char *
penalties_refuse(struct penalties *p, const struct startups_source *source,
    int64_t now_us)
{
	struct table *t = table_of(p, source, now_us);
	const struct entry *e;

	if (t == NULL)
		return NULL;
	if (t->deny_all && t->count >= t->max)
		return "too many penalised addresses";
	e = find(t, source);
	return e != NULL && e->active ? penalties_reason(e->reason) : NULL;
}

const char *
penalties_reason(enum penalty_class c)
{
	static const char *const reasons[PENALTY_CLASSES] = {
		[PENALTY_NOAUTH] =
		    "connections without attempting authentication",
		[PENALTY_INVALID_USER] =
		    "attempted authentication by invalid user",
		[PENALTY_AUTHFAIL] = "failed authentication",
		[PENALTY_REFUSED] =
		    "connection prohibited by RefuseConnection",
		[PENALTY_GRACE] = "exceeded LoginGraceTime",
		[PENALTY_CRASH] = "caused crash",
	};

	return reasons[c];
}

size_t
penalties_count(const struct penalties *p, enum penalty_family f)
{
	return p->tables[f].count;
}
