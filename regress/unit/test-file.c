/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/file.h"

static void
test_times(void **state)
{
	const struct timespec times[2] = { { 1000, 5 }, { 2000, 7 } };
	char *path = temp_file("times", "x");
	struct stat st;

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.FILE_ATIME.tv_sec, 1000);
	assert_int_equal(st.FILE_MTIME.tv_sec, 2000);
	assert_int_equal(st.FILE_MTIME.tv_nsec, 7);
	assert_true(st.FILE_CTIME.tv_sec > 2000);
	unlink(path);
	free(path);
}

/* A link is opened itself, and a pipe without waiting for its other end. */
static void
test_itself(void **state)
{
	char link[128], pipe_path[128], text[64];
	struct stat st;
	int fd;

	(void)state;
	snprintf(link, sizeof link, "%s/link", temp_dir);
	snprintf(pipe_path, sizeof pipe_path, "%s/pipe", temp_dir);
	assert_int_equal(symlink("where/to", link), 0);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	fd = open(link, FILE_ITSELF | O_CLOEXEC);
	assert_int_not_equal(fd, -1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(file_read_link(fd, text, sizeof text), 8);
	assert_memory_equal(text, "where/to", 8);
	close(fd);
	fd = open(pipe_path, FILE_ITSELF | O_CLOEXEC);
	assert_int_not_equal(fd, -1);
	assert_int_equal(file_read_link(fd, text, sizeof text), -1);
	close(fd);
	unlink(link);
	unlink(pipe_path);
}

/* What was opened to look at only is opened anew by its name. */
static void
test_name(void **state)
{
	char *path = temp_file("named", "content"), moved[128], name[32],
	     got[16];
	int fd = open(path, FILE_ITSELF | O_CLOEXEC), again;

	(void)state;
	assert_int_not_equal(fd, -1);
	snprintf(moved, sizeof moved, "%s/moved", temp_dir);
	assert_int_equal(rename(path, moved), 0);
	if (file_name_of(fd, name)) {
		again = open(name, O_RDONLY | O_CLOEXEC);
		assert_int_equal(read(again, got, sizeof got), 7);
		close(again);
	}
	close(fd);
	unlink(moved);
	free(path);
}

static void
test_systems(void **state)
{
	int fd = open(temp_dir, FILE_STEP | O_CLOEXEC);

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_false(file_is_of_kernel(fd));
	assert_false(file_is_remote(fd));
	close(fd);
	assert_false(file_is_of_kernel(-1));
	assert_false(file_is_remote(-1));
	assert_false(file_close_is_silent(-1));
#if defined(__linux__)
	fd = open("/proc/self", FILE_STEP | O_CLOEXEC);
	assert_true(file_is_of_kernel(fd));
	assert_false(file_close_is_silent(fd)); /* one that is not known */
	close(fd);
#endif
}

/* By the kernel or by hand, the bytes are the same, and so are the places. */
static void
test_copies(void **state)
{
	char *from_path = temp_file("from", "0123456789"),
	     *to_path = temp_file("to", ""), got[32];
	int from = open(from_path, O_RDONLY | O_CLOEXEC),
	    to = open(to_path, O_RDWR | O_CLOEXEC);
	off_t from_at = 2, to_at = 1;
	ssize_t n;

	(void)state;
	assert_int_equal(file_send(to, from, &from_at, 4), 4);
	assert_int_equal(from_at, 6);
	assert_int_equal(pread(to, got, sizeof got, 0), 4);
	assert_memory_equal(got, "2345", 4);
	n = file_copy_range(from, &from_at, to, &to_at, 3);
	if (n != -1) { /* some file systems cannot */
		assert_int_equal(n, 3);
		assert_int_equal(from_at, 9);
		assert_int_equal(to_at, 4);
		assert_int_equal(pread(to, got, sizeof got, 0), 4);
		assert_memory_equal(got, "2678", 4);
	}
	assert_int_equal(file_sync(to), 0);
	assert_true(file_uncache(to) == 0 || errno == ENOSYS);
	close(from);
	close(to);
	assert_int_equal(file_sync(to), -1);
	assert_int_equal(file_uncache(to), -1);
	unlink(from_path);
	unlink(to_path);
	free(from_path);
	free(to_path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_systems),
		cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
