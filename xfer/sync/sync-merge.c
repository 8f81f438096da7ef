/* SPDX-License-Identifier: ISC */
/*
 * The merge of a pair. Its sources and its target tell groups in the same
 * order, and names of a group in the same order. A frame is the open group, or
 * one of its parents, with the directories that were seen in it. A group that a
 * scan tells later has to be one of these directories; any other is passed
 * over.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/sync/sync-path.h"
#include "xfer/sync/sync-plan-internal.h"
#include "xfer/rules/sync-rules.h"

#define LOCK_NAME ".hpnsync-lock"

/* ---- cursors ------------------------------------------------------------ */

/* Reads the next item, unless there is one. 1: there is one or the scan is
 * over. */
int
sync_cursor_fill(struct sync_cursor *c)
{
	int r;

	while (!c->have && !c->ended) {
		r = c->ahead != NULL ? sync_ahead_next(c->ahead, &c->item) :
				       sync_scan_next(c->scan, &c->item);
		if (r == SYNC_SCAN_LATER || r < 0)
			return r;
		c->ended = r == 0;
		c->have = r == 1 && (c->item.is_group || !c->skips);
		if (c->have && c->item.is_group && c->below != NULL) {
			free(c->path);
			c->path = sync_path_below(c->below, c->item.path);
			c->item.path = c->path;
		}
	}
	return 1;
}

static int
fill_all(struct sync_plan *p)
{
	struct sync_pair_state *s = p->now;
	int r = sync_cursor_fill(&s->target);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < s->pair.n_sources; i++) {
		int one = sync_cursor_fill(&s->sources[i]);

		if (one < 0)
			return one;
		if (one == SYNC_SCAN_LATER)
			r = one;
	}
	return r == 1 ? sync_dests_fill(s) : r;
}

static bool
at_group(const struct sync_cursor *c)
{
	return c->have && c->item.is_group;
}

static bool
at_name(const struct sync_cursor *c)
{
	return c->in_group && c->have && !c->item.is_group;
}

/* True if the path is that of the pair's first group. */
static bool
is_top(const struct sync_pair_state *s, const char *path)
{
	return strcmp(path, s->twin != NULL ? s->twin : "") == 0;
}

/* ---- frames ------------------------------------------------------------- */

static void
free_frame(struct sync_frame *f)
{
	sync_children_free(f);
	free(f->own_xattrs);
	free(f->path);
	free(f);
}

static void
pop_frame(struct sync_plan *p)
{
	struct sync_frame *f = TAILQ_LAST(&p->frames, sync_frames);
	struct sync_frame *above = TAILQ_PREV(f, sync_frames, entry);

	sync_frame_end(p, f);
	if (above != NULL)
		above->stays |= f->stays;
	TAILQ_REMOVE(&p->frames, f, entry);
	free_frame(f);
}

static struct sync_frame *
push_frame(struct sync_plan *p, const char *path)
{
	struct sync_frame *f = xcalloc(1, sizeof *f);

	f->path = xstrdup(path);
	TAILQ_INSERT_TAIL(&p->frames, f, entry);
	return f;
}

static bool
is_parent(const char *dir, const char *path)
{
	size_t len = strlen(dir);
	const char *slash = strrchr(path, '/');

	if (len == 0)
		return slash == NULL;
	return slash == path + len && strncmp(dir, path, len) == 0;
}

static bool
is_above(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return len == 0 || (strncmp(dir, path, len) == 0 && path[len] == '/');
}

/* Ends a directory for which no scan tells a group. */
static void
end_child(struct sync_plan *p, const struct sync_frame *f,
    const struct sync_child *c)
{
	struct sync_frame end = { .has_self = true, .self = *c };

	if (*f->path == '\0')
		end.path = xstrdup(c->name);
	else
		xasprintf(&end.path, "%s/%s", f->path, c->name);
	sync_frame_end(p, &end);
	free(end.path);
}

/* Ends the directories of the frame that sort before up_to; NULL: all. */
static void
end_children(struct sync_plan *p, struct sync_frame *f, const char *up_to)
{
	const struct sync_child *c;

	for (; (c = sync_children_next(p, f)) != NULL; f->at++) {
		if (up_to != NULL && strcmp(c->name, up_to) >= 0)
			return;
		if (!c->gone)
			end_child(p, f, c);
	}
}

