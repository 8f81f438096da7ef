/* SPDX-License-Identifier: ISC */
/*
 * Transfers of trees of many directories: all of it arrives once, with few
 * handles or many, whatever is refused, lost, or guessed wrong, and few
 * directories are known at a time.
 */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"

/* Directories that this program, which is the server as well, has synced. */
static unsigned dirs_synced;

int
fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		dirs_synced++;
	return (int)syscall(SYS_fsync, fd);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int
clean(void **state)
{
	(void)state;
	strlist_clear(&host_reports);
	(void)nftw("src", remove_one, 32, FTW_DEPTH | FTW_PHYS);
	(void)nftw("dst", remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static void
remove_tree(const char *top)
{
	assert_int_equal(nftw(top, remove_one, 32, FTW_DEPTH | FTW_PHYS), 0);
}

/* `wide` directories with a file each, and the same in each of them. */
static void
make_dirs(const char *top, int wide, int deep)
{
	char name[200];

	assert_int_equal(mkdir(top, 0755), 0);
	snprintf(name, sizeof name, "%s/file", top);
	host_make_file(name, (size_t)wide, (unsigned)deep);
	for (int i = 0; i < wide && deep > 0; i++) {
		snprintf(name, sizeof name, "%s/d%d", top, i);
		make_dirs(name, wide, deep - 1);
	}
}

static void
make_files(const char *top, int n)
{
	char name[200];

	assert_int_equal(mkdir(top, 0755), 0);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/%d", top, i);
		host_make_file(name, 3, (unsigned)i);
	}
}

static int
no_dots(const struct dirent *de)
{
	return strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
}

static void
expect_same(const char *one, const char *two)
{
	struct dirent **a, **b;
	char x[400], y[400];
	int n = scandir(one, &a, no_dots, alphasort);

	assert_true(n >= 0);
	assert_int_equal(scandir(two, &b, no_dots, alphasort), n);
	for (int i = 0; i < n; i++) {
		struct stat st;

		assert_string_equal(a[i]->d_name, b[i]->d_name);
		snprintf(x, sizeof x, "%s/%s", one, a[i]->d_name);
		snprintf(y, sizeof y, "%s/%s", two, a[i]->d_name);
		assert_int_equal(stat(x, &st), 0);
		if (S_ISDIR(st.st_mode))
			expect_same(x, y);
		else
			assert_true(host_same(x, y));
		free(a[i]);
		free(b[i]);
	}
	free(a);
	free(b);
}

/* Copies src to dst, and back to nothing. */
static void
copy_and_compare(struct host *h, bool up, struct xfer_opts opts)
{
	int r;

	opts.recursive = true;
	h->opened = 0;
	r = host_copy(h, up, "src", "dst", opts);
	if (r != 0)
		(void)host_reported("what is told");
	assert_int_equal(r, 0);
	expect_same("src", "dst");
	remove_tree("dst");
}

static const struct host hosts[] = {
	{ .seed = 1, .greeted = true },
	{ .seed = 2, .handles = 30 },
	{ .seed = 3, .handles = 30, .no_small = true },
	{ .seed = 4, .handles = 400, .no_small = true, .odd_handles = true },
	{ .seed = 5, .odd_handles = true, .greeted = true },
	/* Those that refuse some. */
	{ .seed = 6, .handles = 10, .no_limits = true },
	{ .seed = 7, .handles = 1, .no_limits = true },
	{ .seed = 8, .handles_later = 16 },
	{ .seed = 9, .handles_later = 16, .odd_handles = true,
	    .greeted = true },
};

static void
test_many(void **state)
{
	(void)state;
	for (int deep = 1; deep < 4; deep++) {
		make_dirs("src", deep == 1 ? 70 : deep == 2 ? 8 : 4, deep);
		for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
			struct host h = hosts[i];

			/* Each host with each direction. */
			copy_and_compare(&h, (i + (size_t)deep) % 2,
			    (struct xfer_opts){ .files_max = 8 });
		}
		remove_tree("src");
	}
}

/* Files that need a handle for several round trips, at hosts that refuse some
 * of those that they have told or that the client expects: each file waits
 * until others are closed, also one of which a part is there. */
static void
test_files_wait(void **state)
{
	struct xfer_opts opts = { .resume = true };
	char name[100];

	(void)state;
	make_dirs("src", 30, 1);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "src/d%d/large%d", i % 30, i);
		host_make_file(name, 70000 + (size_t)i, (unsigned)i);
	}
	for (size_t i = 5; i < ARRAY_LEN(hosts); i++) {
		struct host h = hosts[i];

		for (int up = 0; up < 2 && h.handles != 1; up++) {
			h.no_small = i % 2 == 0;
			copy_and_compare(&h, up, (struct xfer_opts){ 0 });
			h = hosts[i];
			make_dirs("dst", 30, 1);
			host_make_file("dst/d3/.large3.hpnpart", 70000, 3);
			copy_and_compare(&h, up, opts);
			h = hosts[i];
			dirs_synced = 0;
			copy_and_compare(&h, up,
			    (struct xfer_opts){ .fsync = true });
			/* dst and what is in it */
			assert_in_range(dirs_synced, 31, 1000);
		}
	}
	remove_tree("src");
}

