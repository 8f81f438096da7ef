/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-plan-internal.h"
#include "xfer/rules/sync-rules.h"

/* ---- life --------------------------------------------------------------- */

int
sync_plan_new(struct sync_plan **out, const struct sync_plan_params *params)
{
	struct sync_plan *p = xcalloc(1, sizeof *p);

	const char *name;

	p->p = *params;
	while (params->rules != NULL && (name = sync_rules_dir_file(
		params->rules, p->n_rule_files)) != NULL) {
		if (p->n_rule_files == SYNC_AHEAD_FILES) {
			free(p);
			return ERR_LIMIT;
		}
		p->rule_files[p->n_rule_files++] = name;
	}
	TAILQ_INIT(&p->pairs);
	TAILQ_INIT(&p->frames);
	TAILQ_INIT(&p->ready);
	for (size_t i = 0; i < SYNC_BUCKETS; i++)
		TAILQ_INIT(&p->under_way[i]);
	sync_spool_init(&p->firsts);
	sync_spool_init(&p->links);
	sync_spool_init(&p->to_delete);
	sync_spool_init(&p->pruned);
	sync_spool_init(&p->late);
	sync_spool_init(&p->dirs);
	*out = p;
	return 0;
}

static void
free_list(struct sync_ready_list *list)
{
	struct sync_ready *r;

	while ((r = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, r, entry);
		sync_ready_free(r);
	}
}

static void
free_pair(struct sync_pair_state *s)
{
	for (unsigned i = 0; i < s->pair.n_sources; i++) {
		sync_ahead_free(s->sources[i].ahead);
		sync_scan_free(s->sources[i].scan);
	}
	for (unsigned i = 0; i < s->pair.n_dests; i++)
		sync_scan_free(s->dests[i].scan);
	sync_scan_free(s->target.scan);
	for (unsigned i = 0; i < s->pair.n_sources; i++)
		free(s->sources[i].path);
	free(s->target.path);
	free(s->sources);
	free(s->dests);
	free(s->group);
	sync_held_free(s);
	free(s->self.name);
	free(s->self.xattrs);
	free(s->twin);
	free(s->twin_target);
	strlist_clear(&s->parts);
	free(s);
}

void
sync_plan_free(struct sync_plan *p)
{
	struct sync_pair_state *s;

	if (p == NULL)
		return;
	while ((s = TAILQ_FIRST(&p->pairs)) != NULL) {
		TAILQ_REMOVE(&p->pairs, s, entry);
		free_pair(s);
	}
	sync_plan_free_frames(p);
	free_list(&p->ready);
	for (size_t i = 0; i < SYNC_BUCKETS; i++)
		free_list(&p->under_way[i]);
	sync_spool_clear(&p->firsts);
	sync_spool_clear(&p->links);
	sync_sets_free(p->sets);
	sync_bases_free(p->bases);
	sync_spool_clear(&p->to_delete);
	sync_spool_clear(&p->pruned);
	sync_spool_clear(&p->late);
	sync_spool_clear(&p->dirs);
	strlist_clear(&p->kept);
	strlist_clear(&p->in_way);
	free(p);
}

/* Has the scans of the sources read ahead with their files of rules, if there
 * may be such files. */
static int
read_ahead(struct sync_plan *p, struct sync_pair_state *s)
{
	const struct sync_pair *pair = &s->pair;
	int err = 0;

	if (p->n_rule_files == 0 || pair->names_only)
		return 0;
	for (unsigned i = 0; i < pair->n_sources && err == 0; i++)
		err = sync_ahead_new(&s->sources[i].ahead,
		    pair->source_session, pair->source_roots[i],
		    pair->sources[i], p->rule_files, p->n_rule_files);
	return err;
}

int
sync_plan_add(struct sync_plan *p, const struct sync_pair *pair)
{
	struct sync_pair_state *s = xcalloc(1, sizeof *s);
	int err;

	s->pair = *pair;
	s->number = p->n_pairs++;
	s->sources = xcalloc(pair->n_sources, sizeof *s->sources);
	for (unsigned i = 0; i < pair->n_sources; i++)
		s->sources[i].scan = pair->sources[i];
	s->target.scan = pair->target;
	s->dests = xcalloc(MAX(pair->n_dests, 1u), sizeof *s->dests);
	for (unsigned i = 0; i < pair->n_dests; i++)
		s->dests[i].scan = pair->dests[i];
	TAILQ_INSERT_TAIL(&p->pairs, s, entry);
	if ((err = read_ahead(p, s)) < 0)
		return err;
	if (p->now == NULL && p->phase == SYNC_PHASE_MERGE && s->number == 0)
		p->now = s;
	return 0;
}

/* ---- phases ------------------------------------------------------------- */

/* Reports that a file is not copied, because a directory of the target has its
 * name and stays: not all that is in it is deleted. */
