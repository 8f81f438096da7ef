/* SPDX-License-Identifier: ISC */
/*
 * Paths below one directory: each of them leads to the same with openat2 and
 * without, and none leads out, whoever changes the way meanwhile.
 */
#include "regress/unit/dice.h"
#include "regress/unit/help.h"
#include "regress/unit/refuse-call.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/local/local-beneath.h"

enum { TURNS = 3000, EXCHANGE = 2 /* RENAME_EXCHANGE of Linux */ };

static char here[128];

static int
begin(void **state)
{
	(void)state;
	snprintf(here, sizeof here, "/tmp/hpn-beneath-XXXXXX");
	return mkdtemp(here) != NULL && chdir(here) == 0 &&
	    system("mkdir -p root/a/b root/d out && echo in > root/a/f && "
		   "echo secret > out/f && echo t > root/top && "
		   "ln -s a root/in && ln -s ../out root/up && "
		   "ln -s /etc root/abs && ln -s ../top root/a/back && "
		   "ln -s b/../f root/a/turn && ln -s loop root/loop && "
		   "ln -s nothing root/dangling && "
		   "ln -s ../../out/f root/a/far && ln -s . root/dot") == 0 ?
	    0 : -1;
}

static int
end(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof command, "cd / && rm -rf %s", here);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static const unsigned ways[] = { 0, LOCAL_BENEATH_WALK };

static struct local_beneath *
beneath(unsigned flags)
{
	struct local_beneath *b = local_beneath_new("root", flags);

	assert_non_null(b);
	return b;
}

/* The text of what was opened, or the error. */
static int
text_at(const struct local_beneath *b, const char *path, char text[16])
{
	int fd = local_beneath_open(b, path, O_RDONLY, 0), error = errno;
	ssize_t n;

	memset(text, 0, 16);
	if (fd < 0)
		return error;
	n = read(fd, text, 15);
	fd_close(&fd);
	return n < 0 ? EISDIR : 0;
}

static const struct row {
	const char *path;
	int plain, links; /* errno without links, and with them; 0: it opens */
	const char *text;
	const char *resolved; /* with links; NULL: an error */
} rows[] = {
	{ "a/f", 0, 0, "in\n", "/a/f" },
	{ "/a/f", 0, 0, "in\n", "/a/f" },
	{ "//a//./f", 0, 0, "in\n", "/a/f" },
	{ "a/b/../f", 0, 0, "in\n", "/a/f" },
	{ "a/../top", 0, 0, "t\n", "/top" },
	{ "", EISDIR, EISDIR, "", "/" },
	{ "/", EISDIR, EISDIR, "", "/" },
	{ ".", EISDIR, EISDIR, "", "/" },
	{ "a/..", EISDIR, EISDIR, "", "/" },
	{ "..", EACCES, EACCES, "", NULL },
	{ "../out/f", EACCES, EACCES, "", NULL },
	{ "a/../../out/f", EACCES, EACCES, "", NULL },
	{ "/../root/top", EACCES, EACCES, "", NULL },
	{ "nothing", ENOENT, ENOENT, "", "/nothing" },
	{ "nothing/f", ENOENT, ENOENT, "", NULL },
	{ "top/f", ENOTDIR, ENOTDIR, "", NULL },
	{ "in/f", ELOOP, 0, "in\n", "/a/f" },
	{ "dot/dot/in/f", ELOOP, 0, "in\n", "/a/f" },
	{ "a/back", ELOOP, 0, "t\n", "/top" },
	{ "a/turn", ELOOP, 0, "in\n", "/a/f" },
	{ "up/f", ELOOP, EACCES, "", NULL },
	{ "up", ELOOP, EACCES, "", NULL },
	{ "a/far", ELOOP, EACCES, "", NULL },
	{ "abs", ELOOP, EACCES, "", NULL },
	{ "abs/passwd", ELOOP, EACCES, "", NULL },
	{ "top/", ENOTDIR, ENOTDIR, "", "/top" },
	{ "a/back/", ELOOP, ENOTDIR, "", "/top" },
	{ "in/", ELOOP, EISDIR, "", "/a" },
	{ "loop", ELOOP, ELOOP, "", NULL },
	{ "loop/f", ELOOP, ELOOP, "", NULL },
	{ "dangling", ELOOP, ENOENT, "", "/nothing" },
};

static void
test_paths(void **state)
{
	struct local_beneath *plain, *links;
	char text[16], *full;

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		plain = beneath(ways[w]);
		links = beneath(ways[w] | LOCAL_BENEATH_LINKS);
		for (const struct row *t = rows; t < rows + ARRAY_LEN(rows);
		    t++) {
			assert_int_equal(text_at(plain, t->path, text),
			    t->plain);
			assert_int_equal(text_at(links, t->path, text),
			    t->links);
			assert_string_equal(text, t->text);
			full = local_beneath_resolve(links, t->path);
			assert_text(full, t->resolved);
			free(full);
		}
		local_beneath_free(plain);
		local_beneath_free(links);
	}
}

/* What is made is made where the path leads, and nowhere else. */
static void
test_made(void **state)
{
	static const struct {
		const char *path;
		int error;
		const char *file;
	} made[] = { { "new", 0, "root/new" }, { "in/new", 0, "root/a/new" },
		{ "dangling", 0, "root/nothing" }, { "up/new", EACCES, NULL },
		{ "../new", EACCES, NULL }, { "abs/new", EACCES, NULL } };
	struct local_beneath *b;
	int fd;

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		b = beneath(ways[w] | LOCAL_BENEATH_LINKS);
		for (size_t i = 0; i < ARRAY_LEN(made); i++) {
			fd = local_beneath_open(b, made[i].path,
			    O_WRONLY | O_CREAT, 0600);
			assert_int_equal(fd < 0 ? errno : 0, made[i].error);
			fd_close(&fd);
			if (made[i].file != NULL)
				assert_int_equal(unlink(made[i].file), 0);
		}
		local_beneath_free(b);
	}
	assert_int_equal(access("new", F_OK), -1);
	assert_int_equal(access("out/new", F_OK), -1);
}