/* Leaves the directories that path is not in. */
static void
leave(struct sync_plan *p, const char *path)
{
	struct sync_frame *f;

	while ((f = TAILQ_LAST(&p->frames, sync_frames)) != NULL &&
	    !is_above(f->path, path)) {
		end_children(p, f, NULL);
		pop_frame(p);
	}
}

/* The directory of that path, as the group that it is in has it; NULL: it does
 * not count. */
static const struct sync_child *
find_child(struct sync_plan *p, const char *path)
{
	const struct sync_child *c;
	struct sync_frame *f;
	const char *name = path_last(path);

	leave(p, path);
	f = TAILQ_LAST(&p->frames, sync_frames);
	if (f == NULL || !is_parent(f->path, path))
		return NULL;
	end_children(p, f, name);
	c = sync_children_next(p, f);
	if (c == NULL || strcmp(c->name, name) != 0)
		return NULL;
	f->at++;
	return c;
}

/* ---- groups ------------------------------------------------------------- */

static void
skip_group(struct sync_cursor *c)
{
	c->have = false;
	c->in_group = false;
	c->skips = true;
}

static void
join_group(struct sync_cursor *c)
{
	c->have = false;
	c->in_group = true;
	c->skips = false;
}

/* Reports an entry of the source that could not be read. If it vanished after
 * it was listed, deletes are made nevertheless, as with rsync. */
static void
not_known(struct sync_plan *p, const char *path, bool is_dir, uint32_t status)
{
	char *shown = sync_shown(&p->now->pair, path, is_dir);

	if (status == SFTP_NO_SUCH_FILE)
		p->p.hooks.vanished(p->p.hooks.arg, shown);
	else
		p->p.hooks.fail(p->p.hooks.arg, shown,
		    sftp_status_text(status));
	p->not_whole |= status != SFTP_NO_SUCH_FILE || *path == '\0';
	free(shown);
}

/* A group that cannot be read, of a source: what is in the target is not
 * compared, and stays. */
static void
unreadable(struct sync_plan *p, const struct sync_cursor *c)
{
	not_known(p, c->item.path, true, c->item.status);
}

/* The sources whose next group is at path join it. Returns how many did; one
 * that cannot be read leaves the others without deletes. */
static unsigned
join_sources(struct sync_plan *p, const char *path, bool counts)
{
	struct sync_pair_state *s = p->now;
	unsigned joined = 0;

	s->group_unsure = false;
	for (unsigned i = 0; i < s->pair.n_sources; i++) {
		struct sync_cursor *c = &s->sources[i];

		c->in_group = false;
		if (!at_group(c) || strcmp(c->item.path, path) != 0)
			continue;
		if (counts && c->item.status != 0)
			unreadable(p, c);
		if (!counts || c->item.status != 0) {
			s->group_unsure |= counts;
			skip_group(c);
			continue;
		}
		join_group(c);
		joined++;
	}
	return joined;
}

static void
rules_fail(struct sync_plan *p, const char *path, const char *why)
{
	p->p.hooks.fail(p->p.hooks.arg, path, why != NULL ? why :
	    "has rules that cannot be read");
	p->not_whole = true;
}

/* Takes the rules of one source's directory. False: a file of rules could not
 * be read. */
static bool
take_rules(struct sync_plan *p, unsigned source, const char *path)
{
	const struct sync_ahead *ahead = p->now->sources[source].ahead;
	const char *texts[SYNC_AHEAD_FILES], *why = NULL;
	size_t lens[SYNC_AHEAD_FILES];
	char *named;
	bool fine = true;

	for (size_t i = 0; i < p->n_rule_files; i++) {
		struct sync_ahead_file f = sync_ahead_file(ahead, i);

		texts[i] = f.text;
		lens[i] = f.len;
		if (f.why == NULL)
			continue;
		xasprintf(&named, "%s%s%s", path, *path != '\0' ? "/" : "",
		    p->rule_files[i]);
		rules_fail(p, named, f.why);
		free(named);
		fine = false;
	}
	if (fine && sync_rules_enter_too(p->p.rules, source, path, texts, lens,
	    &why) != 0) {
		rules_fail(p, *path != '\0' ? path : "./", why);
		fine = false;
	}
	return fine;
}

