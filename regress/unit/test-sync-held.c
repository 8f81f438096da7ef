/* SPDX-License-Identifier: ISC */
/*
 * Plans of a sync whose target takes several names for one: random trees, and a
 * target in memory that folds capitals, forms of letters, both or neither.
 * Nothing is written twice in a run, what the source has is there or told, and
 * the next run finds nothing to do.
 */
#include "regress/unit/help.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/wire.h"
#include "regress/unit/dice.h"
#include "xfer/name-form.h"
#include "xfer/rules/sync-rules.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/sync/sync-plan.h"

#define E_ACUTE "\xc3\xa9"
#define E_BIG "\xc3\x89"
#define E_APART "e\xcc\x81"
#define KELVIN "\xe2\x84\xaa"

enum { NODES_MAX = 300, PATH = 64, STORIES = 3000 };

struct node {
	char path[PATH]; /* "" is the top */
	bool is_dir;
	uint32_t data;
	char writer[PATH]; /* whose path wrote it in this run */
};

struct tree {
	struct node v[NODES_MAX];
	size_t n;
	unsigned folds; /* enum name_ways */
};

static struct tree source, target;
static struct sftp *session;
static size_t questions, failures, in_way, copies, deletes, made;

/* ---- trees -------------------------------------------------------------- */

static bool
is_one(const struct tree *t, const char *a, const char *b)
{
	char *fa, *fb;
	bool one;

	if (t->folds == 0 || strcmp(a, b) == 0)
		return strcmp(a, b) == 0;
	fa = name_fold(a, t->folds);
	fb = name_fold(b, t->folds);
	one = strcmp(fa, fb) == 0;
	free(fa);
	free(fb);
	return one;
}

static struct node *
find(struct tree *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_one(t, t->v[i].path, path))
			return &t->v[i];
	return NULL;
}

static void
parent_of(const char *path, char out[PATH])
{
	snprintf(out, PATH, "%.*s", (int)path_parent_len(path), path);
}

static bool
is_in(const struct node *n, const char *dir)
{
	char parent[PATH];

	parent_of(n->path, parent);
	return n->path[0] != '\0' && strcmp(parent, dir) == 0;
}

/* A name that is there keeps the form that it has. */
static struct node *
put(struct tree *t, const char *path, bool is_dir)
{
	struct node *n = find(t, path), *above;
	char parent[PATH];

	if (n == NULL) {
		assert_true(t->n < NODES_MAX);
		n = &t->v[t->n];
		parent_of(path, parent);
		above = path[0] != '\0' ? find(t, parent) : NULL;
		if (path[0] != '\0' && (above == NULL || !above->is_dir))
			fail_msg("%s: there is no directory for it", path);
		snprintf(n->path, PATH, "%.40s%s%.20s",
		    above != NULL ? above->path : "",
		    above != NULL && above->path[0] != '\0' ? "/" : "",
		    path_last(path));
		t->n++;
		n->writer[0] = '\0';
	}
	n->is_dir = is_dir;
	n->data = 1;
	return n;
}

/* ---- scans -------------------------------------------------------------- */

struct sync_scan {
	struct tree t; /* as it was when the scan began */
	char top[PATH];
	size_t at, n;
	const struct node *items[2 * NODES_MAX];
	bool is_group[2 * NODES_MAX];
};

static int
compare(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int
compare_walk(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return walk_path_cmp((*x)->path, (*y)->path);
}

static bool
is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return len == 0 || (strncmp(path, top, len) == 0 &&
		(path[len] == '/' || path[len] == '\0'));
}

static struct sync_scan *
scan(struct tree *t, const char *top)
{
	struct sync_scan *c = xcalloc(1, sizeof *c);
	const struct node *dirs[NODES_MAX];
	const struct node *at = find(t, top);
	size_t n = 0, first;

	c->t = *t;
	snprintf(c->top, PATH, "%s", at != NULL ? at->path : top);
	for (size_t i = 0; i < c->t.n; i++)
		if (c->t.v[i].is_dir && is_below(c->t.v[i].path, c->top))
			dirs[n++] = &c->t.v[i];
	qsort(dirs, n, sizeof dirs[0], compare_walk);
	for (size_t i = 0; i < n; i++) {
		c->is_group[c->n] = true;
		c->items[c->n++] = dirs[i];
		first = c->n;
		for (size_t k = 0; k < c->t.n; k++)
			if (is_in(&c->t.v[k], dirs[i]->path))
				c->items[c->n++] = &c->t.v[k];
		qsort(c->items + first, c->n - first, sizeof c->items[0],
		    compare);
	}
	return c;
}