static void
test_parents(void **state)
{
	static const struct {
		const char *path, *dir, *name;
	} parents[] = { { "a/f", "root/a", "f" }, { "/a/b/", "root/a", "b" },
		{ "top", "root", "top" }, { "", "root", "." },
		{ "a/..", "root", "." }, { "a/b/..", "root/a", "." },
		{ "up", "root", "up" }, { "a/../x", "root", "x" },
		{ "in/x", "root/a", "x" }, { "up/x", NULL, NULL },
		{ "../x", NULL, NULL }, { "a/../../x", NULL, NULL } };
	char name[NAME_MAX + 1];
	struct local_beneath *b;
	struct stat is, want;
	int at, own;

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		b = beneath(ways[w] | LOCAL_BENEATH_LINKS);
		for (size_t i = 0; i < ARRAY_LEN(parents); i++) {
			at = local_beneath_parent(b, parents[i].path, name,
			    &own);
			assert_int_equal(at >= 0, parents[i].dir != NULL);
			if (at < 0)
				continue;
			assert_string_equal(name, parents[i].name);
			assert_int_equal(fstat(at, &is), 0);
			assert_int_equal(stat(parents[i].dir, &want), 0);
			assert_int_equal(is.st_ino, want.st_ino);
			fd_close(&own);
		}
		local_beneath_free(b);
	}
}

/* A narrower root is below the first, and its links no wider. */
static void
test_narrower(void **state)
{
	struct local_beneath *b, *in;
	char text[16];

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		b = beneath(ways[w]);
		assert_null(local_beneath_narrow(b, "../out", 0));
		assert_null(local_beneath_narrow(b, "up", 0));
		assert_null(local_beneath_narrow(b, "top", 0));
		in = local_beneath_narrow(b, "a", LOCAL_BENEATH_LINKS);
		assert_non_null(in);
		local_beneath_free(b);
		assert_int_equal(text_at(in, "f", text), 0);
		assert_int_equal(text_at(in, "../top", text), EACCES);
		assert_int_equal(text_at(in, "turn", text), ELOOP);
		local_beneath_free(in);
	}
}

/* A path of many turns costs no more than a bounded number of opens. */
static void
test_many_turns(void **state)
{
	enum { DEEP = 150, TURNS_OF_PATH = 600 };
	char path[PATH_MAX] = "root";
	struct local_beneath *b, *deep;

	(void)state;
	for (int i = 0; i < DEEP; i++) {
		strcat(path, "/x");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	memmove(path, path + 4, strlen(path + 4) + 1);
	b = beneath(LOCAL_BENEATH_WALK);
	deep = local_beneath_narrow(b, path, 0);
	assert_non_null(deep);
	local_beneath_free(deep);
	for (int i = 0; i < TURNS_OF_PATH; i++)
		strcat(path, "/../x");
	assert_int_equal(local_beneath_open(b, path, O_PATH, 0), -1);
	assert_int_equal(errno, ELOOP);
	assert_null(local_beneath_resolve(b, path));
	local_beneath_free(b);
}

/* ---- somebody changes the way ------------------------------------------- */

static atomic_bool stop;

/* d is a directory and a link to the outside, by turns. */
static void *
swap(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		(void)syscall(SYS_renameat2, AT_FDCWD, "root/d", AT_FDCWD,
		    "root/up", EXCHANGE);
	return NULL;
}

static void
test_swapped(void **state)
{
	static const char *const paths[] = { "d/f", "up/f", "d/../d/f",
		"a/../up/f" };
	struct dice dice = { .state = 7 };
	struct local_beneath *b[4];
	char name[NAME_MAX + 1], text[16];
	pthread_t thread;
	int at, own;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		b[i] = beneath(ways[i / 2] | (i % 2 ? LOCAL_BENEATH_LINKS : 0));
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < TURNS; i++) {
		const struct local_beneath *way = b[dice_below(&dice, 4)];
		const char *path = paths[dice_below(&dice, 4)];

		assert_int_not_equal(text_at(way, path, text), 0);
		at = local_beneath_parent(way, path, name, &own);
		if (at >= 0) /* of d itself, where nothing is */
			assert_int_equal(faccessat(at, name, F_OK, 0), -1);
		fd_close(&own);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		local_beneath_free(b[i]);
}

/* ---- the kernel does not know the call ---------------------------------- */

static int
refused(int error)
{
	if (!refuse_call(SYS_openat2, error))
		return 77;
	test_paths(NULL);
	test_made(NULL);
	return 0;
}

static int
is_unknown(void)
{
	return refused(ENOSYS);
}

/* As older filters of containers say of each call that they do not know. */
static int
is_not_allowed(void)
{
	return refused(EPERM);
}

static void
test_without_the_call(void **state)
{
	(void)state;
	in_child(is_unknown);
	assert_int_equal(end(NULL), 0);
	assert_int_equal(begin(NULL), 0);
	in_child(is_not_allowed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, begin, end),
		cmocka_unit_test_setup_teardown(test_made, begin, end),
		cmocka_unit_test_setup_teardown(test_parents, begin, end),
		cmocka_unit_test_setup_teardown(test_narrower, begin, end),
		cmocka_unit_test_setup_teardown(test_many_turns, begin, end),
		cmocka_unit_test_setup_teardown(test_swapped, begin, end),
		cmocka_unit_test_setup_teardown(test_without_the_call, begin,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