enum { DIRS = 90, LARGE = 450, BYTES = (DIRS + 1) * DIRS + 2 * 3 * LARGE };

static void
watch_bytes(struct host *h, struct xfer *x)
{
	h->most = x->measured.acked;
}

/* Some have more in them than the READDIRs that are sent at once bring, and
 * their handles are wanted by others meanwhile. No file is copied twice. */
static void
test_large_among_many(void **state)
{
	char name[100];

	(void)state;
	make_dirs("src", DIRS, 1);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "src/d%d/large", 60 * i);
		make_files(name, LARGE);
	}
	for (size_t i = 1; i < ARRAY_LEN(hosts); i += 2) {
		struct host h = hosts[i];

		h.watch = watch_bytes;
		copy_and_compare(&h, false, (struct xfer_opts){ 0 });
		assert_in_range(h.most, BYTES / 2, BYTES);
	}
	remove_tree("src");
}

/* The tree is whole in spite of streams that end at any moment. */
static void
test_streams_end(void **state)
{
	struct xfer_opts opts = { .retries = 1000, .retry_wait_ms = 1 };

	(void)state;
	make_dirs("src", 50, 1);
	make_files("src/large", 450);
	for (unsigned i = 0; i < 12; i++) {
		struct host h = hosts[i % 4 == 2 ? 4 : i % 4];

		h.seed = 100 + i;
		h.deadly = 6 + 2 * i;
		copy_and_compare(&h, i / 4 % 2 == 1, opts);
	}
	remove_tree("src");
}

/* ---- round trips -------------------------------------------------------- */

/* A tree takes about as many as it is deep, or as often as all handles are
 * given; if CLOSE goes ahead, each is taken once in a round trip. */
static void
test_round_trips(void **state)
{
	static const struct {
		bool up;
		int handles, wide, deep;
		unsigned most;
	} runs[] = {
		{ false, 0, 600, 1, 7 },
		{ false, 0, 8, 3, 11 },
		{ false, 100, 600, 1, 25 },
		{ true, 0, 600, 1, 4 },
		{ true, 0, 8, 3, 4 },
		{ true, 100, 600, 1, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct host h = { .seed = 1, .steady = true,
			.handles = runs[i].handles };

		make_dirs("src", runs[i].wide, runs[i].deep);
		copy_and_compare(&h, runs[i].up, (struct xfer_opts){ 0 });
		assert_in_range(h.turns, 2, runs[i].most);
		remove_tree("src");
	}
}

/* ---- few are known at a time -------------------------------------------- */

static void
watch_dirs(struct host *h, struct xfer *x)
{
	h->most = MAX(h->most, x->dirs.count);
}

static void
test_few_known(void **state)
{
	/* Long names: there are few in an answer. */
	enum { MANY = 3000, FEW = 2300, LONG = 240 };
	char name[LONG + 10];

	(void)state;
	assert_int_equal(mkdir("src", 0755), 0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "src/%0*d", LONG, i);
		assert_int_equal(mkdir(name, 0755), 0);
	}
	for (int up = 0; up < 2; up++) {
		struct host h = { .seed = 1, .watch = watch_dirs,
			.handles = 30 };

		copy_and_compare(&h, up, (struct xfer_opts){ 0 });
		assert_in_range(h.most, 100, FEW);
	}
	remove_tree("src");
}

enum { ROOM = 300, IN_EACH = 150 };

static void
watch_room(struct host *h, struct xfer *x)
{
	x->dirs.names_max = ROOM;
	h->most = MAX(h->most, x->files.queued);
}

/* Names that there is no room for are asked for again. */
static void
test_room(void **state)
{
	char name[100];

	(void)state;
	assert_int_equal(mkdir("src", 0755), 0);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "src/d%d", i);
		make_files(name, IN_EACH);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct host h = { .seed = i, .watch = watch_room };

		copy_and_compare(&h, false, (struct xfer_opts){ 0 });
		assert_in_range(h.most, IN_EACH, ROOM + IN_EACH);
	}
}

/* 8 directories, with 10 in each, with 20 in each of these, all with a file:
 * far more than there is room for, so few branches are open at a time, and none
 * is listed over and over again. */
static void
watch_wide(struct host *h, struct xfer *x)
{
	x->dirs.names_max = 60;
	h->most = MAX(h->most, x->dirs.waiting_count);
	if (h->turns > 20000)
		fail_msg("no end is in sight");
}

