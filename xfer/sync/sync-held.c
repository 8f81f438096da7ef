/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-held.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/name-folds.h"
#include "xfer/name-form.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-path.h"
#include "xfer/sync/sync-plan-internal.h"

enum {
	BYTES_MAX = 16 * 1024 * 1024, /* of names that wait */
	NOBODY = SIZE_MAX,
};

#define IS_ANOTHER                                                            \
	"at the target this is the same name as another one of the source: "  \
	"not copied"
#define IS_UNCLEAR                                                            \
	"at the target this is the same name as one of several: not copied"
#define IS_DIR                                                                \
	"is a directory at the target, by another form of its name: not "     \
	"copied"
#define NOT_KNOWN                                                             \
	"may be what was copied by another form of its name: not deleted"

#define NOT_COMPARED                                                          \
	"has another form of its name at the target: what is in it is not "   \
	"compared (with several sources, rules in directories, and other "    \
	"file systems)"

/* A copy of an item, with its texts. */
struct kept_item {
	bool is;
	struct walk_item item;
	char *bytes; /* owned */
};

struct held_name {
	char *path; /* owned */
	unsigned source;
	struct kept_item s, t;
	struct kept_item *dests; /* owned; one for each further directory of the
				  * target (--link-dest); NULL: none has the
				  * name */
	bool answered;
	uint32_t status; /* the target's answer */
	size_t is;   /* index of the target's name that is the same file;
		      * NOBODY */
	bool taken;  /* of a name at the target: it belongs to a name of the
		      * source */
};

struct sync_held {
	struct name_folds folds;
	struct held_name *v; /* owned */
	size_t n, room, bytes, at; /* at: the next name to be judged */
	const struct held_name *judged; /* at present; NULL: none */
	enum { READ, ASKED, PAIRED } step;
	size_t asked_for; /* index of the new name for which the server was
			   * asked after all names before were made; NOBODY */
	unsigned pending; /* answers that are under way */
	int err;	  /* the session's */
	bool dead;	  /* the plan is freed; the last answer frees this */
};

struct question {
	struct sync_held *held;
	size_t i;
};

static struct sync_held *
held_of(struct sync_pair_state *s)
{
	if (s->held == NULL) {
		s->held = xcalloc(1, sizeof *s->held);
		name_folds_init(&s->held->folds);
		s->held->asked_for = NOBODY;
	}
	return s->held;
}

static const char *
name_of(const struct held_name *n)
{
	return path_last(n->path);
}

static struct sync_frame *
frame_of(struct sync_plan *p)
{
	return TAILQ_LAST(&p->frames, sync_frames);
}

/* ---- what waits --------------------------------------------------------- */

static size_t
put_bytes(char *to, size_t at, const void *from, size_t len)
{
	if (len > 0)
		memcpy(to + at, from, len);
	return at + len;
}

static size_t
keep_item(struct kept_item *k, const struct walk_item *item)
{
	size_t name, text, digest, len;

	if (item == NULL)
		return 0;
	k->is = true;
	k->item = *item;
	name = strlen(item->name) + 1;
	text = item->text != NULL ? strlen(item->text) + 1 : 0;
	digest = item->digest != NULL ? WALK_DIGEST_LEN : 0;
	len = name + text + digest + item->xattrs.len;
	k->bytes = xmalloc(len);
	len = put_bytes(k->bytes, 0, item->name, name);
	k->item.name = k->bytes;
	if (text > 0)
		k->item.text = k->bytes + len;
	len = put_bytes(k->bytes, len, item->text, text);
	if (digest > 0)
		k->item.digest = (const uint8_t *)k->bytes + len;
	len = put_bytes(k->bytes, len, item->digest, digest);
	if (item->xattrs.len > 0)
		k->item.xattrs.p = (const uint8_t *)k->bytes + len;
	return put_bytes(k->bytes, len, item->xattrs.p, item->xattrs.len);
}

/* Copies what the further directories have under that name, before their scans
 * go on. Returns the bytes. */
static size_t
keep_dests(struct held_name *n, const struct sync_pair_state *now,
    const char *name)
{
	size_t bytes = 0;

	if (now->pair.n_dests == 0)
		return 0;
	n->dests = xcalloc(now->pair.n_dests, sizeof *n->dests);
	for (unsigned i = 0; i < now->pair.n_dests; i++)
		bytes += sizeof *n->dests +
		    keep_item(&n->dests[i], sync_dest_item(now, i, name));
	return bytes;
}

