/* SPDX-License-Identifier: ISC */
/* A directory that is read ahead of the walk: all of it, or nothing. */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xfer/serve/sftp-serve-walk.h"

static struct walk_early *
read_as(const char *name, const struct stat *found)
{
	int at = open(".", O_RDONLY | O_DIRECTORY);
	struct walk_early *e = walk_early_new(at, name, found);

	assert_int_equal(close(at), 0);
	assert_non_null(e);
	walk_early_read(e);
	assert_int_equal(e->at, -1);
	return e;
}

static void
expect_good(const char *name, const struct stat *found, bool good)
{
	struct walk_early *e = read_as(name, found);

	assert_int_equal(walk_early_is_good(e), good);
	walk_early_free(e);
}

static void
test_read(void **state)
{
	struct walk_early *e;
	struct stat found, st;

	(void)state;
	assert_int_equal(system("mkdir d && touch d/b d/a && ln -s a d/c"), 0);
	assert_int_equal(stat("d", &found), 0);
	e = read_as("d", &found);
	assert_true(walk_early_is_good(e));
	assert_int_equal(e->count, 3);
	for (size_t i = 0; i < 3; i++) {
		const char name[] = { (char)('a' + i), '\0' };
		char path[8];

		assert_string_equal(e->names[i], name);
		snprintf(path, sizeof path, "d/%s", name);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(e->stats[i].error, 0);
		assert_int_equal(e->stats[i].st.st_ino, st.st_ino);
		assert_int_equal(e->stats[i].st.st_mode, st.st_mode);
	}
	/* What was read long ago is read again. */
	e->read_us -= 1000 * 1000;
	assert_false(walk_early_is_good(e));
	walk_early_free(e);
	assert_int_equal(system("rm -r d"), 0);
}

static void
test_not_small(void **state)
{
	struct stat found;

	(void)state;
	assert_int_equal(system("mkdir d && cd d && "
				"for i in $(seq 64); do : > $i; done"), 0);
	assert_int_equal(stat("d", &found), 0);
	expect_good("d", &found, true);
	assert_int_equal(mkdir("d/one-more", 0700), 0);
	expect_good("d", &found, false);
	assert_int_equal(system("rm -r d"), 0);
}

/* Another directory has the name by now, or a link, or nothing. */
static void
test_another(void **state)
{
	struct stat found;

	(void)state;
	assert_int_equal(system("mkdir d e && ln -s d l"), 0);
	assert_int_equal(stat("d", &found), 0);
	expect_good("d", &found, true);
	expect_good("l", &found, false);
	expect_good("e", &found, false);
	expect_good("none", &found, false);
	assert_int_equal(system("rm -r d e l"), 0);
}

static void *
help(void *arg)
{
	struct walk_early *e = arg;

	while (!atomic_load(&e->shared))
		sched_yield();
	walk_early_help(e);
	return NULL;
}

static int
open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

/* Threads share the names; the last one closes the directory. */
static void
test_shared(void **state)
{
	enum { THREADS = 3, TURNS = 50 };
	struct walk_early *e;
	struct stat found;
	pthread_t threads[THREADS];
	int before, at;

	(void)state;
	assert_int_equal(system("mkdir d && cd d && "
				"for i in $(seq 40); do : > $i; done"), 0);
	assert_int_equal(stat("d", &found), 0);
	before = open_files();
	for (int turn = 0; turn < TURNS; turn++) {
		at = open(".", O_RDONLY | O_DIRECTORY);
		e = walk_early_new(at, "d", &found);
		assert_non_null(e);
		assert_int_equal(close(at), 0);
		assert_int_equal(walk_early_left(e), 0);
		for (int i = 0; i < THREADS; i++) {
			assert_true(walk_early_hold(e));
			assert_int_equal(pthread_create(&threads[i], NULL,
			    help, e), 0);
		}
		walk_early_read(e);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(walk_early_left(e), 0);
		assert_false(walk_early_hold(e));
		assert_int_equal(open_files(), before);
		assert_int_equal(e->count, 40);
		for (size_t i = 0; i < e->count; i++) {
			struct stat st;
			char path[16];

			snprintf(path, sizeof path, "d/%s", e->names[i]);
			assert_int_equal(lstat(path, &st), 0);
			assert_int_equal(e->stats[i].error, 0);
			assert_int_equal(e->stats[i].st.st_ino, st.st_ino);
		}
		walk_early_free(e);
	}
	assert_int_equal(system("rm -r d"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_not_small),
		cmocka_unit_test(test_another),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
