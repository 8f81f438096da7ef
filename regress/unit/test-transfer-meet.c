/* SPDX-License-Identifier: ISC */
/*
 * Names that are one at the target: the second is not copied, and told. Below
 * the directory `there` fstatat() finds a file under each name that is the same
 * in the ways of the test, as it does on a Mac; both ends of a copy call it.
 */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/name-form.h"

#define E_ACUTE "\xc3\xa9" /* U+00E9 */
#define E_BIG "\xc3\x89"   /* U+00C9 */
#define E_MARK "e\xcc\x81"

#define MEETS                                                                 \
	"at the target this is the same name as another one of this copy: "   \
	"not copied"

static unsigned there_folds; /* of enum name_ways */

/* ---- the double --------------------------------------------------------- */

static int
really(int dir, const char *name, struct stat *st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, name, st, flags);
}

/* Opens the directory that a name in dir is in, if that is in `there`. NULL: it
 * is not. */
static DIR *
list_there(int dir, const char *name)
{
	char link[64], path[1024], whole[2048];
	const char *slash = strrchr(name, '/');
	ssize_t len = 0;

	if (dir != AT_FDCWD) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
		len = readlink(link, path, sizeof path - 1);
	}
	if (len < 0)
		return NULL;
	path[len] = '\0';
	snprintf(whole, sizeof whole, "%s%s%.*s", path, len > 0 ? "/" : "",
	    slash != NULL ? (int)(slash - name) : 0, name);
	return strstr(whole, "there") != NULL ? opendir(whole) : NULL;
}

int
fstatat(int dir, const char *name, struct stat *st, int flags)
{
	const char *slash = strrchr(name, '/');
	int r = really(dir, name, st, flags);
	char *want, *has;
	DIR *names;

	if (r == 0 || errno != ENOENT || there_folds == 0 ||
	    (names = list_there(dir, name)) == NULL)
		return r;
	want = name_fold(slash != NULL ? slash + 1 : name, there_folds);
	for (struct dirent *e; r != 0 && (e = readdir(names)) != NULL;) {
		has = name_fold(e->d_name, there_folds);
		assert_non_null(has);
		if (strcmp(has, want) == 0)
			r = really(dirfd(names), e->d_name, st, flags);
		free(has);
	}
	free(want);
	closedir(names);
	if (r != 0)
		errno = ENOENT;
	return r;
}

/* ---- the tests ---------------------------------------------------------- */

static size_t
count(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static void
clear(void)
{
	assert_int_equal(system("rm -rf from there"), 0);
	assert_int_equal(mkdir("from", 0755), 0);
	strlist_clear(&host_reports);
}

static size_t
told(void)
{
	size_t n = 0;

	for (size_t i = 0; i < host_reports.n; i++)
		n += strstr(host_reports.v[i], MEETS) != NULL;
	return n;
}

static const struct {
	const char *names[3];
} cases[] = {
	{ { "makefile", "Makefile", NULL } },
	{ { "Makefile", "makefile", "MAKEFILE" } },
	{ { "caf" E_ACUTE, "caf" E_MARK, NULL } },
	{ { "caf" E_ACUTE, "caf" E_BIG, NULL } },
	{ { "x" E_MARK, "X" E_ACUTE, NULL } },
	{ { "x" E_ACUTE, "X" E_MARK, "x" E_MARK } },
	{ { "one", "two", "Three" } },
};

static void
make_names(size_t i, bool dirs)
{
	char path[128];

	clear();
	for (size_t n = 0; n < 3 && cases[i].names[n] != NULL; n++) {
		snprintf(path, sizeof path, "from/%s", cases[i].names[n]);
		if (dirs) {
			assert_int_equal(mkdir(path, 0755), 0);
			snprintf(path, sizeof path, "from/%s/f%zu",
			    cases[i].names[n], n);
		}
		host_make_file(path, 100 + n, (unsigned)n);
	}
}

/* How many names are left of a case where names are the same in those ways. */
static size_t
left(size_t i, unsigned ways)
{
	char *folds[3] = { NULL };
	size_t n = 0, own;

	for (size_t k = 0; k < 3 && cases[i].names[k] != NULL; k++) {
		folds[k] = name_fold(cases[i].names[k], ways);
		own = 1;
		for (size_t j = 0; j < k; j++)
			if (strcmp(folds[j], folds[k]) == 0)
				own = 0;
		n += own;
	}
	for (size_t k = 0; k < 3; k++)
		free(folds[k]);
	return n;
}

/* One copy of a case: what is one is told, all else is there, no probe is
 * left. */
static void
copy(size_t i, bool up, bool dirs, unsigned ways)
{
	const struct xfer_opts opts = { .recursive = true };
	struct host h = { .seed = (unsigned)i, .stock = i % 2 == 0 };
	size_t all, expected = left(i, ways);

	make_names(i, dirs);
	all = count("from");
	there_folds = ways;
	print_message("case %zu, %s, %s, ways %u\n", i, up ? "up" : "down",
	    dirs ? "directories" : "files", ways);
	assert_int_equal(host_copy(&h, up, "from", "there", opts),
	    expected == all ? 0 : -1);
	assert_int_equal(told(), all - expected);
	assert_int_equal(count("there"), expected);
	for (size_t n = 0; n < all; n++) {
		char path[128];

		snprintf(path, sizeof path, dirs ? "there/%s/f%zu" : "there/%s",
		    cases[i].names[n], n);
		if (access(path, F_OK) == 0) {
			char from[128];

			snprintf(from, sizeof from, "from%s", path + 5);
			assert_true(host_same(from, path));
		}
	}
	there_folds = 0;
}

static void
test_trees(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (unsigned ways = 0; ways <= 3; ways++)
			for (int kind = 0; kind < 4; kind++)
				copy(i, kind & 1, kind & 2, ways);
}

/* A copy that is made anew onto what is there loses nothing, either. */
static void
test_again(void **state)
{
	const struct xfer_opts plain = { .recursive = true };
	const struct xfer_opts resume = { .recursive = true, .resume = true,
		.preserve = true };

	(void)state;
	for (int up = 0; up < 2; up++) {
		make_names(0, false);
		there_folds = NAME_CASE;
		for (int run = 0; run < 4; run++) {
			struct host h = { .seed = (unsigned)run };

			assert_int_equal(host_copy(&h, up, "from", "there",
					     run < 2 ? plain : resume), -1);
			assert_int_equal(count("there"), 1);
			assert_int_equal(told(), 1);
			strlist_clear(&host_reports);
		}
		there_folds = 0;
	}
}

/* Where a directory cannot be asked names are taken to differ. */
static void
test_unasked(void **state)
{
	const struct xfer_opts opts = { .recursive = true };
	struct host h = { .seed = 1 };

	(void)state;
	if (geteuid() == 0)
		skip(); /* may write everywhere */
	make_names(0, false);
	assert_int_equal(mkdir("there", 0755), 0);
	host_make_file("there/makefile", 1, 1);
	host_make_file("there/Makefile", 1, 1);
	assert_int_equal(chmod("there", 0555), 0);
	assert_int_equal(host_copy(&h, true, "from", "there", opts), 0);
	assert_int_equal(chmod("there", 0755), 0);
	assert_true(host_same("from/makefile", "there/makefile"));
	assert_true(host_same("from/Makefile", "there/Makefile"));
}

static int
teardown(void **state)
{
	there_folds = 0;
	clear();
	assert_int_equal(rmdir("from"), 0);
	return host_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_trees, host_setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_again, host_setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_unasked, host_setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