static struct walk_item
item_of(const struct node *n)
{
	return (struct walk_item){ .kind = n->is_dir ? WALK_DIR : WALK_FILE,
		.mode = n->is_dir ? 0755 : 0644, .mtime = 1000000000,
		.size = n->is_dir ? 0 : n->data, .nlink = 1,
		.name = path_last(n->path) };
}

int
sync_scan_next(struct sync_scan *c, struct walk_item *item)
{
	const char *path;

	if (c->at == c->n)
		return 0;
	*item = item_of(c->items[c->at]);
	if (c->is_group[c->at++]) {
		path = c->items[c->at - 1]->path + strlen(c->top);
		*item = (struct walk_item){ .is_group = true,
			.path = *path == '/' ? path + 1 : path };
	}
	return 1;
}

int
sync_scan_top(struct sync_scan *c, struct walk_item *item)
{
	*item = item_of(find(&c->t, c->top));
	return 1;
}

bool
sync_scan_has_ns(const struct sync_scan *c)
{
	(void)c;
	return false;
}

void
sync_scan_free(struct sync_scan *c)
{
	free(c);
}

static int
scan_below(void *arg, const struct sync_pair *pair, bool of_source,
    const char *path, struct sync_scan **out)
{
	(void)arg;
	(void)pair;
	*out = scan(of_source ? &source : &target, path);
	return 0;
}

/* ---- the target --------------------------------------------------------- */

/* The path in the tree, of one as orders and requests name it. */
static const char *
below(const char *path)
{
	assert_true(strncmp(path, "/T", 2) == 0);
	path += 2;
	return *path == '/' ? path + 1 : path;
}

static void
answer(struct buf *out, struct rd in)
{
	uint8_t type = rd_u8(&in);
	uint32_t id = type == SFTP_INIT ? 0 : rd_u32(&in);
	size_t mark = buf_open_string(out);
	char *path;

	if (type == SFTP_INIT) {
		buf_put_u8(out, SFTP_VERSION_REPLY);
		buf_put_u32(out, SFTP_VERSION);
	} else {
		assert_int_equal(type, SFTP_LSTAT);
		path = rd_cstring(&in, 1000);
		assert_non_null(path);
		questions++;
		buf_put_u8(out, find(&target, below(path)) != NULL ?
			SFTP_ATTRS : SFTP_STATUS);
		buf_put_u32(out, id);
		buf_put_u32(out, find(&target, below(path)) != NULL ? 0 :
			SFTP_NO_SUCH_FILE);
		if (find(&target, below(path)) == NULL) {
			buf_put_cstring(out, "");
			buf_put_cstring(out, "");
		}
		free(path);
	}
	buf_close_string(out, mark);
}

static void
serve(void)
{
	struct buf *asked = sftp_output(session);
	struct rd in = rd_from(buf_data(asked), buf_len(asked));
	struct buf out;

	buf_init(&out);
	while (in.len > 0) {
		struct span one = rd_string(&in);

		answer(&out, rd_from(one.p, one.len));
	}
	assert_int_equal(rd_err(&in), 0);
	sftp_output_sent(session, buf_len(asked));
	assert_int_equal(sftp_feed(session, buf_data(&out), buf_len(&out)), 0);
	buf_clear(&out);
}

static void
obey_delete(const char *path)
{
	struct node *n = find(&target, path);

	if (n == NULL)
		fail_msg("%s is deleted, and is not there", path);
	for (size_t i = 0; i < target.n; i++)
		if (is_in(&target.v[i], n->path))
			fail_msg("%s is deleted, and is not empty", path);
	if (n->writer[0] != '\0')
		fail_msg("%s was made by %s, and is deleted", path, n->writer);
	deletes++;
	*n = target.v[--target.n];
}

