/* SPDX-License-Identifier: ISC */
/*
 * Random trees, made the same by a plan. The plan is by the simplest comparison
 * that there is; in the end the target must be exactly the source.
 */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"
#include "regress/unit/dice.h"

enum { NAMES = 6, DEPTH_MAX = 3, SEEDS = 40 };

static struct dice dice;

/* ---- trees -------------------------------------------------------------- */

static void make_tree(const char *top, int depth);

static void
make_entry(const char *path, int depth)
{
	static const mode_t modes[] = { 0644, 0600, 0444, 0755 };
	static const char *const texts[] = { "", "one", "two", "three" };
	uint32_t kind = dice_below(&dice, 6);

	if (kind < 3)
		plan_file(path, texts[dice_below(&dice, 4)],
		    dice_below(&dice, 2) ? PLAN_OLD : PLAN_NEW,
		    modes[dice_below(&dice, 4)]);
	else if (kind == 3)
		plan_link(path, texts[1 + dice_below(&dice, 3)]);
	else
		make_tree(path, depth + 1);
}

static void
make_tree(const char *top, int depth)
{
	static const mode_t modes[] = { 0755, 0700, 0555, 0711 };
	const struct timespec ts[2] = { { .tv_sec = PLAN_OLD },
		{ .tv_sec = PLAN_OLD } };
	char path[256];

	plan_dir(top, 0755);
	for (int i = 0; i < NAMES && depth < DEPTH_MAX; i++) {
		if (dice_below(&dice, 2) == 0)
			continue;
		snprintf(path, sizeof path, "%s/%c", top, 'a' + i);
		make_entry(path, depth);
	}
	assert_int_equal(utimensat(AT_FDCWD, top, ts, 0), 0);
	assert_int_equal(chmod(top, depth == 0 ? 0755 :
		modes[dice_below(&dice, 4)]), 0);
}

/* What has that name: 0: nothing. */
static mode_t
kind_of(const char *end, const char *name, struct stat *st)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", end, name);
	return lstat(path, st) == 0 ? st->st_mode & S_IFMT : 0;
}

static void
join(char *out, size_t size, const char *above, int i)
{
	snprintf(out, size, "%s%s%c", above, *above ? "/" : "", 'a' + i);
}

/* ---- plans -------------------------------------------------------------- */

enum { ALL = SFTP_A_MODE | SFTP_A_TIMES };

/* Where a file or link replaces a directory, that comes last. */
static char late[PLAN_MAX][64];
static size_t n_late;

static void
plan_new(const char *name, mode_t source, mode_t target)
{
	bool dir = source == S_IFDIR;
	struct xfer_order *o;

	if (target == S_IFDIR && !dir) {
		snprintf(late[n_late++], sizeof late[0], "%s", name);
		return;
	}
	o = plan_add(dir ? XFER_ORDER_MAKE_DIR : XFER_ORDER_COPY, name,
	    dir ? 0 : ALL);
	plan_was(o, name);
	o->replaces_kind = target != 0 && target != source;
}

static void
compare(const char *above)
{
	struct stat source, target;
	char name[64];

	for (int i = 0; i < NAMES; i++) {
		mode_t s, t;

		join(name, sizeof name, above, i);
		s = kind_of("from", name, &source);
		t = kind_of("to", name, &target);
		if (s != 0)
			plan_new(name, s, t);
		if (s == S_IFDIR)
			compare(name);
	}
}

/* Everything below a name that is to go, and the name. */
static void
plan_deletes(const char *above, bool all)
{
	struct stat source, target;
	struct xfer_order *o;
	char name[64];

	for (int i = 0; i < NAMES; i++) {
		mode_t s, t;
		bool gone;

		join(name, sizeof name, above, i);
		s = kind_of("from", name, &source);
		t = kind_of("to", name, &target);
		gone = all || s == 0;
		if (t == S_IFDIR)
			plan_deletes(name, gone || s != S_IFDIR);
		if (t == 0 || !gone)
			continue;
		o = plan_add(t == S_IFDIR ? XFER_ORDER_DELETE_DIR :
					    XFER_ORDER_DELETE, name, 0);
		plan_was(o, name);
	}
}

static void
plan_fixes(const char *above)
{
	struct stat source;
	char name[64];

	for (int i = 0; i < NAMES; i++) {
		join(name, sizeof name, above, i);
		if (kind_of("from", name, &source) != S_IFDIR)
			continue;
		plan_fixes(name);
		(void)plan_add(XFER_ORDER_DIR_ATTRS, name, ALL);
	}
}

/* Directories that are to go, and are read-only, have to be opened up first:
 * whoever compares orders that. */
static void
open_gone(const char *above, bool all)
{
	struct stat source, target;
	char name[64];

	for (int i = 0; i < NAMES; i++) {
		bool gone;

		join(name, sizeof name, above, i);
		gone = all || kind_of("from", name, &source) != S_IFDIR;
		if (kind_of("to", name, &target) != S_IFDIR)
			continue;
		if (gone)
			plan_was(plan_add(XFER_ORDER_MAKE_DIR, name, 0), name);
		open_gone(name, gone);
	}
}

/* ---- what has become of it ---------------------------------------------- */

static void
same_text(const char *one, const char *two)
{
	char a[64], b[64];
	ssize_t n = readlink(one, a, sizeof a), m = readlink(two, b, sizeof b);

	assert_true(n > 0 && n == m);
	assert_memory_equal(a, b, (size_t)n);
}

static void
same_tree(const char *one, const char *two)
{
	char a[256], b[256];
	struct stat s, t;

	for (int i = 0; i < NAMES; i++) {
		snprintf(a, sizeof a, "%s/%c", one, 'a' + i);
		snprintf(b, sizeof b, "%s/%c", two, 'a' + i);
		if (lstat(a, &s) != 0) {
			assert_false(plan_exists(b));
			continue;
		}
		assert_int_equal(lstat(b, &t), 0);
		assert_int_equal(s.st_mode & S_IFMT, t.st_mode & S_IFMT);
		if (S_ISLNK(s.st_mode)) {
			same_text(a, b);
			continue;
		}
		assert_int_equal(s.st_mode, t.st_mode);
		assert_int_equal(s.FILE_MTIME.tv_sec, t.FILE_MTIME.tv_sec);
		if (S_ISDIR(s.st_mode))
			same_tree(a, b);
		else
			assert_true(host_same(a, b));
	}
}

static size_t
count_names(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
test_random(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * PLAN_HOSTS * SEEDS; i++) {
		struct host h = plan_host((int)(i / 2 % PLAN_HOSTS));
		struct xfer_opts opts = { .links = i % 3 == 0 };
		struct plan *p;

		dice = (struct dice){ i + 1 };
		n_late = 0;
		make_tree("from", 0);
		make_tree("to", 0);
		p = plan_begin(i % 2, true);
		compare("");
		open_gone("", false);
		plan_deletes("", false);
		for (size_t k = 0; k < n_late; k++) {
			struct xfer_order *o = plan_add(XFER_ORDER_COPY,
			    late[k], ALL);

			plan_was(o, late[k]);
			o->replaces_kind = true;
		}
		plan_fixes("");
		p->later = i % 3;
		if (plan_run(&h, opts) != 0) {
			for (size_t k = 0; k < host_reports.n; k++)
				print_message("%s\n", host_reports.v[k]);
			fail_msg("seed %u", i);
		}
		for (size_t k = 0; k < p->n; k++)
			assert_true(p->ok[k]);
		same_tree("from", "to");
		assert_int_equal(count_names("from"), count_names("to"));
		plan_end();
		plan_clean();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
