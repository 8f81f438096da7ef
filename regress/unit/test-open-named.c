/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "compat/bsd.h"

enum { OTHER = 54719 /* a user id */ };

/* Somebody takes this name away while the file that it has led to is looked at.
 * NULL: nobody does. */
static const char *taken_away;

int
fstat(int fd, struct stat *st)
{
	int r = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (r == -1 || !S_ISREG(st->st_mode) || taken_away == NULL)
		return r;
	(void)unlink(taken_away);
	return fstatat(fd, "", st, AT_EMPTY_PATH);
}

/* dir/own is ours alone, dir/shared everybody's, as /tmp. */
static char dir[] = "/tmp/hpn-named.XXXXXX";

static char *
path_of(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", dir, name);
	return path;
}

static void
make_file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* 0, or the error. */
static int
try_open(const char *name, int flags)
{
	int fd = open_named(path_of(name), flags, 0600);

	if (fd == -1)
		return errno;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	fd_close(&fd);
	return 0;
}

static void
give_away(const char *name)
{
	assert_int_equal(lchown(path_of(name), OTHER, OTHER), 0);
}

static void
skip_if_not_root(void)
{
	if (geteuid() != 0) {
		print_message("needs root: files of another user's\n");
		skip();
	}
}

static int
set_up(void **state)
{
	(void)state;
	strlcpy(dir + sizeof dir - 7, "XXXXXX", 7);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(mkdir(path_of("own"), 0700), 0);
	assert_int_equal(mkdir(path_of("shared"), 0700), 0);
	assert_int_equal(chmod(path_of("shared"), 01777), 0);
	make_file("own/file", "text");
	make_file("shared/file", "text");
	return 0;
}

static int
tear_down(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static const int kinds[] = { O_RDONLY, O_WRONLY | O_APPEND,
	O_WRONLY | O_CREAT | O_APPEND, O_WRONLY | O_CREAT | O_TRUNC };

static void
test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(try_open("own/file", kinds[i]), 0);
		assert_int_equal(try_open("shared/file", kinds[i]), 0);
		assert_int_equal(try_open("own/../shared//file", kinds[i]), 0);
		assert_int_equal(try_open("own/file/x", kinds[i]), ENOTDIR);
		assert_int_equal(try_open("none/x", kinds[i]), ENOENT);
	}
	assert_int_equal(try_open("own/new", O_RDONLY), ENOENT);
	assert_int_equal(try_open("shared/new", O_WRONLY), ENOENT);
	assert_int_equal(try_open("own/new", O_WRONLY | O_CREAT), 0);
	assert_int_equal(try_open("shared/new", O_WRONLY | O_CREAT), 0);
	assert_int_equal(try_open("shared/new", O_WRONLY | O_CREAT | O_EXCL),
	    EEXIST);
	assert_int_equal(try_open("shared", O_RDONLY), 0);
	assert_int_equal(open_named("", O_RDONLY, 0), -1);
	assert_int_equal(errno, ENOENT);
}

/* Of O_TRUNC and O_APPEND. */
static void
test_contents(void **state)
{
	const char *const names[] = { "own/file", "shared/file" };
	struct stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int fd = open_named(path_of(names[i]), O_WRONLY | O_APPEND, 0);

		assert_int_equal(write(fd, "more", 4), 4);
		fd_close(&fd);
		assert_int_equal(stat(path_of(names[i]), &st), 0);
		assert_int_equal(st.st_size, 8);
		assert_int_equal(try_open(names[i], O_WRONLY | O_TRUNC), 0);
		assert_int_equal(stat(path_of(names[i]), &st), 0);
		assert_int_equal(st.st_size, 0);
	}
}

/* Links of ours lead on, in whatever directory, also several and to what is not
 * there yet. */
static void
test_own_links(void **state)
{
	(void)state;
	assert_int_equal(symlink(path_of("own"), path_of("shared/a")), 0);
	assert_int_equal(symlink("a/../own/file", path_of("shared/b")), 0);
	assert_int_equal(symlink("../shared/b", path_of("own/c")), 0);
	assert_int_equal(symlink("new", path_of("own/d")), 0);
	assert_int_equal(symlink("loop", path_of("own/loop")), 0);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(try_open("shared/a/file", kinds[i]), 0);
		assert_int_equal(try_open("shared/b", kinds[i]), 0);
		assert_int_equal(try_open("own/c", kinds[i]), 0);
		assert_int_equal(try_open("own/loop", kinds[i]), ELOOP);
	}
	assert_int_equal(try_open("own/d", O_WRONLY | O_CREAT), 0);
	assert_int_equal(access(path_of("own/new"), F_OK), 0);
}