static void
test_wide(void **state)
{
	char name[100];

	(void)state;
	assert_int_equal(mkdir("src", 0755), 0);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "src/a%d", i);
		assert_int_equal(mkdir(name, 0755), 0);
		for (int k = 0; k < 10; k++) {
			snprintf(name, sizeof name, "src/a%d/b%d", i, k);
			make_dirs(name, 20, 1);
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		struct host h = { .seed = i, .watch = watch_wide,
			.handles = i == 2 ? 60 : 0 };

		copy_and_compare(&h, false, (struct xfer_opts){ 0 });
		assert_in_range(h.most, 20, 300);
	}
	remove_tree("src");
}

/* ---- what goes wrong in between ----------------------------------------- */

static void
remove_some(struct host *h, struct xfer *x)
{
	if (x->dirs.count < 50)
		return;
	h->watch = NULL;
	remove_tree("src/d7");
	remove_tree("src/d42");
}

/* It is told of each, once; all others are there. */
static void
test_vanish(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct host h = hosts[i];

		h.watch = remove_some;
		make_dirs("src", 60, 1);
		assert_int_equal(host_copy(&h, false, "src", "dst",
				     (struct xfer_opts){ .recursive = true }),
		    -1);
		assert_int_equal(host_reports.n, 2);
		assert_true(strlist_has(&host_reports,
		    "src/d7: No such file or directory"));
		assert_true(host_reported(
		    "src/d42: No such file or directory"));
		assert_int_equal(rmdir("dst/d7"), 0);
		assert_int_equal(rmdir("dst/d42"), 0);
		expect_same("src", "dst");
		remove_tree("src");
		remove_tree("dst");
	}
}

static void
remove_root(void)
{
	remove_tree("src");
}

/* Nothing was guessed of it that is told, or tried again. */
static void
test_root_vanishes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct host h = hosts[i];

		h.added = remove_root;
		make_dirs("src", 3, 1);
		assert_int_equal(host_copy(&h, false, "src", "dst",
				     (struct xfer_opts){ .recursive = true }),
		    -1);
		assert_int_equal(host_reports.n, 1);
		assert_true(host_reported("src: No such file or directory"));
		assert_int_equal(rmdir("dst"), 0);
	}
}

/* ---- times -------------------------------------------------------------- */

/* They are set to the nanosecond, after what is in the directories, however
 * few handles there are. */
static void
test_times(void **state)
{
	char name[100];
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("src", 0755), 0);
	for (int i = 0; i < 40; i++) {
		struct timespec ts[2] = { { .tv_sec = 1000 + i },
			{ .tv_sec = 2000 + i, .tv_nsec = 12345 + i } };

		snprintf(name, sizeof name, "src/d%d", i);
		assert_int_equal(mkdir(name, 0755), 0);
		snprintf(name, sizeof name, "src/d%d/below", i);
		assert_int_equal(mkdir(name, 0755), 0);
		snprintf(name, sizeof name, "src/d%d", i);
		assert_int_equal(utimensat(AT_FDCWD, name, ts, 0), 0);
		assert_int_equal(chmod(name, i % 2 ? 0555 : 0750), 0);
	}
	for (size_t i = 0; i < 2 * ARRAY_LEN(hosts); i++) {
		struct host h = hosts[i / 2];

		assert_int_equal(host_copy(&h, i % 2, "src", "dst",
				     (struct xfer_opts){ .recursive = true,
					 .preserve = true }), 0);
		for (int n = 0; n < 40; n++) {
			snprintf(name, sizeof name, "dst/d%d", n);
			assert_int_equal(stat(name, &st), 0);
			assert_int_equal(st.FILE_MTIME.tv_sec, 2000 + n);
			assert_int_equal(st.FILE_MTIME.tv_nsec, 12345 + n);
			assert_int_equal(st.st_mode & 07777,
			    n % 2 ? 0555 : 0750);
			assert_int_equal(chmod(name, 0755), 0);
		}
		remove_tree("dst");
	}
	for (int i = 1; i < 40; i += 2) {
		snprintf(name, sizeof name, "src/d%d", i);
		assert_int_equal(chmod(name, 0755), 0);
	}
	remove_tree("src");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_many, clean),
		cmocka_unit_test_teardown(test_files_wait, clean),
		cmocka_unit_test_teardown(test_large_among_many, clean),
		cmocka_unit_test_teardown(test_streams_end, clean),
		cmocka_unit_test_teardown(test_round_trips, clean),
		cmocka_unit_test_teardown(test_few_known, clean),
		cmocka_unit_test_teardown(test_room, clean),
		cmocka_unit_test_teardown(test_wide, clean),
		cmocka_unit_test_teardown(test_vanish, clean),
		cmocka_unit_test_teardown(test_root_vanishes, clean),
		cmocka_unit_test_teardown(test_times, clean),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