/* Puts the rules in force that the directory at path has of its own (in files
 * such as .rsync-filter), from each source whose next group it is. False: some
 * cannot be read; then nothing in the directory is compared. */
static bool
enter_rules(struct sync_plan *p, const char *path)
{
	struct sync_pair_state *s = p->now;
	char *shown = sync_shown(&s->pair, path, false);
	const char *at = strcmp(shown, "./") == 0 ? "" : shown, *why;
	bool fine = sync_rules_enter(p->p.rules, at, NULL, NULL, &why) == 0;

	for (unsigned i = 0; i < s->pair.n_sources && fine; i++) {
		struct sync_cursor *c = &s->sources[i];

		if (c->ahead != NULL && at_group(c) && c->item.status == 0 &&
		    strcmp(c->item.path, path) == 0)
			fine = take_rules(p, i, at);
	}
	free(shown);
	return fine;
}

/* The target's group may be unreadable: then nothing is compared. */
static bool
target_reads(struct sync_plan *p)
{
	const struct sync_cursor *t = &p->now->target;
	char *shown;

	if (t->item.status == 0 || t->item.status == SFTP_NO_SUCH_FILE)
		return true;
	shown = sync_shown(&p->now->pair, t->item.path, true);
	p->p.hooks.fail(p->p.hooks.arg, shown,
	    sftp_status_text(t->item.status));
	p->not_whole = true;
	free(shown);
	return false;
}

static void
set_group(struct sync_plan *p, const char *path, bool gone)
{
	struct sync_pair_state *s = p->now;

	free(s->group);
	s->group = xstrdup(path);
	strlist_clear(&s->parts);
	s->group_gone = gone;
	s->open = true;
}

/* Opens the target's group of a directory that goes: so does what is in it. */
static void
open_gone(struct sync_plan *p, const char *path, const struct sync_child *c)
{
	struct sync_pair_state *s = p->now;
	bool can_read = s->target.item.status == 0 && !s->target.item.mounted;
	struct sync_frame *f;
	char *inside;

	for (unsigned i = 0; i < s->pair.n_sources; i++)
		s->sources[i].in_group = false;
	f = push_frame(p, path);
	f->gone = true;
	f->counted = c->counted;
	if (can_read) {
		set_group(p, path, true);
		(void)enter_rules(p, path);
		join_group(&s->target);
	} else {
		/* Names in it are not known, so the directory itself must stay:
		 * one unknown name is noted as kept. */
		xasprintf(&inside, "%s/.", path);
		sync_keep(p, inside);
		free(inside);
		skip_group(&s->target);
	}
}

/* Opens the frame of a group: that of a directory of the frame above (c), or
 * one on the way to names that were given (c NULL). */
static void
enter_frame(struct sync_plan *p, const char *path, const struct sync_child *c,
    bool with_target)
{
	struct sync_pair_state *s = p->now;
	struct sync_frame *f, *above;

	leave(p, path);
	above = TAILQ_LAST(&p->frames, sync_frames);
	f = push_frame(p, path);
	f->has_self = c != NULL;
	if (c != NULL)
		f->self = *c;
	f->self.name = NULL;
	f->has_group = true;
	/* How a file system treats capitals is taken over from the directory
	 * above, for a directory that is new. */
	f->two_cases = above != NULL && above->two_cases && !with_target;
	s->group_unsure |= with_target && s->target.item.mounted;
	f->unsure = s->group_unsure;
}

/* Opens a group that one or more sources have. */
static void
open_sources(struct sync_plan *p, char *path, bool with_target)
{
	struct sync_pair_state *s = p->now;
	const struct sync_child *c = is_top(s, path) ? NULL :
						       find_child(p, path);
	/* The parents of given names need not be entries themselves. */
	bool counts = is_top(s, path) || c != NULL || s->pair.names_only;

	if (c != NULL && c->gone) {
		(void)join_sources(p, path, false);
		if (with_target)
			open_gone(p, path, c);
		return;
	}
	if (counts && with_target && !target_reads(p))
		counts = false;
	if (counts && !enter_rules(p, path))
		counts = false;
	if (!counts || join_sources(p, path, true) == 0) {
		(void)join_sources(p, path, false);
		if (with_target)
			skip_group(&s->target);
		return;
	}
	if (with_target)
		join_group(&s->target);
	else
		s->target.in_group = false;
	s->group_unsure |= s->twin_mounted;
	if (!is_top(s, path) || TAILQ_EMPTY(&p->frames))
		enter_frame(p, path, c, with_target);
	set_group(p, path, false);
}