static void
obey(const struct xfer_order *o)
{
	const char *path = below(o->remote);
	struct node *n, *from;

	switch (o->kind) {
	case XFER_ORDER_DELETE:
	case XFER_ORDER_DELETE_DIR:
		obey_delete(path);
		return;
	case XFER_ORDER_COPY:
	case XFER_ORDER_MAKE_DIR:
		break;
	default:
		return;
	}
	n = find(&target, path);
	if (n != NULL && n->writer[0] != '\0')
		fail_msg("%s takes the place of %s", path, n->writer);
	if (n != NULL && n->is_dir != (o->kind == XFER_ORDER_MAKE_DIR)) {
		assert_true(o->replaces_kind);
		obey_delete(path);
		n = NULL;
	}
	made += n == NULL;
	n = put(&target, path, o->kind == XFER_ORDER_MAKE_DIR);
	snprintf(n->writer, PATH, "%s", path);
	if (n->is_dir)
		return;
	from = find(&source, o->local);
	assert_non_null(from);
	n->data = from->data;
	copies++;
}

/* ---- a run -------------------------------------------------------------- */

static void
on_text(void *arg, const char *path, const char *text)
{
	(void)arg;
	(void)path;
	(void)text;
}

static void
on_vanished(void *arg, const char *path)
{
	on_text(arg, path, "");
}

static void
on_fail(void *arg, const char *path, const char *text)
{
	(void)arg;
	if (getenv("HPN_SHOW") != NULL)
		printf("# %s: %s\n", path, text);
	if (strstr(text, "same name") != NULL ||
	    strstr(text, "form of its name") != NULL)
		failures++;
	else
		in_way++; /* a directory, of a file, and no --delete */
}

static void
on_item(void *arg, const char *letters, const char *path,
    const struct walk_item *item)
{
	(void)item;
	if (getenv("HPN_SHOW") != NULL)
		printf("# %s %s\n", letters, path);
	on_text(arg, path, letters);
}

/* Orders end late, some at a time: dice NULL, at once. */
static void
follow(struct sync_plan *p, struct dice *d)
{
	uint64_t ids[NODES_MAX * 4];
	struct xfer_order order;
	size_t n = 0;
	int r;

	while ((r = sync_plan_next(p, &order)) != 0) {
		assert_true(r > 0);
		if (r == XFER_ORDERS_LATER) {
			serve();
		} else {
			/* Deletes and attributes wait for what is before. */
			if (order.kind != XFER_ORDER_COPY &&
			    order.kind != XFER_ORDER_MAKE_DIR)
				while (n > 0)
					sync_plan_done(p, ids[--n], true, 0);
			obey(&order);
			ids[n++] = order.id;
		}
		while (n > 0 && (r == XFER_ORDERS_LATER ||
			d == NULL || dice_below(d, 3) == 0))
			sync_plan_done(p, ids[--n], true, 0);
	}
	while (n > 0)
		sync_plan_done(p, ids[--n], true, 0);
}

static struct sync_opts
archive(bool delete)
{
	return (struct sync_opts){ .recursive = true, .perms = true,
		.times = true, .delete = delete, .max_delete_given = true,
		.max_delete = UINT64_MAX, .chown_user = SYNC_ANY_ID,
		.chown_group = SYNC_ANY_ID };
}

static void
run(const struct sync_opts *o, struct dice *d)
{
	struct sync_scan *from = scan(&source, "");
	struct sync_scan *const sources[] = { from };
	const char *const roots[] = { "/S" };
	struct local_dir *const none[] = { NULL };
	struct sync_rules *rules = sync_rules_new();
	const struct sync_ends ends = { .target_is_root = true,
		.umask_target = 022 };
	struct sync_pair pair = { .sources = sources, .n_sources = 1,
		.source_roots = roots, .target = scan(&target, ""),
		.target_root = "/T", .shown = "", .locals = none,
		.scan_below = scan_below };
	const struct sync_plan_params params = { .opts = o, .rules = rules,
		.ends = &ends, .up = true, .hooks = { .item = on_item,
		.note = on_text, .fail = on_fail, .vanished = on_vanished } };
	struct sync_plan *p;

	questions = failures = in_way = copies = deletes = made = 0;
	for (size_t i = 0; i < target.n; i++)
		target.v[i].writer[0] = '\0';
	assert_int_equal(sftp_new(&session), 0);
	serve();
	pair.target_session = session;
	assert_int_equal(sync_plan_new(&p, &params), 0);
	assert_int_equal(sync_plan_add(p, &pair), 0);
	follow(p, d);
	assert_int_equal(sync_plan_deletes(p), SYNC_DELETE_DONE);
	sync_plan_free(p);
	sftp_free(session);
	sync_rules_free(rules);
}

