/* SPDX-License-Identifier: ISC */
/* Sets of extended attributes: of peers that write them right and of others,
 * and those of files. */
#include "regress/unit/help.h"
#include "regress/unit/refuse-call.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/xattrs.h"

static struct buf set;

static void
add(const char *name, const char *value)
{
	buf_put_cstring(&set, name);
	buf_put_cstring(&set, value);
}

static int
check(uint32_t kinds)
{
	int err = xattrs_check(buf_span(&set), kinds);

	buf_clear(&set);
	return err;
}

static void
test_check(void **state)
{
	char name[XATTRS_NAME_LEN_MAX + 2];

	(void)state;
	assert_int_equal(check(0), 0);
	add("user.a", "1");
	add("user.b", "");
	assert_int_equal(check(XATTRS_USER), 0);
	add("user.a", "1");
	assert_int_equal(check(XATTRS_ACL | XATTRS_OTHER), ERR_FORMAT);
	add("user.b", "1");
	add("user.a", "1");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT); /* not sorted */
	add("user.a", "1");
	add("user.a", "1");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT); /* twice */
	add("system.posix_acl_access", "1");
	assert_int_equal(check(XATTRS_ACL), 0);
	add("system.nfs4_acl", "1");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT);
	add("", "1");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT);
	buf_put_string(&set, "user.a\0b", 8);
	buf_put_cstring(&set, "1");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT);
	/* Cut off. */
	buf_put_cstring(&set, "user.a");
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT);
	buf_put_cstring(&set, "user.a");
	buf_put_u32(&set, UINT32_MAX);
	assert_int_equal(check(XATTRS_ALL), ERR_FORMAT);
	memset(name, 'a', sizeof name);
	memcpy(name, "user.", 5);
	name[XATTRS_NAME_LEN_MAX] = '\0';
	add(name, "1");
	assert_int_equal(check(XATTRS_ALL), 0);
	name[XATTRS_NAME_LEN_MAX] = 'a';
	name[XATTRS_NAME_LEN_MAX + 1] = '\0';
	add(name, "1");
	assert_int_equal(check(XATTRS_ALL), ERR_LIMIT);
}

/* The most of each that there may be, and one more. */
static void
test_limits(void **state)
{
	char *bytes = calloc(1, XATTRS_VALUE_MAX + 1), name[16];

	(void)state;
	assert_non_null(bytes);
	for (size_t more = 0; more < 2; more++) {
		buf_put_cstring(&set, "user.a");
		buf_put_string(&set, bytes, XATTRS_VALUE_MAX + more);
		assert_int_equal(check(XATTRS_USER), more ? ERR_LIMIT : 0);
		for (size_t i = 0; i < XATTRS_COUNT_MAX + more; i++) {
			snprintf(name, sizeof name, "user.%06zu", i);
			add(name, "");
		}
		assert_int_equal(check(XATTRS_USER), more ? ERR_LIMIT : 0);
		buf_put_cstring(&set, "user.a");
		buf_put_string(&set, bytes, XATTRS_VALUE_MAX);
		buf_put_cstring(&set, "user.b");
		buf_put_string(&set, bytes, XATTRS_BYTES_MAX -
			buf_len(&set) - 4 + more);
		assert_int_equal(check(XATTRS_USER), more ? ERR_LIMIT : 0);
	}
	free(bytes);
}

/* ---- comparing ---------------------------------------------------------- */

/* An ACL of rw- for the owner and a user, with the permissions of the owning
 * group and of the mask. */
static struct span
acl(uint8_t *b, uint8_t group, uint8_t mask)
{
	const uint8_t bytes[] = { 2, 0, 0, 0,
		0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
		0x02, 0, 6, 0, 1, 0, 0, 0,
		0x04, 0, group, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, mask, 0, 0xff, 0xff, 0xff, 0xff,
		0x20, 0, 4, 0, 0xff, 0xff, 0xff, 0xff };

	memcpy(b, bytes, sizeof bytes);
	return (struct span){ b, sizeof bytes };
}

static bool
acls_differ(const char *name, struct span a, struct span b)
{
	struct buf one = { 0 }, two = { 0 };
	bool r;

	buf_put_cstring(&one, name);
	buf_put_string(&one, a.p, a.len);
	buf_put_cstring(&two, name);
	buf_put_string(&two, b.p, b.len);
	r = xattrs_differ(buf_span(&one), buf_span(&two), XATTRS_ALL);
	buf_clear(&one);
	buf_clear(&two);
	return r;
}