static void
tell_in_way(struct sync_plan *p, const struct sync_record *r)
{
	struct sync_pair_state *s;
	char *shown;

	TAILQ_FOREACH(s, &p->pairs, entry)
		if (s->number == r->pair)
			break;
	if (s == NULL)
		return;
	shown = sync_shown(&s->pair, r->path, false);
	p->p.hooks.fail(p->p.hooks.arg, shown, "is a directory at the target, "
	    "and not all in it is deleted (--delete and --force do that)");
	free(shown);
}

/* Emits the first record of a list. 1; 0: there is none; ERR_*. */
static int
from_spool(struct sync_plan *p, struct sync_spool *spool)
{
	const uint8_t *bytes;
	struct sync_record r;
	size_t len;
	bool is_link;
	int err = sync_spool_take_first(spool, &bytes, &len);

	if (err <= 0)
		return err;
	if (!sync_record_get(&r, bytes, len))
		return ERR_FORMAT;
	is_link = sync_set_links(p, &r);
	if (spool == &p->late && sync_is_in_way(p, &r))
		tell_in_way(p, &r);
	else if (spool == &p->firsts && is_link)
		sync_record_put(p, &p->links, &r);
	else
		sync_emit(p, &r);
	return 1;
}

/* Tells the hook that both trees are known, with the counts. */
static void
tell_compared(struct sync_plan *p)
{
	const struct sync_plan_hooks *h = &p->p.hooks;

	p->counts.to_delete = p->n_deletes;
	if (h->compared != NULL)
		h->compared(h->arg, &p->counts);
}

/* Does one step of the phase. 1: it goes on; 0: it is over; SYNC_SCAN_LATER: an
 * answer has to come first; ERR_*. */
static int
step(struct sync_plan *p)
{
	int r;

	switch (p->phase) {
	case SYNC_PHASE_MERGE:
		if (p->now == NULL)
			return 0;
		if ((r = sync_merge(p)) != 0)
			return r;
		p->now = TAILQ_NEXT(p->now, entry);
		return 1;
	case SYNC_PHASE_RENAMES:
		return sync_bases_next(p);
	case SYNC_PHASE_FIRSTS:
		return from_spool(p, &p->firsts);
	case SYNC_PHASE_LINKS:
		return from_spool(p, &p->links);
	case SYNC_PHASE_DELETE:
		r = sync_deletes_next(p);
		return r != 0 ? r : from_spool(p, &p->pruned);
	case SYNC_PHASE_LATE:
		return from_spool(p, &p->late);
	case SYNC_PHASE_DIRS:
		return from_spool(p, &p->dirs);
	case SYNC_PHASE_END:
		break;
	}
	return 0;
}

static struct sync_ready_list *
bucket(struct sync_plan *p, uint64_t id)
{
	return &p->under_way[id % SYNC_BUCKETS];
}

/* Gives out the first order that is ready. */
static bool
give(struct sync_plan *p, struct xfer_order *out)
{
	struct sync_ready *y = TAILQ_FIRST(&p->ready);

	if (y == NULL)
		return false;
	TAILQ_REMOVE(&p->ready, y, entry);
	TAILQ_INSERT_TAIL(bucket(p, y->order.id), y, entry);
	p->n_given++;
	*out = y->order;
	return true;
}

int
sync_plan_next(void *plan, struct xfer_order *out)
{
	struct sync_plan *p = plan;
	int r;

	while (!give(p, out)) {
		if (p->phase == SYNC_PHASE_END)
			return 0;
		r = step(p);
		if (r == SYNC_SCAN_LATER)
			return give(p, out) ? 1 : XFER_ORDERS_LATER;
		if (r < 0) {
			p->not_whole = true;
			return r;
		}
		if (r > 0)
			continue;
		if (p->phase == SYNC_PHASE_MERGE)
			tell_compared(p);
		p->phase++;
		if (p->phase == SYNC_PHASE_DELETE)
			sync_deletes_decide(p);
	}
	return 1;
}

void
sync_plan_done(void *plan, uint64_t id, bool ok, uint64_t bytes)
{
	struct sync_plan *p = plan;
	struct sync_ready_list *list = bucket(p, id);
	struct sync_ready *y;

	TAILQ_FOREACH(y, list, entry)
		if (y->order.id == id)
			break;
	if (y == NULL)
		return;
	/* The link could not be made, and the file was copied: -i shows a 'c'
	 * then. */
	if (bytes > 0 && y->record.letters[0] == 'h')
		y->record.letters[0] = 'c';
	if (ok)
		sync_tell(p, &y->record);
	TAILQ_REMOVE(list, y, entry);
	p->n_given--;
	p->order_failed |= !ok;
	sync_ready_free(y);
}

enum sync_deletes
sync_plan_deletes(const struct sync_plan *p)
{
	return p->deletes;
}

const struct sync_counts *
sync_plan_counts(const struct sync_plan *p)
{
	return &p->counts;
}
