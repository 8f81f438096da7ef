/* SPDX-License-Identifier: ISC */
/*
 * Plans of a sync, from scans and a target that are models in memory: random
 * pairs of trees are made the same, a dry run tells what a run does, and what
 * must not be deleted is not.
 */
#include "regress/unit/help.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "regress/unit/dice.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/sync/sync-plan.h"
#include "xfer/rules/sync-rules.h"

enum { NODES_MAX = 400, LINES_MAX = 1000, NOW = 2000000000, STORIES = 2000 };

/* ---- trees -------------------------------------------------------------- */

struct node {
	char path[64]; /* "" is the top */
	enum walk_kind kind;
	uint32_t mode, status, data;
	int64_t mtime;
	bool not_entered, mounted;
};

struct tree {
	struct node v[NODES_MAX]; /* in no order */
	size_t count;
};

static struct node *
find(struct tree *t, const char *path)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->v[i].path, path) == 0)
			return &t->v[i];
	return NULL;
}

static struct node *
put(struct tree *t, const char *path, enum walk_kind kind)
{
	struct node *n = find(t, path);

	if (n == NULL) {
		assert_true(t->count < NODES_MAX);
		n = &t->v[t->count++];
	}
	*n = (struct node){ .kind = kind, .mtime = 1000000000,
		.mode = kind == WALK_DIR ? 0755 : kind == WALK_LINK ? 0777 :
		0644, .data = 1 };
	snprintf(n->path, sizeof n->path, "%s", path);
	return n;
}

static void
take_away(struct tree *t, struct node *n)
{
	*n = t->v[--t->count];
}

/* The directory that path is in, without the slash behind it. */
static void
parent_of(const char *path, char out[64])
{
	snprintf(out, 64, "%.*s", (int)path_parent_len(path), path);
}

static bool
is_in(const struct node *n, const char *dir)
{
	char parent[64];

	parent_of(n->path, parent);
	return n->path[0] != '\0' && strcmp(parent, dir) == 0;
}

static bool
has_names(const struct tree *t, const char *dir)
{
	for (size_t i = 0; i < t->count; i++)
		if (is_in(&t->v[i], dir))
			return true;
	return false;
}

/* ---- scans -------------------------------------------------------------- */

struct sync_scan {
	const struct tree *t;
	size_t at, count;
	struct {
		const struct node *n;
		bool group;
	} items[2 * NODES_MAX];
	struct dice *dice; /* NULL: never late */
	char said[200];	   /* what the last item pointed to */
};

static int
compare_paths(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return walk_path_cmp((*x)->path, (*y)->path);
}

