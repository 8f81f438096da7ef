/* SPDX-License-Identifier: ISC */
/* A file gets its name when it is whole, and takes nothing's place but that of
 * a file, or of a link. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/unit/help.h"
#include "xfer/whole-file.h"

static unsigned
names_here(void)
{
	const struct dirent *e;
	DIR *d = opendir(".");
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void
assert_file(const char *path, const char *text)
{
	char got[32] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

static void
put(const char *text, bool keep)
{
	struct whole_file *f;

	assert_int_equal(whole_file_create(&f, "f", 0600), 0);
	whole_file_write(f, text, strlen(text));
	assert_int_equal(whole_file_end(f, keep), 0);
}

static void
test_end(void **state)
{
	struct stat st;

	(void)state;
	put("one", true);
	assert_file("f", "one");
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	put("two", false);
	assert_file("f", "one");
	put("three", true);
	assert_file("f", "three");
	assert_int_equal(names_here(), 1);
}

/* Before the end the old file is there, and beside it one under another name,
 * which nobody else may read. */
static void
test_meanwhile(void **state)
{
	struct whole_file *f;

	(void)state;
	put("old", true);
	assert_int_equal(whole_file_create(&f, "f", 0600), 0);
	whole_file_write(f, "new", 3);
	assert_file("f", "old");
	assert_int_equal(names_here(), 2);
	assert_int_equal(whole_file_end(f, true), 0);
	assert_file("f", "new");
	assert_int_equal(whole_file_end(NULL, true), 0);
}

static void
refused(int error)
{
	struct whole_file *f;

	assert_int_equal(whole_file_create(&f, "f", 0600), ERR_SYSTEM);
	assert_int_equal(errno, error);
}

static void
test_what_is_replaced(void **state)
{
	struct stat st;

	(void)state;
	(void)unlink("f");
	assert_int_equal(mkdir("f", 0700), 0);
	refused(EISDIR);
	assert_int_equal(rmdir("f"), 0);
	assert_int_equal(mkfifo("f", 0600), 0);
	refused(EOPNOTSUPP);
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(symlink("/dev/null", "f"), 0);
	refused(EOPNOTSUPP);
	assert_int_equal(lstat("f", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(symlink("not-there", "f"), 0);
	put("text", true);
	assert_int_equal(lstat("f", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(names_here(), 1);
	assert_int_equal(unlink("f"), 0);
}

static void
test_errors(void **state)
{
	struct whole_file *f;
	char name[257] = "";

	(void)state;
	assert_int_equal(whole_file_create(&f, "none/f", 0600), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(whole_file_create(&f, "", 0600), ERR_SYSTEM);
	memset(name, 'n', 256);
	assert_int_equal(whole_file_create(&f, name, 0600), ERR_SYSTEM);
	assert_int_equal(errno, ENAMETOOLONG);
	name[255] = '\0';
	assert_int_equal(whole_file_create(&f, name, 0600), 0);
	assert_int_equal(whole_file_end(f, false), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_meanwhile),
		cmocka_unit_test(test_what_is_replaced),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
