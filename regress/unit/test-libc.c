/* SPDX-License-Identifier: ISC */
/* What stands in for calls that some C libraries lack. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/libc.h"
#include "regress/unit/help.h"

static char dir[] = "/tmp/hpn-libc.XXXXXX";
static char *here, *there;

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A file that is there is not replaced; where the kernel cannot be asked, it
 * says so, and does nothing. */
static void
renames(void **state)
{
	struct stat st;
	int r;

	(void)state;
	write_file(here, "one");
	write_file(there, "other");
	assert_int_equal(libc_rename_new_at(AT_FDCWD, here, AT_FDCWD, there),
	    -1);
	assert_true(errno == EEXIST || errno == ENOSYS || errno == EINVAL);
	assert_int_equal(stat(there, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(unlink(there), 0);
	r = libc_rename_new_at(AT_FDCWD, here, AT_FDCWD, there);
	if (r != 0)
		assert_true(errno == ENOSYS || errno == EINVAL);
	else
		assert_int_equal(access(here, F_OK), -1);
	(void)unlink(here);
	(void)unlink(there);
}

/* From the place that was asked for, or a reason why not. */
static void
reads(void **state)
{
	char text[4] = "";
	struct iovec iov = { text, 3 };
	ssize_t n;
	int fd;

	(void)state;
	write_file(here, "0123456789");
	fd = open(here, O_RDONLY);
	assert_true(fd >= 0);
	n = libc_preadv_nowait(fd, &iov, 1, 4);
	if (n < 0)
		assert_true(errno == EAGAIN || errno == ENOSYS ||
		    errno == EOPNOTSUPP);
	else
		assert_string_equal(text, "456");
	assert_int_equal(libc_preadv_nowait(-1, &iov, 1, 0), -1);
	close(fd);
	assert_int_equal(unlink(here), 0);
}

/* Beyond 4 GiB there is nothing, and not what stands at the low half. */
static void
reads_far(void **state)
{
	char text[4] = "";
	struct iovec iov = { text, 3 };
	ssize_t n;
	int fd;

	(void)state;
	write_file(here, "0123456789");
	fd = open(here, O_RDONLY);
	assert_true(fd >= 0);
	n = libc_preadv_nowait(fd, &iov, 1, ((off_t)1 << 32) + 4);
	assert_true(n <= 0);
	assert_string_equal(text, "");
	close(fd);
	assert_int_equal(unlink(here), 0);
}

static void
netgroups(void **state)
{
	(void)state;
	assert_false(libc_in_netgroup("hpn-no-such-group", "host", "user"));
}

static void
settings(void **state)
{
	const char *setting = libc_password_setting();

	(void)state;
	if (setting == NULL) {
		print_message(
		    "this C library tells no setting for passwords\n");
		skip();
	}
	assert_int_equal(setting[0], '$');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(renames),
		cmocka_unit_test(reads),
		cmocka_unit_test(reads_far),
		cmocka_unit_test(netgroups),
		cmocka_unit_test(settings),
	};
	int r;

	if (mkdtemp(dir) == NULL)
		return 1;
	xasprintf(&here, "%s/here", dir);
	xasprintf(&there, "%s/there", dir);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	free(here);
	free(there);
	(void)rmdir(dir);
	return r;
}