static void
hold(const struct sync_pair_state *now, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t)
{
	struct sync_held *h = now->held;
	struct held_name *n;
	size_t room;

	if (h->n == h->room) {
		room = h->room == 0 ? 64 : h->room * 2;
		h->v = xrecallocarray(h->v, h->room, room, sizeof *h->v);
		h->room = room;
	}
	n = &h->v[h->n++];
	n->path = xstrdup(path);
	n->source = source;
	n->is = NOBODY;
	h->bytes += sizeof *n + strlen(path) + keep_item(&n->s, s) +
	    keep_item(&n->t, t) + keep_dests(n, now, name_of(n));
	/* Names in the queue become children of the frame together, so room for
	 * those is counted. */
	if ((s != NULL && s->kind == WALK_DIR) ||
	    (t != NULL && t->kind == WALK_DIR))
		h->bytes += 2 * sizeof(struct sync_child);
}

static void
forget(const struct sync_pair_state *now)
{
	struct sync_held *h = now->held;

	for (size_t i = 0; i < h->n; i++) {
		for (unsigned k = 0; h->v[i].dests != NULL &&
		    k < now->pair.n_dests; k++)
			free(h->v[i].dests[k].bytes);
		free(h->v[i].dests);
		free(h->v[i].path);
		free(h->v[i].s.bytes);
		free(h->v[i].t.bytes);
	}
	/* xrecallocarray() expects zeros behind the old elements. */
	if (h->n > 0)
		memset(h->v, 0, h->n * sizeof *h->v);
	h->n = h->bytes = h->at = 0;
	h->step = READ;
}

/* True if orders of the directory may be delayed beyond later ones of it. Then
 * all names have to be known before the first is ordered. */
static bool
orders_wait(const struct sync_opts *o)
{
	return o->one_file.hard_links || o->one_file.renamed || o->prune_empty;
}

static bool
is_of_ascii(const char *name, unsigned flags)
{
	return name_is_ascii(name) && !(flags & NAME_FOLD_MIXED);
}

/* True if the names of this class are all ASCII, and the target was seen to
 * tell names apart that differ in capitals. */
static bool
are_two(struct sync_plan *p, const char *name, unsigned flags)
{
	return frame_of(p)->two_cases && is_of_ascii(name, flags);
}

bool
sync_held_takes(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t)
{
	struct sync_pair_state *now = p->now;
	const char *name = s != NULL ? s->name : t != NULL ? t->name : NULL;
	struct sync_held *h;
	unsigned flags;

	if (now->pair.names_only || now->pair.as != NULL || now->group_gone ||
	    now->pair.target_session == NULL || name == NULL)
		return false;
	h = held_of(now);
	flags = name_folds_note(&h->folds, name, s != NULL, t != NULL);
	if ((flags & NAME_FOLD_TWO) && is_of_ascii(name, flags))
		frame_of(p)->two_cases = true;
	if (h->n == 0) {
		if (s != NULL && t != NULL)
			return false;
		if (!now->target.in_group && (are_two(p, name, flags) ||
			(!(flags & NAME_FOLD_MET) &&
			    !orders_wait(p->p.opts)))) {
			name_folds_mark(&h->folds, name, NAME_FOLD_NEW);
			return false;
		}
	}
	hold(now, path, source, s, t);
	return true;
}

bool
sync_held_dest(const struct sync_pair_state *s, unsigned dest,
    const struct walk_item **out)
{
	const struct held_name *n = s->held != NULL ? s->held->judged : NULL;
	const struct kept_item *k;

	if (n == NULL)
		return false;
	k = n->dests != NULL ? &n->dests[dest] : NULL;
	*out = k != NULL && k->is ? &k->item : NULL;
	return true;
}

bool
sync_held_waits(const struct sync_pair_state *s)
{
	return s->held != NULL && s->held->n > 0;
}

bool
sync_held_is_full(const struct sync_plan *p)
{
	const struct sync_held *h = p->now->held;

	return h != NULL && (h->bytes > BYTES_MAX || h->step != READ);
}