static void
test_planted_links(void **state)
{
	(void)state;
	skip_if_not_root();
	assert_int_equal(symlink(path_of("own"), path_of("shared/a")), 0);
	assert_int_equal(symlink(path_of("own/file"), path_of("shared/b")), 0);
	assert_int_equal(symlink(path_of("own/new"), path_of("shared/c")), 0);
	assert_int_equal(symlink(path_of("shared/a"), path_of("own/d")), 0);
	give_away("shared/a");
	give_away("shared/b");
	give_away("shared/c");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(try_open("shared/a/file", kinds[i]), ELOOP);
		assert_int_equal(try_open("shared/b", kinds[i]), ELOOP);
		assert_int_equal(try_open("shared/c", kinds[i]), ELOOP);
		assert_int_equal(try_open("own/d/file", kinds[i]), ELOOP);
	}
	assert_int_equal(access(path_of("own/new"), F_OK), -1);
}

/* Where others write: another's file, another name of ours, a pipe that nobody
 * reads from. In a directory of ours they may be what we want. */
static void
test_planted_files(void **state)
{
	(void)state;
	assert_int_equal(link(path_of("own/file"), path_of("shared/hard")), 0);
	assert_int_equal(link(path_of("own/file"), path_of("own/hard")), 0);
	assert_int_equal(mkfifo(path_of("shared/pipe"), 0600), 0);
	assert_int_equal(try_open("shared/hard", O_RDONLY), 0);
	assert_int_equal(try_open("shared/hard", O_WRONLY), EACCES);
	assert_int_equal(try_open("shared/hard", O_WRONLY | O_TRUNC), EACCES);
	assert_int_equal(try_open("own/hard", O_WRONLY), 0);
	assert_int_equal(try_open("shared/pipe", O_RDONLY), EACCES);
	assert_int_equal(try_open("shared/pipe", O_RDWR), EACCES);
	assert_int_equal(try_open("shared/pipe", O_WRONLY), ENXIO);
	skip_if_not_root();
	give_away("shared/file");
	assert_int_equal(try_open("shared/file", O_RDONLY), 0);
	assert_int_equal(try_open("shared/file", O_WRONLY | O_CREAT), EACCES);
	assert_int_equal(chmod(path_of("own"), 0755), 0);
	give_away("own"); /* now it is a directory of somebody else */
	assert_int_equal(try_open("own/hard", O_WRONLY), EACCES);
}

/* The name goes in the moment in which its file is looked at, so that this has
 * one name again: the one that it is not to be written by. */
static void
test_name_that_goes(void **state)
{
	int r;

	(void)state;
	assert_int_equal(link(path_of("own/file"), path_of("shared/hard")), 0);
	taken_away = path_of("shared/hard");
	r = try_open("shared/hard", O_WRONLY | O_APPEND);
	taken_away = NULL;
	assert_int_equal(r, EACCES);
	assert_int_equal(access(path_of("shared/hard"), F_OK), -1);
}

/* As /var/log of Ubuntu: a group may write, and a log is its keeper's. What is
 * there may be appended to, and nothing else. */
static void
test_logs_of_their_keeper(void **state)
{
	const int append = O_WRONLY | O_CREAT | O_APPEND;
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		int says; /* to a file of somebody else */
	} dirs[] = { { 0, OTHER, 0775, 0 }, { 0, OTHER, 02775, 0 },
		{ 0, OTHER, 01775, 0 }, { OTHER, OTHER, 0755, 0 },
		{ OTHER, 0, 0700, 0 }, { 0, OTHER, 0777, EACCES },
		{ OTHER, OTHER, 01777, EACCES }, { 0, 0, 0707, EACCES } };

	(void)state;
	skip_if_not_root();
	make_file("shared/victim", "text");
	assert_int_equal(symlink("file", path_of("shared/link")), 0);
	give_away("shared/link");
	give_away("shared/file");
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		const char *path = path_of("shared");

		assert_int_equal(chown(path, dirs[i].uid, dirs[i].gid), 0);
		assert_int_equal(chmod(path, dirs[i].mode), 0);
		assert_int_equal(try_open("shared/file", append), dirs[i].says);
		assert_int_equal(try_open("shared/file", O_WRONLY), EACCES);
		assert_int_equal(try_open("shared/file", append | O_TRUNC),
		    EACCES);
		assert_int_equal(try_open("shared/link", append), ELOOP);
		assert_int_equal(try_open("shared/victim", append), 0);
		assert_int_equal(link(path_of("shared/file"),
		    path_of("shared/hard")), 0);
		assert_int_equal(try_open("shared/file", append), EACCES);
		assert_int_equal(try_open("shared/hard", append), EACCES);
		assert_int_equal(unlink(path_of("shared/hard")), 0);
	}
}

