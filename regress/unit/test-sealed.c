/* SPDX-License-Identifier: ISC */
/* A sealed file can be read, and not be changed: one in memory, and one on a
 * system that has none in memory. */
#include "regress/unit/help.h"
#include "regress/unit/refuse-call.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sealed.h"

static const char text[] = "host keys";

/* 0: it is as it should be; else which of its rules it breaks. */
static int
breaks(int *fd)
{
	char got[sizeof text + 1];
	struct stat st;

	if (fcntl(*fd, F_GETFD) != FD_CLOEXEC)
		return 1;
	if (write(*fd, text, sizeof text) != (ssize_t)sizeof text ||
	    sealed_is(*fd) || sealed_close(fd) != 0)
		return 2;
	if (fcntl(*fd, F_GETFD) != FD_CLOEXEC || !sealed_is(*fd))
		return 3;
	if (fstat(*fd, &st) == -1 || st.st_nlink != 0)
		return 4;
	if (pwrite(*fd, "x", 1, 0) != -1 || ftruncate(*fd, 0) != -1 ||
	    mmap(NULL, sizeof text, PROT_WRITE, MAP_SHARED, *fd, 0) !=
		MAP_FAILED)
		return 5;
	if (pread(*fd, got, sizeof got, 0) != (ssize_t)sizeof text ||
	    memcmp(got, text, sizeof text) != 0)
		return 6;
	close(*fd);
	return 0;
}

static void
test_sealed(void **state)
{
	int fd = sealed_new("hpn-test");

	(void)state;
	if (fd == -1) /* a system where only Linux's own way is missing */
		skip();
	assert_int_equal(breaks(&fd), 0);
}

/* What a person may start a program with is none. */
static void
test_others(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_false(sealed_is(fd));
	close(fd);
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(fd, -1);
	assert_false(sealed_is(fd));
	close(fd);
	assert_false(sealed_is(-1));
}

static int
on_the_disk(void)
{
#ifdef SYS_memfd_create
	int fd;

	if (!refuse_call(SYS_memfd_create, ENOSYS))
		return 77;
	return (fd = sealed_new("hpn-test")) == -1 ? 10 : breaks(&fd);
#else
	return 77;
#endif
}

static void
test_none_in_memory(void **state)
{
	(void)state;
	in_child(on_the_disk);
}

/* What a system's filter does not allow is no reason to write to the disk. */
static int
not_allowed(void)
{
#ifdef SYS_memfd_create
	if (!refuse_call(SYS_memfd_create, EPERM))
		return 77;
	return sealed_new("hpn-test") == -1 && errno == EPERM ? 0 : 11;
#else
	return 77;
#endif
}

static void
test_not_allowed(void **state)
{
	(void)state;
	in_child(not_allowed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_none_in_memory),
		cmocka_unit_test(test_not_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