/* ---- questions ---------------------------------------------------------- */

static void
on_answer(void *arg, const struct sftp_reply *reply)
{
	struct question *q = arg;
	struct sync_held *h = q->held;

	h->pending--;
	if (h->dead) {
		if (h->pending == 0)
			free(h);
	} else if (reply->err != 0) {
		h->err = reply->err;
	} else {
		h->v[q->i].status = reply->type == SFTP_ATTRS ? SFTP_OK :
		    reply->status;
		h->v[q->i].answered = true;
	}
	free(q);
}

static void
ask(struct sync_plan *p, size_t i)
{
	struct sync_held *h = p->now->held;
	struct question *q = xcalloc(1, sizeof *q);
	char *path = sync_path_below(p->now->pair.target_root, h->v[i].path);

	*q = (struct question){ h, i };
	h->pending++;
	h->v[i].answered = false;
	sftp_path_request(p->now->pair.target_session, SFTP_LSTAT, path,
	    on_answer, q);
	free(path);
}

/* Asks the target for the new names that may be other spellings of names that
 * it lists. */
static void
ask_all(struct sync_plan *p)
{
	struct sync_held *h = p->now->held;

	h->step = ASKED;
	for (size_t i = 0; i < h->n && p->now->target.in_group; i++) {
		unsigned flags = name_folds_of(&h->folds, name_of(&h->v[i]));

		if (h->v[i].s.is && !h->v[i].t.is &&
		    (flags & NAME_FOLD_MET) && (flags & NAME_FOLD_TARGET) &&
		    !are_two(p, name_of(&h->v[i]), flags))
			ask(p, i);
	}
}

/* ---- which are one ------------------------------------------------------ */

/* Finds the listed name that is the same file as new name i, which the target
 * has though it does not list it. It is the name that differs in the fewest
 * ways. If two differ in equally few, *unclear is set, because it is not known
 * which ways the target's file system ignores. NOBODY: it is none of the names
 * that only the target has. */
static size_t
find_listed(const struct sync_held *h, size_t i, bool *unclear)
{
	const char *name = name_of(&h->v[i]);
	unsigned ways, fewest = 0, all = NAME_CASE | NAME_FORM;
	size_t found = NOBODY, n = 0;

	for (size_t k = 0; k < h->n; k++) {
		ways = !h->v[k].t.is || h->v[k].s.is ? 0 :
		    name_ways_of(name, name_of(&h->v[k]));
		if (ways == 0)
			continue;
		n++;
		if (found != NOBODY && ways == fewest)
			all = 0; /* two names differ in equally few ways */
		if (found == NOBODY || (ways & fewest) == ways) {
			found = k;
			fewest = ways;
		}
		all &= ways;
	}
	*unclear = n > 0 && ((n > 1 && all != fewest) ||
	    (name_folds_of(&h->folds, name) & NAME_FOLD_BOTH) != 0);
	return *unclear ? NOBODY : found;
}

/* Takes the answers, and pairs new names with the listed names that are the
 * same files. */
static void
find_pairs(struct sync_held *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct held_name *n = &h->v[i];
		bool unclear = false;

		if (!n->answered)
			continue;
		if (n->status == SFTP_OK)
			n->is = find_listed(h, i, &unclear);
		if (n->is != NOBODY && h->v[n->is].taken)
			n->is = NOBODY;
		if (n->is != NOBODY)
			h->v[n->is].taken = true;
		if (n->status == SFTP_NO_SUCH_FILE)
			name_folds_mark(&h->folds, name_of(n),
			    NAME_FOLD_ASKED);
		else if (n->status != SFTP_OK || unclear)
			name_folds_mark(&h->folds, name_of(n),
			    NAME_FOLD_UNCLEAR);
	}
	h->step = PAIRED;
}

/* ---- directories with two names ----------------------------------------- */

/*
 * True if a directory with two names can be compared. The two names are at
 * different places in the order of the trees, so what is in them does not come
 * side by side. The directory is left out therefore, and compared as a pair of
 * its own after the present pair, with scans that begin in it.
 */