/* What is refused is not emptied first. */
static void
test_refused_stays_whole(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(link(path_of("own/file"), path_of("shared/hard")), 0);
	assert_int_equal(try_open("shared/hard", O_WRONLY | O_CREAT | O_TRUNC),
	    EACCES);
	assert_int_equal(stat(path_of("own/file"), &st), 0);
	assert_int_equal(st.st_size, 4);
}

/* By the names that shells give them, and devices. */
static void
test_descriptors(void **state)
{
	char path[64], got[5] = "";
	int pipe_fds[2], fd;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, i == 0 ? "/dev/fd/%d" :
						     "/proc/self/fd/%d",
		    pipe_fds[1]);
		fd = open_named(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "text", 4), 4);
		fd_close(&fd);
		snprintf(path, sizeof path, "/dev/fd/%d", pipe_fds[0]);
		fd = open_named(path, O_RDONLY, 0);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, got, 4), 4);
		assert_string_equal(got, "text");
		fd_close(&fd);
	}
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	fd = open_named("/dev/null", O_RDWR | O_CREAT | O_APPEND, 0600);
	assert_true(fd >= 0);
	fd_close(&fd);
	assert_int_equal(mkfifo(path_of("own/pipe"), 0600), 0);
	assert_int_equal(try_open("own/pipe", O_RDWR), 0);
}

static void
test_parent(void **state)
{
	const char *last = NULL;
	int fd = open_named_parent(path_of("own/none"), &last);

	(void)state;
	assert_true(fd >= 0);
	assert_string_equal(last, "none");
	assert_int_equal(faccessat(fd, "file", F_OK, 0), 0);
	fd_close(&fd);
	fd = open_named_parent("only", &last);
	assert_true(fd >= 0);
	assert_string_equal(last, "only");
	fd_close(&fd);
	assert_int_equal(open_named_parent(path_of("own/"), &last), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(open_named_parent("", &last), -1);
	assert_int_equal(errno, ENOENT);
	skip_if_not_root();
	assert_int_equal(symlink(path_of("own"), path_of("shared/a")), 0);
	give_away("shared/a");
	assert_int_equal(open_named_parent(path_of("shared/a/x"), &last), -1);
	assert_int_equal(errno, ELOOP);
}

/* Opens a directory, which must have this name in it. 0, or the error. */
static int
try_dir(const char *path, const char *inside)
{
	int fd = open_named_dir(path_of(path));

	if (fd < 0)
		return errno;
	assert_int_equal(faccessat(fd, inside, F_OK, 0), 0);
	fd_close(&fd);
	return 0;
}

static void
test_dirs(void **state)
{
	static const char *const ways[] = { "shared/a", "shared/a/",
		"shared/a/.", "shared/a//sub/..", "shared/b" };
	int fd;

	(void)state;
	assert_int_equal(mkdir(path_of("own/sub"), 0700), 0);
	assert_int_equal(try_dir("own", "file"), 0);
	assert_int_equal(try_dir("own/file", ""), ENOTDIR);
	assert_int_equal(try_dir("own/none", ""), ENOENT);
	assert_int_equal(try_dir("own/none/x", ""), ENOENT);
	assert_int_equal(symlink(path_of("own"), path_of("shared/a")), 0);
	assert_int_equal(symlink("a/.", path_of("shared/b")), 0);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		assert_int_equal(try_dir(ways[i], "file"), 0);
	fd = open_named_dir("/dev/fd/.");
	assert_true(fd >= 0);
	fd_close(&fd);
	skip_if_not_root();
	give_away("shared/a");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		assert_int_equal(try_dir(ways[i], "file"), ELOOP);
}

static void
test_long_paths(void **state)
{
	char path[8192];

	(void)state;
	memset(path, '/', sizeof path);
	path[sizeof path - 1] = '\0';
	assert_int_equal(open_named(path, O_RDONLY, 0), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files),
		TEST(test_contents),
		TEST(test_own_links),
		TEST(test_planted_links),
		TEST(test_planted_files),
		TEST(test_name_that_goes),
		TEST(test_logs_of_their_keeper),
		TEST(test_refused_stays_whole),
		TEST(test_descriptors),
		TEST(test_parent),
		TEST(test_dirs),
		TEST(test_long_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