static void
test_differ(void **state)
{
	const char *access_acl = "system.posix_acl_access";
	struct span none = { NULL, 0 }, a, b;
	uint8_t one[64], two[64];
	struct buf other = { 0 };

	(void)state;
	assert_false(xattrs_differ(none, none, XATTRS_ALL));
	add("user.a", "1");
	assert_true(xattrs_differ(buf_span(&set), none, XATTRS_ALL));
	assert_true(xattrs_differ(none, buf_span(&set), XATTRS_USER));
	assert_false(xattrs_differ(none, buf_span(&set), XATTRS_ACL));
	add("user.b", "2");
	xattrs_filter(&other, buf_span(&set), XATTRS_USER);
	assert_false(xattrs_differ(buf_span(&other), buf_span(&set),
	    XATTRS_ALL));
	buf_clear(&other);
	buf_clear(&set);
	/* What the mode says does not count, but of an ACL for new files. */
	a = acl(one, 4, 6);
	b = acl(two, 4, 4);
	assert_false(acls_differ(access_acl, a, b));
	assert_true(acls_differ("system.posix_acl_default", a, b));
	b = acl(two, 5, 6);
	assert_true(acls_differ(access_acl, a, b));
	b.len -= 8;
	assert_true(acls_differ(access_acl, a, b));
	assert_true(acls_differ(access_acl, a, (struct span){ one, 3 }));
}

/* ---- files -------------------------------------------------------------- */

static void
expect_set(const char *name, const char *const *want)
{
	struct buf got = { 0 };
	struct xattr x;
	struct rd in;

	assert_int_equal(xattrs_read_at(AT_FDCWD, name, false, XATTRS_USER,
	    &got), 0);
	assert_int_equal(xattrs_check(buf_span(&got), XATTRS_USER), 0);
	for (in = rd_from_buf(&got); xattrs_next(&in, &x); want += 2) {
		assert_non_null(want[0]);
		assert_true(span_equals(x.name, want[0]));
		assert_true(span_equals(x.value, want[1]));
	}
	assert_null(want[0]);
	buf_clear(&got);
}

static bool
file_with_xattrs(const char *name, mode_t mode)
{
	struct xattr_file f = { .path = name };
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, mode);

	assert_true(fd >= 0);
	close(fd);
	if (xattr_set(&f, "user.old", "1", 1) == 0)
		return true;
	assert_int_equal(unlink(name), 0);
	return false;
}

/* What a file has besides goes, also one that only its mode protects. */
static void
test_write(void **state)
{
	static const char *const want[] = { "user.a", "1", "user.b", "", NULL };
	static const char *const nothing[] = { NULL };
	struct xattrs x = { .kinds = XATTRS_USER };
	struct stat st;

	(void)state;
	if (!file_with_xattrs("f", 0444))
		skip();
	add("user.a", "1");
	add("user.b", "");
	x.set = buf_span(&set);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(xattrs_write_at(AT_FDCWD, "f", false, &x), 0);
		expect_set("f", want);
	}
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	x.kinds = XATTRS_ACL; /* those of the user are not meant */
	x.set.len = 0;
	assert_int_equal(xattrs_write_at(AT_FDCWD, "f", false, &x), 0);
	expect_set("f", want);
	x.kinds = XATTRS_USER;
	assert_int_equal(xattrs_write_at(AT_FDCWD, "f", false, &x), 0);
	expect_set("f", nothing);
	assert_int_equal(unlink("f"), 0);
	buf_clear(&set);
}

/* 0: attributes are read of a directory's names; of a link none. */
static int
reads_beside(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY), bad = 0;
	struct buf got = { 0 };

	bad |= xattrs_read_beside(dir, "l", XATTRS_USER, &got) != 0 ||
	    buf_len(&got) != 0;
	bad |= xattrs_read_beside(dir, "f", XATTRS_USER, &got) != 0 ||
	    buf_len(&got) == 0;
	bad |= xattrs_read_beside(dir, "none", XATTRS_USER, &got) != -1;
	buf_clear(&got);
	close(dir);
	return bad;
}

#if defined(__linux__)
/* Kernels before 6.13 do not have these calls. */
static int
reads_beside_as_before(void)
{
	enum { GETXATTRAT = 464, LISTXATTRAT = 465 };

	if (!refuse_call(GETXATTRAT, ENOSYS) ||
	    !refuse_call(LISTXATTRAT, ENOSYS))
		return 77;
	return reads_beside();
}
#endif

/* No link is followed, and what a link leads to stays as it is. */
static void
test_links(void **state)
{
	static const char *const old[] = { "user.old", "1", NULL };
	static const char *const nothing[] = { NULL };
	struct xattrs x = { .kinds = XATTRS_USER };
	struct buf got = { 0 };

	(void)state;
	if (!file_with_xattrs("f", 0644))
		skip();
	assert_int_equal(symlink("f", "l"), 0);
	expect_set("l", nothing);
	assert_int_equal(reads_beside(), 0);
#if defined(__linux__)
	in_child(reads_beside_as_before);
#endif
	assert_int_equal(xattrs_write_at(AT_FDCWD, "l", false, &x), 0);
	add("user.a", "1");
	x.set = buf_span(&set);
	assert_int_equal(xattrs_write_at(AT_FDCWD, "l", false, &x), -1);
	expect_set("f", old);
	assert_int_equal(xattrs_read_at(AT_FDCWD, "l", true, XATTRS_USER,
	    &got), 0);
	assert_true(buf_len(&got) > 0);
	buf_clear(&got);
	buf_clear(&set);
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(unlink("l"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_differ),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