static bool
can_compare(const struct sync_plan *p, const struct walk_item *s,
    const struct walk_item *t)
{
	const struct sync_pair *pair = &p->now->pair;

	return pair->scan_below != NULL && pair->n_sources == 1 &&
	    p->n_rule_files == 0 && !s->not_entered && !t->not_entered;
}

/* Makes the pair of a directory with two names; the directory is removed from
 * the children of the open group. */
static struct sync_pair_state *
pair_of_child(struct sync_plan *p, struct sync_frame *f, const char *path,
    const char *target_path)
{
	const struct sync_pair_state *now = p->now;
	struct sync_pair_state *s = xcalloc(1, sizeof *s);

	s->pair = now->pair;
	s->pair.n_dests = 0;
	s->pair.target_made = false;
	s->number = p->n_pairs++;
	s->sources = xcalloc(1, sizeof *s->sources);
	s->dests = xcalloc(1, sizeof *s->dests);
	s->twin = xstrdup(path);
	s->twin_target = xstrdup(target_path);
	s->twin_mounted = now->group_unsure;
	s->self = f->children[--f->n];
	f->children[f->n] = (struct sync_child){ .name = NULL };
	return s;
}

static void
judge_dirs(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const char *target_path,
    const struct walk_item *t)
{
	struct sync_frame *f = TAILQ_LAST(&p->frames, sync_frames);
	struct sync_pair_state *twin;
	size_t before = f->n;
	char *shown;

	if (p->p.opts->recursive && !can_compare(p, s, t)) {
		shown = sync_shown(&p->now->pair, path, true);
		p->p.hooks.fail(p->p.hooks.arg, shown, NOT_COMPARED);
		free(shown);
		return;
	}
	/* With -m the directory counts, whether something comes into it or
	 * not. */
	p->alone = true;
	sync_handle(p, path, source, s, t);
	p->alone = false;
	if (f->n == before || !p->p.opts->recursive)
		return;
	twin = pair_of_child(p, f, path, target_path);
	TAILQ_INSERT_TAIL(&p->pairs, twin, entry);
}

int
sync_twin_begin(struct sync_plan *p)
{
	struct sync_pair_state *s = p->now;
	int err;

	if (s->sources[0].scan == NULL) {
		err = s->pair.scan_below(s->pair.scan_arg, &s->pair, true,
		    s->twin, &s->sources[0].scan);
		if (err < 0)
			return err;
		err = s->pair.scan_below(s->pair.scan_arg, &s->pair, false,
		    s->twin, &s->target.scan);
		if (err < 0)
			return err;
	}
	s->sources[0].below = s->target.below = s->twin;
	return 0;
}

void
sync_twin_passes(struct sync_plan *p, const struct walk_item *group)
{
	struct sync_pair_state *s;

	if (!group->mounted)
		return;
	TAILQ_FOREACH(s, &p->pairs, entry)
		if (s->twin_target != NULL &&
		    strcmp(s->twin_target, group->path) == 0)
			s->twin_mounted = true;
}

/* ---- what becomes of them ----------------------------------------------- */

static void
tell(struct sync_plan *p, const struct held_name *n, const char *text)
{
	char *shown = sync_shown(&p->now->pair, n->path, false);

	p->p.hooks.fail(p->p.hooks.arg, shown, text);
	free(shown);
}

/* Compares a name of the source with another name of the target which the
 * target's file system takes for the same. Orders use the source's name. */
static void
judge_pair(struct sync_plan *p, struct held_name *n)
{
	struct held_name *other = &p->now->held->v[n->is];
	bool source_dir = n->s.item.kind == WALK_DIR;
	bool target_dir = other->t.item.kind == WALK_DIR;

	if (target_dir && !source_dir)
		tell(p, n, IS_DIR);
	else if (target_dir)
		judge_dirs(p, n->path, n->source, &n->s.item, other->path,
		    &other->t.item);
	else
		sync_handle(p, n->path, n->source, &n->s.item, &other->t.item);
}

/* Judges a new name whose class has other names. 1: it is done;
 * SYNC_SCAN_LATER. */
