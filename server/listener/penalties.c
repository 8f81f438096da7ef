/* SPDX-License-Identifier: ISC */
#include "server/listener/penalties.h"

#include <stdlib.h>
#include <string.h>
#include <sys/tree.h>

#include "base/mem.h"

/* A source and its penalty. It is in two trees, so that no sequence of
 * addresses makes finding it, or the one that expires first, slow. */
struct entry {
	RB_ENTRY(entry) by_source, by_expiry;
	struct startups_source source;
	enum penalty_class reason; /* of the last one */
	bool active;		   /* enforced */
	int64_t expires_us;
};

static int
compare_sources(const struct entry *a, const struct entry *b)
{
	return memcmp(a->source.bytes, b->source.bytes,
	    sizeof a->source.bytes);
}

static int
compare_expiry(const struct entry *a, const struct entry *b)
{
	if (a->expires_us != b->expires_us)
		return a->expires_us < b->expires_us ? -1 : 1;
	return compare_sources(a, b);
}

RB_HEAD(source_tree, entry);
RB_HEAD(expiry_tree, entry);
/* RB_GENERATE_STATIC of some versions of libbsd needs a macro of the BSDs. */
#define LOCAL static __attribute__((unused))
RB_GENERATE_INTERNAL(source_tree, entry, by_source, compare_sources, LOCAL)
RB_GENERATE_INTERNAL(expiry_tree, entry, by_expiry, compare_expiry, LOCAL)

/* The sources of one family. */
struct table {
	struct source_tree by_source;
	struct expiry_tree by_expiry;
	size_t count, max;
	bool deny_all; /* when full */
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

		RB_INIT(&t->by_source);
		RB_INIT(&t->by_expiry);
		t->max = (size_t)conf->max_sources[f];
		t->deny_all = conf->deny_all[f];
	}
	return p;
}

static void
remove_entry(struct table *t, struct entry *e)
{
	RB_REMOVE(source_tree, &t->by_source, e);
	RB_REMOVE(expiry_tree, &t->by_expiry, e);
	t->count--;
	free(e);
}

static void
insert_entry(struct table *t, struct entry *e)
{
	RB_INSERT(source_tree, &t->by_source, e);
	RB_INSERT(expiry_tree, &t->by_expiry, e);
	t->count++;
}

void
penalties_free(struct penalties *p)
{
	struct entry *e;

	if (p == NULL)
		return;
	for (int f = 0; f < PENALTY_FAMILIES; f++)
		while ((e = RB_ROOT(&p->tables[f].by_source)) != NULL)
			remove_entry(&p->tables[f], e);
	free(p);
}

/* The table of a source, without what has expired; NULL: it has no address. */
static struct table *
table_of(struct penalties *p, const struct startups_source *source,
    int64_t now_us)
{
	struct table *t;
	struct entry *e;

	if (!p->conf->enabled || source->family == 0)
		return NULL;
	t = &p->tables[source->family == 4 ? PENALTY_IPV4 : PENALTY_IPV6];
	while ((e = RB_MIN(expiry_tree, &t->by_expiry)) != NULL &&
	    e->expires_us <= now_us)
		remove_entry(t, e);
	return t;
}

static struct entry *
find(struct table *t, const struct startups_source *source)
{
	struct entry wanted = { .source = *source };

	return RB_FIND(source_tree, &t->by_source, &wanted);
}

static bool
make_room(struct table *t)
{
	if (t->count < t->max)
		return true;
	if (t->deny_all)
		return false;
	remove_entry(t, RB_MIN(expiry_tree, &t->by_expiry));
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
	RB_REMOVE(expiry_tree, &t->by_expiry, e);
	e->expires_us = MIN(e->expires_us + conf->cost_us[c],
	    now_us + conf->max_us);
	e->reason = c;
	RB_INSERT(expiry_tree, &t->by_expiry, e);
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