/* A group that only the target has: what is in it is deleted if its directory
 * is. */
static void
open_target(struct sync_plan *p, const char *path)
{
	struct sync_pair_state *s = p->now;
	const struct sync_child *c = is_top(s, path) ? NULL :
						       find_child(p, path);

	if (c != NULL && c->gone) {
		open_gone(p, path, c);
		return;
	}
	if (c != NULL)
		end_child(p, TAILQ_LAST(&p->frames, sync_frames), c);
	sync_twin_passes(p, &s->target.item);
	skip_group(&s->target);
}

/* Opens the next group. False: there is no more. */
static bool
next_group(struct sync_plan *p)
{
	struct sync_pair_state *s = p->now;
	const char *first = NULL;
	char *path;
	int order;

	for (unsigned i = 0; i < s->pair.n_sources; i++)
		if (at_group(&s->sources[i]) && (first == NULL ||
		    walk_path_cmp(s->sources[i].item.path, first) < 0))
			first = s->sources[i].item.path;
	if (first == NULL && !at_group(&s->target))
		return false;
	order = first == NULL ? -1 : !at_group(&s->target) ? 1 :
	    walk_path_cmp(s->target.item.path, first);
	path = xstrdup(order < 0 ? s->target.item.path : first);
	if (order >= 0 && sync_dests_follow(s, path, NULL)) {
		free(path);
		return true;
	}
	sync_dests_join(s, path);
	if (order < 0)
		open_target(p, path);
	else
		open_sources(p, path, order == 0);
	free(path);
	return true;
}

/* ---- names -------------------------------------------------------------- */

/* The first of the names that are next; NULL: the group is over. */
static const char *
first_name(const struct sync_pair_state *s)
{
	const char *first = at_name(&s->target) ? s->target.item.name : NULL;

	for (unsigned i = 0; i < s->pair.n_sources; i++)
		if (at_name(&s->sources[i]) && (first == NULL ||
		    strcmp(s->sources[i].item.name, first) < 0))
			first = s->sources[i].item.name;
	return first;
}

static bool
is_hidden(const struct sync_plan *p, unsigned source, const char *path,
    bool is_dir)
{
	char *shown = sync_shown(&p->now->pair, path, false);
	bool hidden = sync_rules_hides(p->p.rules, source, shown, is_dir);

	free(shown);
	return hidden;
}

/* The source whose entry counts: the first, but a directory before all else. */
static unsigned
source_of(const struct sync_plan *p, const char *name, const char *path)
{
	const struct sync_pair_state *s = p->now;
	unsigned best = s->pair.n_sources;

	/* An entry that a rule of its source hides counts as missing. */
	for (unsigned i = s->pair.n_sources; i-- > 0;) {
		const struct sync_cursor *c = &s->sources[i];

		if (at_name(c) && strcmp(c->item.name, name) == 0 &&
		    (best == s->pair.n_sources ||
			s->sources[best].item.kind != WALK_DIR ||
			c->item.kind == WALK_DIR) &&
		    !is_hidden(p, i, path, c->item.kind == WALK_DIR))
			best = i;
	}
	return best;
}

/* An entry of a source of which nothing is known: it is left as it is. */
static void
unknown(struct sync_plan *p, const char *path, const struct walk_item *s)
{
	not_known(p, path, false, s->status);
}

void
sync_handle(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t)
{
	if (t != NULL)
		sync_basis_seen(p, path, t);
	if (s != NULL && s->kind == WALK_UNKNOWN)
		unknown(p, path, s);
	else if (s != NULL)
		sync_one(p, path, source, s, t);
	else if (t != NULL)
		sync_gone(p, path, t);
}

/* True if the source's only name and the target's are compared as the same
 * name, because the pair gives the name at the target (`as`). */
