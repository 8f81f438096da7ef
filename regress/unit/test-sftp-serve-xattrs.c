/* SPDX-License-Identifier: ISC */
/* Requests of xattrs@hpnssh.org, of clients that mean well and of others. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/xattrs.h"

static struct buf set;

static bool
have_xattrs(void)
{
	const struct xattr_file f = { .path = "." };

	return xattr_set(&f, "user.t", "", 0) == 0 &&
	    xattr_remove(&f, "user.t") == 0;
}

static void
ask_get(const char *path, uint32_t follow, uint32_t kinds)
{
	struct buf *b = ask_ext("xattrs@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, follow);
	buf_put_u32(b, kinds);
}

static void
expect_set(const char *path, uint32_t follow, const char *name,
    const char *value)
{
	struct reply reply;
	struct xattr x;
	struct rd in;

	ask_get(path, follow, XATTRS_USER);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	in = rd_sub(&reply.body);
	assert_int_equal(rd_end(&reply.body), 0);
	assert_int_equal(xattrs_next(&in, &x), name != NULL);
	if (name == NULL)
		return;
	assert_true(span_equals(x.name, name));
	assert_true(span_equals(x.value, value));
	assert_false(xattrs_next(&in, &x));
}

/* A request of that name up to the set, which has one attribute, or none. */
static struct buf *
ask_set(const char *path, const char *name, const char *value)
{
	struct buf *b = ask_ext("set-xattrs@hpnssh.org");

	buf_reset(&set);
	if (name != NULL) {
		buf_put_cstring(&set, name);
		buf_put_cstring(&set, value);
	}
	buf_put_cstring(b, path);
	buf_put_u32(b, 0);
	buf_put_u32(b, XATTRS_USER);
	buf_put_string_buf(b, &set);
	return b;
}

static void
test_get_and_set(void **state)
{
	uint32_t h;

	(void)state;
	if (!have_xattrs())
		skip();
	make_file("f", "text");
	assert_int_equal(symlink("f", "l"), 0);
	expect_set("f", 0, NULL, NULL);
	ask_set("f", "user.a", "1");
	expect_status(SFTP_OK);
	expect_set("f", 0, "user.a", "1");
	expect_set("l", 1, "user.a", "1");
	expect_set("l", 0, NULL, NULL);
	ask_set("l", "user.b", "1"); /* not of the link, not behind it */
	assert_int_not_equal(answer().status, SFTP_OK);
	expect_set("f", 0, "user.a", "1");
	ask_open("f", SFTP_O_READ);
	h = answer_handle();
	put_handle(ask_ext("fset-xattrs@hpnssh.org"), h);
	buf_put_u32(&message, XATTRS_USER);
	buf_put_string(&message, NULL, 0);
	expect_status(SFTP_OK);
	close_handle(h, SFTP_OK);
	expect_set("f", 0, NULL, NULL);
	assert_int_equal(mkdir("d", 0700), 0);
	ask_set("d", "user.dir", "2");
	expect_status(SFTP_OK);
	expect_set("d", 0, "user.dir", "2");
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(unlink("l"), 0);
	assert_int_equal(rmdir("d"), 0);
	buf_clear(&set);
}

/* A whole file in one request has them before it has its name. */
static void
test_put(void **state)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = 0444 };
	struct buf *b;

	(void)state;
	if (!have_xattrs())
		skip();
	for (int i = 0; i < 2; i++) {
		b = ask_ext("put-file-xattrs@hpnssh.org");
		buf_put_cstring(b, "f");
		buf_put_u32(b, SFTP_A_MODE | SFTP_A_TIMES);
		sftp_put_attrs(b, &a);
		for (int t = 0; t < 2; t++) {
			buf_put_u64(b, 1000000000);
			buf_put_u32(b, 5);
		}
		buf_put_u32(b, XATTRS_USER);
		buf_reset(&set);
		/* A name that no file can have: nothing is changed then. */
		buf_put_cstring(&set, i == 0 ? "user.a" : "user.");
		buf_put_cstring(&set, "1");
		buf_put_string_buf(b, &set);
		buf_put_cstring(b, "text");
		if (i == 0)
			expect_status(SFTP_OK);
		else
			assert_int_not_equal(answer().status, SFTP_OK);
		expect_file("f", "text");
		expect_mode("f", 0444);
		expect_set("f", 0, "user.a", "1");
	}
	assert_int_equal(unlink("f"), 0);
	buf_clear(&set);
}

static void
test_hostile(void **state)
{
	struct buf *b;

	(void)state;
	make_file("f", "text");
	ask_get("f", 0, 8);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_get("f", 0, XATTRS_USER);
	buf_put_u8(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
	ask_get("none", 0, XATTRS_USER);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_set("f", "trusted.a", "1"); /* not of the kinds */
	expect_status(SFTP_BAD_MESSAGE);
	ask_set("f", "user.a", "1");
	buf_truncate(&message, buf_len(&message) - 1);
	expect_status(SFTP_BAD_MESSAGE);
	b = ask_ext("set-xattrs@hpnssh.org");
	buf_put_cstring(b, "f");
	buf_put_u32(b, 0);
	buf_put_u32(b, XATTRS_USER);
	buf_put_u32(b, UINT32_MAX);
	expect_status(SFTP_BAD_MESSAGE);
	put_handle(ask_ext("fset-xattrs@hpnssh.org"), 99);
	buf_put_u32(&message, XATTRS_USER);
	buf_put_string(&message, NULL, 0);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("f"), 0);
	buf_clear(&set);
}

/* A session that keeps to a directory, and may change nothing else. */
static void
test_confined(void **state)
{
	struct buf *b;

	(void)state;
	if (!have_xattrs())
		skip();
	make_file("out", "text");
	assert_int_equal(mkdir("in", 0700), 0);
	make_file("in/f", "text");
	assert_int_equal(symlink("../out", "in/l"), 0);
	b = ask_ext("confine@hpnssh.org");
	buf_put_cstring(b, "in");
	buf_put_u32(b, SFTP_MAY_LIST | SFTP_MAY_CHANGE);
	for (int i = 0; i < 3; i++)
		buf_put_u64(b, UINT64_MAX);
	buf_put_u32(b, 0);
	expect_status(SFTP_OK);
	ask_set("f", "user.a", "1");
	expect_status(SFTP_OK);
	expect_set("/f", 0, "user.a", "1");
	expect_set("/f", 1, "user.a", "1");
	ask_get("l", 1, XATTRS_USER);
	assert_int_not_equal(answer().status, SFTP_OK);
	ask_get("../out", 0, XATTRS_USER);
	expect_status(SFTP_PERMISSION_DENIED);
	ask_set("l", NULL, NULL); /* has none */
	expect_status(SFTP_OK);
	/* An ACL is a matter of the mode. */
	b = ask_ext("set-xattrs@hpnssh.org");
	buf_put_cstring(b, "f");
	buf_put_u32(b, 0);
	buf_put_u32(b, XATTRS_ACL);
	buf_put_string(b, NULL, 0);
	expect_status(SFTP_PERMISSION_DENIED);
	restart(&serve_mode);
	expect_set("in/f", 0, "user.a", "1");
	expect_set("out", 0, NULL, NULL);
	assert_int_equal(unlink("in/f"), 0);
	assert_int_equal(unlink("in/l"), 0);
	assert_int_equal(rmdir("in"), 0);
	assert_int_equal(unlink("out"), 0);
	buf_clear(&set);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_and_set),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_confined),
	};

	return serve_run_modes(tests) != 0;
}