static int
judge_new(struct sync_plan *p, size_t i, unsigned flags)
{
	struct sync_held *h = p->now->held;
	struct held_name *n = &h->v[i];
	const char *name = name_of(n);
	bool may_be = (flags & (NAME_FOLD_NEW | NAME_FOLD_MAYBE)) != 0 &&
	    !are_two(p, name, flags);

	if (n->answered && n->status != SFTP_NO_SUCH_FILE) {
		tell(p, n, n->status == SFTP_OK ?
			IS_ANOTHER : sftp_status_text(n->status));
		return 1;
	}
	if (may_be && !p->p.opts->dry_run && h->asked_for != i) {
		/* The server is asked only after all that was ordered is
		 * done. */
		if (p->n_given > 0 || !TAILQ_EMPTY(&p->ready))
			return SYNC_SCAN_LATER;
		h->asked_for = i;
		ask(p, i);
		return SYNC_SCAN_LATER;
	}
	/* Names that differ from this one only in capitals were made before the
	 * server was asked, and it does not have this one: so it tells such
	 * names apart. */
	if (h->asked_for == i && is_of_ascii(name, flags) && !p->order_failed)
		frame_of(p)->two_cases = true;
	name_folds_mark(&h->folds, name, NAME_FOLD_NEW);
	p->alone = true;
	sync_handle(p, n->path, n->source, &n->s.item, NULL);
	p->alone = false;
	return 1;
}

/* Judges a name that only the target lists. */
static void
judge_gone(struct sync_plan *p, struct held_name *n, unsigned flags)
{
	bool is_known = (flags & NAME_FOLD_UNCLEAR) == 0 &&
	    (!(flags & (NAME_FOLD_NEW | NAME_FOLD_MAYBE)) ||
		(flags & NAME_FOLD_ASKED) ||
		are_two(p, name_of(n), flags));

	if (n->taken)
		return;
	if (!is_known && p->p.opts->delete) {
		tell(p, n, NOT_KNOWN);
		frame_of(p)->stays = true;
		return;
	}
	sync_handle(p, n->path, n->source, NULL, &n->t.item);
}

static int
judge(struct sync_plan *p, size_t i)
{
	struct sync_held *h = p->now->held;
	struct held_name *n = &h->v[i];
	unsigned flags = name_folds_of(&h->folds, name_of(n));

	if (n->s.is && n->t.is) {
		sync_handle(p, n->path, n->source, &n->s.item, &n->t.item);
	} else if (n->t.is) {
		judge_gone(p, n, flags);
	} else if (n->is != NOBODY) {
		judge_pair(p, n);
	} else if (n->answered && (flags & NAME_FOLD_UNCLEAR)) {
		tell(p, n, n->status == SFTP_OK ?
			IS_UNCLEAR : sftp_status_text(n->status));
	} else if (flags & NAME_FOLD_MET) {
		return judge_new(p, i, flags);
	} else {
		name_folds_mark(&h->folds, name_of(n), NAME_FOLD_NEW);
		sync_handle(p, n->path, n->source, &n->s.item, NULL);
	}
	return 1;
}

/* Sorts directories by name; they were added in another order. */
static int
compare_children(const void *a, const void *b)
{
	const struct sync_child *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int
sync_held_judge(struct sync_plan *p, bool group_ends)
{
	struct sync_held *h = p->now->held;
	struct sync_frame *f;
	int r;

	if (h == NULL)
		return 0;
	if (h->n > 0 && h->step == READ)
		ask_all(p);
	if (h->err < 0)
		return h->err;
	if (h->pending > 0)
		return SYNC_SCAN_LATER;
	if (h->step == ASKED)
		find_pairs(h);
	for (; h->at < h->n; h->at++) {
		h->judged = &h->v[h->at];
		r = judge(p, h->at);
		h->judged = NULL;
		if (r == SYNC_SCAN_LATER)
			return r;
		h->asked_for = NOBODY;
	}
	if (h->n > 0 && (f = frame_of(p)) != NULL && f->n > f->at)
		qsort(f->children + f->at, f->n - f->at, sizeof *f->children,
		    compare_children);
	forget(p->now);
	if (group_ends)
		name_folds_clear(&h->folds);
	return 0;
}

void
sync_held_free(struct sync_pair_state *s)
{
	struct sync_held *h = s->held;

	if (h == NULL)
		return;
	forget(s);
	s->held = NULL;
	free(h->v);
	h->v = NULL;
	name_folds_clear(&h->folds);
	h->dead = true;
	if (h->pending == 0)
		free(h);
}