static bool
is_renamed(const struct sync_pair_state *s)
{
	return s->pair.as != NULL && at_name(&s->sources[0]) &&
	    at_name(&s->target);
}

static void
next_name(struct sync_plan *p, const char *first)
{
	struct sync_pair_state *s = p->now;
	bool renamed = is_renamed(s);
	char *name = xstrdup(renamed ? s->sources[0].item.name : first), *path;
	const struct walk_item *from, *to;
	unsigned source;
	bool in_target = renamed || (at_name(&s->target) &&
	    strcmp(s->target.item.name, name) == 0);

	p->counts.target_entries += in_target && !s->group_unsure;
	if (*s->group == '\0')
		path = xstrdup(name);
	else
		xasprintf(&path, "%s/%s", s->group, name);
	source = source_of(p, name, path);
	from = source < s->pair.n_sources ? &s->sources[source].item : NULL;
	to = in_target ? &s->target.item : NULL;
	if (strcmp(path, LOCK_NAME) != 0 &&
	    !sync_held_takes(p, path, source, from, to))
		sync_handle(p, path, source, from, to);
	for (unsigned i = 0; i < s->pair.n_sources; i++) {
		if (!at_name(&s->sources[i]) ||
		    strcmp(s->sources[i].item.name, name) != 0)
			continue;
		s->sources[i].have = false;
		s->entries++;
	}
	if (in_target)
		s->target.have = false;
	free(path);
	free(name);
}

/* ---- the pair ----------------------------------------------------------- */

/* Compares the tops of source and target. Returns 1, SYNC_SCAN_LATER, or an
 * error. */
static int
begin(struct sync_plan *p)
{
	struct sync_pair_state *s = p->now;
	struct walk_item from, to;
	struct sync_frame *f;
	int r;

	if (s->twin != NULL) {
		if ((r = sync_twin_begin(p)) < 0)
			return r;
		f = push_frame(p, s->twin);
		f->has_self = f->has_group = true;
		f->self = s->self;
		f->own_xattrs = f->self.xattrs;
		free(s->self.name);
		s->self = (struct sync_child){ .name = NULL };
		f->self.name = NULL;
	} else if (!s->pair.names_only) {
		r = sync_scan_top(s->sources[0].scan, &from);
		if (r != 1)
			return r;
		r = sync_scan_top(s->target.scan, &to);
		if (r != 1)
			return r;
		if ((r = sync_dests_top(s)) != 1)
			return r;
		(void)push_frame(p, "");
		if (from.kind == WALK_DIR)
			sync_top(p, &from, &to);
	}
	s->begun = true;
	return 1;
}

static void
end(struct sync_plan *p)
{
	struct sync_frame *f;

	while ((f = TAILQ_LAST(&p->frames, sync_frames)) != NULL) {
		end_children(p, f, NULL);
		pop_frame(p);
	}
	if (p->now->entries == 0 && p->now->n_gone > 0 && p->now->twin == NULL)
		p->emptied = true;
}

int
sync_merge(struct sync_plan *p)
{
	struct sync_pair_state *s = p->now;
	const char *name;
	int r;

	if (!s->begun)
		return begin(p);
	if ((r = fill_all(p)) != 1)
		return r;
	if (s->open) {
		name = first_name(s);
		if ((name == NULL || sync_held_is_full(p)) &&
		    (r = sync_held_judge(p, name == NULL)) != 0)
			return r;
		if (!sync_held_waits(s))
			sync_children_limit(p);
		/* The judged names may have orders, which are given out
		 * first. */
		if (!TAILQ_EMPTY(&p->ready))
			return 1;
		if (name != NULL) {
			if (!sync_dests_follow(s, NULL, s->pair.as != NULL ?
				s->pair.as : name))
				next_name(p, name);
			return 1;
		}
		s->open = false;
		if ((r = sync_bases_group_ends(p)) < 0)
			return r;
	}
	if (next_group(p))
		return 1;
	end(p);
	return 0;
}

void
sync_plan_free_frames(struct sync_plan *p)
{
	struct sync_frame *f;

	while ((f = TAILQ_FIRST(&p->frames)) != NULL) {
		TAILQ_REMOVE(&p->frames, f, entry);
		free_frame(f);
	}
}