static int
compare_names(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static void
scan_dir(struct sync_scan *c, const struct node *dir)
{
	const struct node *in[NODES_MAX];
	size_t count = 0;

	c->items[c->count].n = dir;
	c->items[c->count++].group = true;
	if (dir->status != 0)
		return;
	for (size_t i = 0; i < c->t->count; i++)
		if (is_in(&c->t->v[i], dir->path))
			in[count++] = &c->t->v[i];
	qsort(in, count, sizeof in[0], compare_names);
	for (size_t i = 0; i < count; i++) {
		c->items[c->count].n = in[i];
		c->items[c->count++].group = false;
	}
}

static void
scan(struct sync_scan *c, const struct tree *t, bool recursive,
    struct dice *dice)
{
	const struct node *dirs[NODES_MAX];
	size_t count = 0;

	memset(c, 0, sizeof *c);
	c->t = t;
	c->dice = dice;
	for (size_t i = 0; i < t->count; i++)
		if (t->v[i].kind == WALK_DIR && !t->v[i].not_entered &&
		    (recursive || t->v[i].path[0] == '\0'))
			dirs[count++] = &t->v[i];
	qsort(dirs, count, sizeof dirs[0], compare_paths);
	for (size_t i = 0; i < count; i++)
		scan_dir(c, dirs[i]);
}

static struct walk_item
item_of(const struct node *n)
{
	static const char *const texts[] = { "a", "b", "c" };

	return (struct walk_item){ .kind = n->kind, .mode = n->mode,
		.size = n->kind == WALK_FILE ? n->data : 0, .nlink = 1,
		.mtime = n->mtime, .not_entered = n->not_entered,
		.text = n->kind == WALK_LINK ? texts[n->data % 3] : NULL };
}

int
sync_scan_next(struct sync_scan *c, struct walk_item *item)
{
	const struct node *n;

	/* Whoever still looks at the last item is seen to. */
	memset(c->said, '#', sizeof c->said - 1);
	if (c->dice != NULL && dice_below(c->dice, 4) == 0)
		return SYNC_SCAN_LATER;
	if (c->at == c->count)
		return 0;
	n = c->items[c->at].n;
	*item = item_of(n);
	if (c->items[c->at++].group) {
		snprintf(c->said, sizeof c->said, "%s", n->path);
		*item = (struct walk_item){ .is_group = true, .path = c->said,
			.status = n->status, .mounted = n->mounted };
	} else {
		snprintf(c->said, sizeof c->said, "%s", path_last(n->path));
		item->name = c->said;
		if (n->kind == WALK_UNKNOWN)
			item->status = n->status;
	}
	return 1;
}

int
sync_scan_top(struct sync_scan *c, struct walk_item *item)
{
	for (size_t i = 0; i < c->t->count; i++)
		if (c->t->v[i].path[0] == '\0') {
			*item = item_of(&c->t->v[i]);
			item->name = "";
			return 1;
		}
	*item = (struct walk_item){ .status = SFTP_NO_SUCH_FILE, .name = "" };
	return 1;
}

bool
sync_scan_has_ns(const struct sync_scan *c)
{
	(void)c;
	return false;
}

bool
sync_scan_has_digests(const struct sync_scan *c)
{
	(void)c;
	return false;
}

void
sync_scan_free(struct sync_scan *c)
{
	(void)c;
}

/* ---- what a transfer does ----------------------------------------------- */

struct run {
	struct tree *source, *target;
	char *lines[LINES_MAX]; /* owned */
	size_t count, failures, notes, deletes;
	bool deleted; /* the first delete has been ordered */
	enum sync_deletes verdict;
};

static void
line(struct run *run, const char *letters, const char *path)
{
	assert_true(run->count < LINES_MAX);
	assert_true(asprintf(&run->lines[run->count++], "%s %s", letters,
	    path) > 0);
}

static void
on_item(void *arg, const char *letters, const char *path,
    const struct walk_item *source)
{
	(void)source;
	line(arg, letters, path);
}

static void
on_note(void *arg, const char *path, const char *text)
{
	struct run *run = arg;

	(void)path;
	(void)text;
	run->notes++;
}

static void
on_fail(void *arg, const char *path, const char *text)
{
	struct run *run = arg;

	(void)path;
	(void)text;
	run->failures++;
}

static void
on_vanished(void *arg, const char *path)
{
	on_note(arg, path, NULL);
}

/* The path in the tree, of one as orders name it. */
static const char *
below(const char *root, const char *path)
{
	size_t len = strlen(root);

	assert_non_null(path);
	if (strncmp(path, root, len) != 0)
		fail_msg("%s is not below %s", path, root);
	path += len;
	while (*path == '/')
		path++;
	return path;
}

static struct node *
dir_of(struct run *run, const char *path)
{
	char parent[64];
	struct node *n;

	parent_of(path, parent);
	n = find(run->target, parent);
	if (n == NULL || n->kind != WALK_DIR)
		fail_msg("%s: there is no directory for it", path);
	return n;
}

static void
set_attributes(struct node *n, const struct xfer_order *o)
{
	if ((o->attrs->flags & SFTP_A_MODE) != 0)
		n->mode = o->attrs->mode & 07777;
	if ((o->attrs->flags & SFTP_A_TIMES) != 0)
		n->mtime = o->attrs->mtime;
}

/* Whatever has the name and is of another kind goes. */
static void
make_way(struct run *run, const struct xfer_order *o, const char *path,
    bool for_dir)
{
	struct node *old = find(run->target, path);

	if (old == NULL)
		return;
	if (old->kind == WALK_DIR && !for_dir) {
		if (!o->replaces_kind || has_names(run->target, path))
			fail_msg("%s: a directory is in the way", path);
		take_away(run->target, old);
	} else if (old->kind != WALK_DIR && for_dir) {
		if (!o->replaces_kind)
			fail_msg("%s: a file is in the way", path);
		take_away(run->target, old);
	}
}

static void
obey_copy(struct run *run, const struct xfer_order *o, const char *path)
{
	struct node *source, *n;

	if (path[0] != '\0')
		dir_of(run, path)->mtime = NOW;
	if (o->kind == XFER_ORDER_MAKE_DIR) {
		make_way(run, o, path, true);
		if ((n = find(run->target, path)) == NULL)
			put(run->target, path, WALK_DIR)->mtime = NOW;
		return;
	}
	make_way(run, o, path, false);
	source = find(run->source, o->local);
	assert_non_null(source);
	assert_int_equal(S_ISLNK(o->attrs->mode), source->kind == WALK_LINK);
	n = put(run->target, path, source->kind);
	n->data = source->data;
	n->mtime = NOW;
	set_attributes(n, o);
}

static void
obey_delete(struct run *run, const struct xfer_order *o, const char *path)
{
	struct node *n = find(run->target, path);
	bool dir = o->kind == XFER_ORDER_DELETE_DIR;

	if (n == NULL)
		fail_msg("%s: is deleted, and is not there", path);
	if (dir != (n->kind == WALK_DIR) || (dir && has_names(run->target,
	    path)))
		fail_msg("%s: cannot be deleted so", path);
	take_away(run->target, n);
	dir_of(run, path)->mtime = NOW;
	run->deleted = true;
	run->deletes++;
}

static void
obey(struct run *run, const struct xfer_order *o)
{
	const char *path = below("/T", o->remote);
	struct node *n;

	switch (o->kind) {
	case XFER_ORDER_COPY:
	case XFER_ORDER_MAKE_DIR:
		obey_copy(run, o, path);
		return;
	case XFER_ORDER_ATTRS:
	case XFER_ORDER_DIR_ATTRS:
		n = find(run->target, path);
		assert_non_null(n);
		set_attributes(n, o);
		return;
	default:
		obey_delete(run, o, path);
	}
}

static void
run_plan(struct run *run, const struct sync_opts *o, struct sync_rules *rules,
    struct dice *dice)
{
	static struct sync_scan from, to;
	struct sync_scan *const sources[] = { &from };
	const char *const roots[] = { "/S" };
	struct local_dir *const none[] = { NULL };
	const struct sync_pair pair = { .sources = sources, .n_sources = 1,
		.source_roots = roots, .target = &to, .target_root = "/T",
		.shown = "", .locals = none };
	const struct sync_ends ends = { .target_is_root = true,
		.umask_target = 022 };
	const struct sync_plan_params params = { .opts = o, .rules = rules,
		.ends = &ends, .up = true,
		.children_max = dice != NULL ? dice_below(dice, 3) : 1,
		.hooks = { .item = on_item,
		.note = on_note, .fail = on_fail, .vanished = on_vanished,
		.arg = run } };
	const struct tree before = *run->target;
	struct sync_plan *p;
	struct xfer_order order;
	int r;

	scan(&from, run->source, o->recursive, dice);
	scan(&to, &before, true, dice);
	assert_int_equal(sync_plan_new(&p, &params), 0);
	assert_int_equal(sync_plan_add(p, &pair), 0);
	while ((r = sync_plan_next(p, &order)) > 0) {
		if (r == XFER_ORDERS_LATER)
			continue;
		assert_false(o->dry_run);
		obey(run, &order);
		sync_plan_done(p, order.id, true, 0);
	}
	assert_int_equal(r, 0);
	run->verdict = sync_plan_deletes(p);
	sync_plan_free(p);
}

static void
run_end(struct run *run)
{
	for (size_t i = 0; i < run->count; i++)
		free(run->lines[i]);
}

/* ---- stories ------------------------------------------------------------ */

static void
grow(struct tree *t, struct dice *d, const char *dir, unsigned depth)
{
	static const char *const names[] = { "a", "a-", "a.b", "b", "c", "x1",
		"x2", "z" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		enum walk_kind kind = dice_below(d, 3) == 0 ? WALK_DIR :
		    dice_below(d, 4) == 0 ? WALK_LINK : WALK_FILE;
		char path[64];
		struct node *n;

		if (dice_below(d, 3) == 0)
			continue;
		snprintf(path, sizeof path, "%s%s%s", dir,
		    *dir != '\0' ? "/" : "", names[i]);
		n = put(t, path, kind);
		n->data = 1 + dice_below(d, 2);
		n->mtime += dice_below(d, 2);
		if (kind == WALK_LINK)
			n->mode = 0777;
		else if (dice_below(d, 4) == 0)
			n->mode = kind == WALK_DIR ? 0700 : 0600;
		if (kind == WALK_DIR && depth < 2)
			grow(t, d, path, depth + 1);
	}
}

static void
make_tree(struct tree *t, struct dice *d)
{
	t->count = 0;
	put(t, "", WALK_DIR)->mtime += dice_below(d, 2);
	grow(t, d, "", 0);
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
assert_same_lines(struct run *a, struct run *b, unsigned seed)
{
	qsort(a->lines, a->count, sizeof a->lines[0], compare_lines);
	qsort(b->lines, b->count, sizeof b->lines[0], compare_lines);
	for (size_t i = 0; i < MAX(a->count, b->count); i++)
		if (i >= a->count || i >= b->count ||
		    strcmp(a->lines[i], b->lines[i]) != 0)
			fail_msg("story %u: -n says \"%s\", the run \"%s\"",
			    seed, i < a->count ? a->lines[i] : "",
			    i < b->count ? b->lines[i] : "");
}

static struct sync_opts
archive(void)
{
	return (struct sync_opts){ .recursive = true, .links = true,
		.perms = true, .times = true, .owner = true, .group = true,
		.chown_user = SYNC_ANY_ID, .chown_group = SYNC_ANY_ID };
}

static bool
excluded(const struct sync_rules *r, const char *path, bool is_dir)
{
	char above[64];

	if (*path == '\0')
		return false;
	parent_of(path, above);
	return excluded(r, above, true) ||
	    sync_rules_excludes(r, SYNC_SENDER, path, is_dir);
}

/* Has every name of the source come, and is every other one of the target as
 * the options say? */
static void
check_target(const struct run *run, const struct tree *before,
    const struct sync_opts *o, const struct sync_rules *rules, unsigned seed)
{
	static struct tree old;

	old = *before;
	for (size_t i = 0; i < run->source->count; i++) {
		const struct node *s = &run->source->v[i];
		const struct node *t = find(run->target, s->path);

		if (excluded(rules, s->path, s->kind == WALK_DIR))
			continue;
		if (t == NULL || t->kind != s->kind || t->mtime != s->mtime ||
		    t->mode != s->mode ||
		    (s->kind != WALK_DIR && t->data != s->data))
			fail_msg("story %u: %s is not as in the source", seed,
			    s->path);
	}
	for (size_t i = 0; i < run->target->count; i++) {
		const struct node *t = &run->target->v[i];
		bool is_dir = t->kind == WALK_DIR;
		const struct node *s = find(run->source, t->path);
		bool keeps = is_dir && has_names(run->target, t->path);

		if (s != NULL && !excluded(rules, s->path,
		    s->kind == WALK_DIR))
			continue;
		if (find(&old, t->path) == NULL)
			fail_msg("story %u: %s comes from nowhere", seed,
			    t->path);
		if (o->delete && !keeps && !excluded(rules, t->path, is_dir))
			fail_msg("story %u: %s is still there", seed, t->path);
	}
	for (size_t i = 0; i < old.count; i++) {
		const struct node *t = &old.v[i];
		bool kept = !o->delete ||
		    excluded(rules, t->path, t->kind == WALK_DIR);

		if (kept && find(run->target, t->path) == NULL)
			fail_msg("story %u: %s is gone", seed, t->path);
	}
}

static void
tell_story(unsigned seed)
{
	static struct tree source, target, before;
	static struct run dry, run;
	struct dice d = { seed };
	struct sync_opts o = archive();
	struct sync_rules *rules = sync_rules_new();
	const char *why;
	bool filtered;

	assert_non_null(rules);
	make_tree(&source, &d);
	make_tree(&target, &d);
	filtered = dice_below(&d, 2) == 0;
	o.delete = dice_below(&d, 2) == 0;
	o.max_delete_given = true;
	o.max_delete = UINT64_MAX;
	if (filtered)
		assert_int_equal(sync_rules_add(rules, "- x*", &why), 0);
	before = target;
	dry = run = (struct run){ .source = &source, .target = &target };
	o.dry_run = true;
	run_plan(&dry, &o, rules, &d);
	o.dry_run = false;
	run_plan(&run, &o, rules, &d);
	/* A directory that stays may have been in the way of a file. */
	if (run.failures == 0) {
		check_target(&run, &before, &o, rules, seed);
		assert_same_lines(&dry, &run, seed);
	}
	assert_int_equal(run.verdict, SYNC_DELETE_DONE);
	run_end(&dry);
	run_end(&run);
	sync_rules_free(rules);
}

static void
test_stories(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= STORIES; seed++)
		tell_story(seed);
}

/* ---- deletion ----------------------------------------------------------- */

static struct tree source, target;
static struct sync_opts opts;
static struct run run;

/* Trees with `both` files that both have, and `more` that the target has. */
static void
some_files(unsigned both, unsigned more)
{
	char name[64];

	source.count = target.count = 0;
	put(&source, "", WALK_DIR);
	put(&target, "", WALK_DIR);
	for (unsigned i = 0; i < both + more; i++) {
		snprintf(name, sizeof name, "f%03u", i);
		put(&target, name, WALK_FILE);
		if (i < both)
			put(&source, name, WALK_FILE);
	}
	opts = archive();
	opts.delete = true;
}

/* How many deletes there are. */
static size_t
deletes_of(const char *rule)
{
	struct sync_rules *rules = sync_rules_new();
	const char *why;

	assert_non_null(rules);
	if (rule != NULL)
		assert_int_equal(sync_rules_add(rules, rule, &why), 0);
	run = (struct run){ .source = &source, .target = &target };
	run_plan(&run, &opts, rules, NULL);
	run_end(&run);
	sync_rules_free(rules);
	return run.deletes;
}

static void
test_more_than_half(void **state)
{
	(void)state;
	some_files(10, 10);
	assert_int_equal(deletes_of(NULL), 10);
	some_files(9, 11);
	assert_int_equal(deletes_of(NULL), 0);
	assert_int_equal(run.verdict, SYNC_DELETE_TOO_MANY);
	opts.max_delete_given = true;
	opts.max_delete = 11;
	assert_int_equal(deletes_of(NULL), 11);
	assert_int_equal(run.verdict, SYNC_DELETE_DONE);
	some_files(1, 18);
	assert_int_equal(deletes_of(NULL), 18);
}

static void
test_max_delete(void **state)
{
	(void)state;
	some_files(10, 3);
	opts.max_delete_given = true;
	opts.max_delete = 2;
	assert_int_equal(deletes_of(NULL), 0);
	assert_int_equal(run.verdict, SYNC_DELETE_TOO_MANY);
	opts.max_delete = 3;
	assert_int_equal(deletes_of(NULL), 3);
	/* What stays does not count: the directory is not empty. */
	some_files(10, 0);
	put(&target, "d", WALK_DIR);
	put(&target, "d/keep", WALK_FILE);
	put(&target, "d/x", WALK_FILE);
	opts.max_delete_given = true;
	opts.max_delete = 1;
	assert_int_equal(deletes_of("P keep"), 1);
	assert_non_null(find(&target, "d"));
}

static void
test_empty_source(void **state)
{
	(void)state;
	some_files(0, 3);
	assert_int_equal(deletes_of(NULL), 0);
	assert_int_equal(run.verdict, SYNC_DELETE_TOO_MANY);
	opts.max_delete_given = true;
	opts.max_delete = 3;
	assert_int_equal(deletes_of(NULL), 3);
}

static void
test_unreadable_source(void **state)
{
	(void)state;
	some_files(10, 3);
	put(&source, "d", WALK_DIR)->status = SFTP_PERMISSION_DENIED;
	put(&target, "d", WALK_DIR);
	put(&target, "d/x", WALK_FILE);
	assert_int_equal(deletes_of(NULL), 0);
	assert_int_equal(run.verdict, SYNC_DELETE_NOT_WHOLE);
	assert_true(run.failures > 0);
	/* Nothing in what could not be read, whatever is asked for. */
	opts.ignore_errors = true;
	assert_int_equal(deletes_of(NULL), 3);
	assert_non_null(find(&target, "d/x"));
}

/* What went after it was listed stays at the target for this time, and so does
 * what is in it; other names go. */
static void
test_vanished_source(void **state)
{
	(void)state;
	some_files(10, 3);
	put(&source, "d", WALK_DIR)->status = SFTP_NO_SUCH_FILE;
	put(&target, "d", WALK_DIR);
	put(&target, "d/x", WALK_FILE);
	assert_int_equal(deletes_of(NULL), 3);
	assert_int_equal(run.verdict, SYNC_DELETE_DONE);
	assert_int_equal(run.failures, 0);
	assert_non_null(find(&target, "d/x"));
}

static void
test_kept(void **state)
{
	(void)state;
	some_files(10, 1);
	put(&target, ".f.hpnpart", WALK_FILE);
	put(&target, ".hpnsync-lock", WALK_FILE);
	put(&target, "m", WALK_DIR)->not_entered = true;
	put(&target, "d", WALK_DIR);
	put(&target, "d/.g.hpnpart", WALK_FILE);
	put(&target, "e", WALK_DIR);
	put(&target, "e/m", WALK_DIR)->not_entered = true;
	put(&source, "n", WALK_DIR)->not_entered = true;
	put(&target, "n", WALK_DIR);
	put(&target, "n/x", WALK_FILE);
	assert_int_equal(deletes_of(NULL), 1);
	assert_non_null(find(&target, "n/x"));
	assert_non_null(find(&target, "e"));
}

/* What is on another file system of the target is compared, and stays. */
static void
test_mounted(void **state)
{
	(void)state;
	some_files(10, 1);
	put(&source, "m", WALK_DIR);
	put(&source, "m/new", WALK_FILE);
	put(&target, "m", WALK_DIR)->mounted = true;
	put(&target, "m/old", WALK_FILE);
	put(&target, "m/in", WALK_DIR)->mounted = true;
	put(&target, "m/in/x", WALK_FILE);
	put(&target, "e", WALK_DIR);
	put(&target, "e/gone", WALK_FILE);
	put(&target, "e/m", WALK_DIR)->mounted = true;
	put(&target, "e/m/x", WALK_FILE);
	assert_int_equal(deletes_of(NULL), 2);
	assert_non_null(find(&target, "m/new"));
	assert_non_null(find(&target, "m/old"));
	assert_non_null(find(&target, "m/in/x"));
	assert_non_null(find(&target, "e/m/x"));
	assert_null(find(&target, "e/gone"));
}

static void
test_one_level(void **state)
{
	(void)state;
	some_files(10, 1);
	opts.recursive = false;
	opts.dirs = true;
	put(&source, "d", WALK_DIR);
	put(&target, "d", WALK_DIR);
	put(&target, "d/x", WALK_FILE);
	put(&target, "e", WALK_DIR);
	put(&target, "e/x", WALK_FILE);
	assert_int_equal(deletes_of(NULL), 3);
	assert_non_null(find(&target, "d/x"));
}

static void
test_excluded(void **state)
{
	(void)state;
	some_files(10, 0);
	put(&source, "d", WALK_DIR);
	put(&source, "d/x", WALK_FILE);
	put(&target, "d", WALK_DIR);
	put(&target, "d/y", WALK_FILE);
	assert_int_equal(deletes_of("- d"), 0);
	assert_int_equal(deletes_of("H d"), 2);
	assert_null(find(&target, "d"));
}

static void
test_replaced_directory(void **state)
{
	(void)state;
	some_files(10, 0);
	put(&source, "e", WALK_FILE);
	put(&target, "e", WALK_DIR);
	put(&source, "n", WALK_FILE);
	put(&target, "n", WALK_DIR);
	put(&target, "n/x", WALK_FILE);
	opts.delete = false;
	(void)deletes_of(NULL);
	assert_int_equal(find(&target, "e")->kind, WALK_FILE);
	assert_int_equal(find(&target, "n")->kind, WALK_DIR);
	assert_non_null(find(&target, "n/x"));
	assert_int_equal(run.failures, 1);
	opts.force = true;
	(void)deletes_of(NULL);
	assert_int_equal(find(&target, "n")->kind, WALK_FILE);
	assert_int_equal(run.failures, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_more_than_half),
		cmocka_unit_test(test_max_delete),
		cmocka_unit_test(test_empty_source),
		cmocka_unit_test(test_unreadable_source),
		cmocka_unit_test(test_vanished_source),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_mounted),
		cmocka_unit_test(test_one_level),
		cmocka_unit_test(test_excluded),
		cmocka_unit_test(test_replaced_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