/* ---- stories ------------------------------------------------------------ */

static void
grow(struct tree *t, struct dice *d, const char *dir, unsigned depth)
{
	static const char *const names[] = { "A", "KK", "Kk", "a", "b", "k",
		"kk", KELVIN, E_ACUTE, E_APART, E_BIG, "d" E_ACUTE,
		"D" E_APART };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[PATH];
		bool is_dir = dice_below(d, 3) == 0;

		if (dice_below(d, 3) != 0)
			continue;
		snprintf(path, sizeof path, "%.40s%s%.20s", dir,
		    *dir != '\0' ? "/" : "", names[i]);
		if (find(t, path) != NULL)
			continue;
		put(t, path, is_dir)->data = 1 + dice_below(d, 2);
		if (is_dir && depth < 2)
			grow(t, d, path, depth + 1);
	}
}

/* Some of the target is what the source has, some by another form. */
static void
make_trees(struct dice *d)
{
	source = (struct tree){ .n = 0 };
	put(&source, "", true);
	grow(&source, d, "", 0);
	target = (struct tree){ .folds = dice_below(d, 4) };
	put(&target, "", true);
	if (dice_below(d, 4) != 0)
		grow(&target, d, "", 0);
}

/* Is another name of the source this one at the target, or one of directories
 * that both are in? */
static bool
clashes(const struct node *s)
{
	char path[PATH];
	bool clash = false;

	snprintf(path, PATH, "%s", s->path);
	while (*path != '\0' && !clash) {
		for (size_t i = 0; i < source.n; i++)
			clash |= strcmp(source.v[i].path, path) != 0 &&
			    is_one(&target, source.v[i].path, path);
		parent_of(s->path, path);
		s = find(&source, path);
	}
	return clash;
}

static void
check(unsigned seed, bool delete, bool was_told)
{
	size_t clashing = 0;

	for (size_t i = 0; i < source.n; i++) {
		const struct node *s = &source.v[i];
		const struct node *t = find(&target, s->path);

		if (clashes(s)) {
			clashing++;
			continue;
		}
		if (!was_told && (t == NULL || t->is_dir != s->is_dir ||
			(!s->is_dir && t->data != s->data)))
			fail_msg("story %u: %s is not as in the source", seed,
			    s->path);
	}
	if (clashing > 0 && !was_told)
		fail_msg("story %u: names that are one are not told", seed);
	if (target.folds == 0 && was_told)
		fail_msg("story %u: names that are two are told", seed);
	for (size_t i = 0; i < target.n && delete && !was_told; i++)
		if (find(&source, target.v[i].path) == NULL && clashing == 0) {
			const struct node *t = &target.v[i];
			bool has = false;

			for (size_t k = 0; k < source.n; k++)
				has |= is_one(&target, source.v[k].path,
				    t->path);
			if (!has)
				fail_msg("story %u: %s is there still", seed,
				    t->path);
		}
}

static void
show(const char *what, unsigned seed, const struct tree *t)
{
	if (getenv("HPN_SHOW") == NULL)
		return;
	printf("# story %u, %s, folds %u:", seed, what, t->folds);
	for (size_t i = 0; i < t->n; i++)
		printf(" %s%s", t->v[i].path, t->v[i].is_dir ? "/" : "");
	printf("\n");
}

static void
tell_story(unsigned seed)
{
	struct dice d = { seed };
	struct sync_opts o;
	size_t told;

	make_trees(&d);
	show("source", seed, &source);
	show("target", seed, &target);
	o = archive(dice_below(&d, 2) == 0);
	run(&o, dice_below(&d, 2) == 0 ? &d : NULL);
	told = failures;
	if (in_way == 0)
		check(seed, o.delete, told > 0);
	run(&o, NULL);
	if (copies > 0 || deletes > 0 || made > 0)
		fail_msg("story %u: the next run copies %zu, makes %zu and "
		    "deletes %zu", seed, copies, made, deletes);
	if (target.folds == 0)
		assert_int_equal(questions, 0);
}

