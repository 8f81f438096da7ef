/* SPDX-License-Identifier: ISC */
/* Directories of a plan: they are made, filled, and get their attributes. */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"

static void
make_ends(void)
{
	plan_dir("from", 0755);
	plan_dir("to", 0755);
}

static void
set_time(const char *path, int64_t mtime)
{
	const struct timespec ts[2] = { { .tv_sec = mtime, .tv_nsec = 7 },
		{ .tv_sec = mtime, .tv_nsec = 7 } };

	assert_int_equal(utimensat(AT_FDCWD, path, ts, 0), 0);
}

static int64_t
time_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.FILE_MTIME.tv_sec;
}

/* A tree that is there in part, with directories that nobody may write to. */
static void
test_tree(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS; i++) {
		struct host h = plan_host(i / 2);
		struct xfer_order *o;
		bool up = i % 2;

		make_ends();
		plan_dir("from/a", 0755);
		plan_dir("from/a/b", 0755);
		plan_dir("from/c", 0755);
		plan_file("from/a/1", "1", PLAN_NEW, 0644);
		plan_file("from/a/b/2", "2", PLAN_NEW, 0644);
		plan_file("from/c/3", "3", PLAN_NEW, 0644);
		set_time("from/a/b", PLAN_OLD);
		set_time("from/a", PLAN_OLD);
		set_time("from/c", PLAN_OLD);
		assert_int_equal(chmod("from/a/b", 0555) | chmod("from/a", 0700)
		    | chmod("from/c", 0555), 0);
		plan_dir("to/c", 0555);
		plan_dir("to/gone", 0755);

		(void)plan_begin(up, i & 2);
		(void)plan_add(XFER_ORDER_MAKE_DIR, "a", 0);
		(void)plan_add(XFER_ORDER_COPY, "a/1", 0);
		o = plan_add(XFER_ORDER_MAKE_DIR, "c", 0);
		plan_was(o, "c");
		(void)plan_add(XFER_ORDER_COPY, "c/3", 0);
		(void)plan_add(XFER_ORDER_MAKE_DIR, "a/b", 0);
		(void)plan_add(XFER_ORDER_COPY, "a/b/2", 0);
		(void)plan_add(XFER_ORDER_DELETE_DIR, "gone", 0);
		(void)plan_add(XFER_ORDER_DIR_ATTRS, "c", SFTP_A_MODE);
		(void)plan_add(XFER_ORDER_DIR_ATTRS, "a/b",
		    SFTP_A_MODE | SFTP_A_TIMES);
		(void)plan_add(XFER_ORDER_DIR_ATTRS, "a",
		    SFTP_A_MODE | SFTP_A_TIMES | SFTP_A_OWNER);
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		assert_true(plan_holds("to/a/1", "1"));
		assert_true(plan_holds("to/a/b/2", "2"));
		assert_true(plan_holds("to/c/3", "3"));
		assert_int_equal(plan_mode("to/a"), 0700);
		assert_int_equal(plan_mode("to/a/b"), 0555);
		assert_int_equal(plan_mode("to/c"), 0555);
		assert_int_equal(time_of("to/a"), PLAN_OLD);
		assert_int_equal(time_of("to/a/b"), PLAN_OLD);
		assert_int_not_equal(time_of("to/c"), PLAN_OLD);
		assert_false(plan_exists("to/gone"));
		plan_end();
		plan_clean();
	}
}

/* What has a directory's name, and is none, fails the order; or it goes first,
 * if the plan has seen it. */
static void
test_in_the_way(void **state)
{
	enum { REFUSED, REPLACED, CHANGED, BACKUP, CASES };

	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS * CASES; i++) {
		struct host h = plan_host(i / 2 % PLAN_HOSTS);
		int what = i / 2 / PLAN_HOSTS;
		bool up = i % 2, fine = what == REPLACED || what == BACKUP;
		struct xfer_order *o;
		struct plan *p;

		make_ends();
		plan_dir("from/d", 0755);
		plan_file("from/d/f", "new", PLAN_NEW, 0644);
		plan_file("to/d", "old", PLAN_OLD, 0644);
		p = plan_begin(up, true);
		o = plan_add(XFER_ORDER_MAKE_DIR, "d", 0);
		plan_was(o, "d");
		o->replaces_kind = what != REFUSED;
		if (what == BACKUP)
			o->backup = up ? "to/away/d~" : "away/d~";
		if (what == REFUSED)
			o->was = NULL;
		(void)plan_add(XFER_ORDER_COPY, "d/f", 0);
		if (what == CHANGED)
			plan_file("to/d", "other", PLAN_NEW, 0644);
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }),
		    fine ? 0 : -1);
		assert_int_equal(p->ok[0], fine);
		assert_int_equal(plan_holds("to/d/f", "new"), fine);
		if (!fine)
			assert_true(plan_holds("to/d",
			    what == CHANGED ? "other" : "old"));
		if (what == BACKUP) {
			assert_true(plan_holds("to/away/d~", "old"));
			assert_int_equal(plan_mode("to/away"), 0700);
		}
		plan_end();
		plan_clean();
	}
}

/* Thousands of directories take few round trips, also to get their exact
 * times. */
static void
test_many(void **state)
{
	enum { DIRS = 3000 };

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct host h = { .seed = 1, .stock = kind, .steady = true };
		char name[64];

		make_ends();
		(void)plan_begin(true, true);
		for (int i = 0; i < DIRS; i++) {
			snprintf(name, sizeof name, "from/%d", i);
			plan_dir(name, 0750);
			set_time(name, PLAN_OLD);
			(void)plan_add(XFER_ORDER_MAKE_DIR, name + 5, 0);
		}
		for (int i = 0; i < DIRS; i++) {
			snprintf(name, sizeof name, "%d", i);
			(void)plan_add(XFER_ORDER_DIR_ATTRS, name,
			    SFTP_A_MODE | SFTP_A_TIMES);
		}
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		assert_true(h.turns < 40);
		assert_int_equal(plan_mode("to/2999"), 0750);
		assert_int_equal(time_of("to/2999"), PLAN_OLD);
		plan_end();
		plan_clean();
	}
}

/* Several streams: what is in a directory is asked for when it is there. */
static void
test_streams(void **state)
{
	enum { DIRS = 300 };

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct host h = { .seed = 1, .stock = kind, .uneven = true };
		char name[64], file[80];

		make_ends();
		(void)plan_begin(true, true);
		for (int i = 0; i < DIRS; i++) {
			snprintf(name, sizeof name, "from/%d", i);
			plan_dir(name, 0755);
			(void)plan_add(XFER_ORDER_MAKE_DIR, name + 5, 0);
			snprintf(file, sizeof file, "%s/f", name);
			plan_file(file, name, PLAN_NEW, 0644);
			(void)plan_add(XFER_ORDER_COPY, file + 5, 0);
		}
		assert_int_equal(plan_run(&h, (struct xfer_opts){
			.connections_max = 4 }), 0);
		for (int i = 0; i < DIRS; i++) {
			snprintf(name, sizeof name, "from/%d", i);
			snprintf(file, sizeof file, "to/%d/f", i);
			assert_true(plan_holds(file, name));
		}
		plan_end();
		plan_clean();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