static void
test_stories(void **state)
{
	const char *only = getenv("HPN_STORIES");
	unsigned first = 1, last = STORIES;

	(void)state;
	if (only != NULL)
		(void)sscanf(only, "%u-%u", &first, &last);
	for (unsigned seed = first; seed <= last; seed++)
		tell_story(seed);
}

/* ---- single cases ------------------------------------------------------- */

static void
begin(unsigned folds)
{
	source = (struct tree){ .n = 0 };
	target = (struct tree){ .folds = folds };
	put(&source, "", true);
	put(&target, "", true);
}

static void
test_forms_are_one(void **state)
{
	const struct sync_opts o = archive(true);

	(void)state;
	begin(NAME_FORM);
	put(&source, "d" E_ACUTE, true);
	put(&source, "d" E_ACUTE "/x", false);
	put(&source, "d" E_ACUTE "/new", false);
	put(&source, E_ACUTE, false);
	put(&target, "d" E_APART, true);
	put(&target, "d" E_APART "/x", false);
	put(&target, "d" E_APART "/old", false);
	put(&target, E_APART, false);
	run(&o, NULL);
	assert_int_equal(copies, 1);
	assert_int_equal(deletes, 1);
	assert_int_equal(failures, 0);
	assert_int_equal(questions, 2);
	assert_string_equal(find(&target, E_ACUTE)->path, E_APART);
	assert_non_null(find(&target, "d" E_APART "/new"));
	assert_null(find(&target, "d" E_APART "/old"));
}

/* Both are copied where they are two, and the first where they are one. */
static void
test_two_of_a_source(void **state)
{
	const struct sync_opts o = archive(false);

	(void)state;
	for (unsigned folds = 0; folds <= NAME_CASE; folds++) {
		begin(folds);
		put(&source, "Makefile", false)->data = 2;
		put(&source, "makefile", false)->data = 3;
		put(&source, "sub", true);
		put(&source, "sub/Deep", true);
		put(&source, "sub/Deep/one", false);
		put(&source, "sub/deep", true);
		put(&source, "sub/deep/two", false);
		run(&o, NULL);
		assert_int_equal(failures, folds != 0 ? 2 : 0);
		assert_int_equal(copies, folds != 0 ? 2 : 4);
		assert_int_equal(find(&target, "Makefile")->data, 2);
		assert_int_equal(find(&target, "makefile")->data,
		    folds != 0 ? 2 : 3);
	}
}

/* Nothing is asked where no names meet, whatever is new and gone. */
static void
test_no_questions(void **state)
{
	const struct sync_opts o = archive(true);
	char name[16];

	(void)state;
	begin(0);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "New" E_ACUTE "%u", i);
		put(&source, name, false);
		snprintf(name, sizeof name, "Old" E_APART "%u", i);
		put(&target, name, false);
	}
	run(&o, NULL);
	assert_int_equal(questions, 0);
	assert_int_equal(copies, 40);
	assert_int_equal(deletes, 40);
}

/* One that was seen to be two there: no more of that kind are asked for. */
static void
test_asked_once(void **state)
{
	const struct sync_opts o = archive(false);
	char name[16];

	(void)state;
	begin(0);
	put(&source, "d", true);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "x%c", 'a' + (int)i);
		put(&source, name, false);
		snprintf(name, sizeof name, "X%c", 'a' + (int)i);
		put(&source, name, false);
		snprintf(name, sizeof name, "d/x%c", 'a' + (int)i);
		put(&source, name, false);
		snprintf(name, sizeof name, "d/X%c", 'a' + (int)i);
		put(&source, name, false);
	}
	run(&o, NULL);
	assert_int_equal(questions, 1);
	assert_int_equal(copies, 80);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_are_one),
		cmocka_unit_test(test_two_of_a_source),
		cmocka_unit_test(test_no_questions),
		cmocka_unit_test(test_asked_once),
		cmocka_unit_test(test_stories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
