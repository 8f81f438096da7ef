/* SPDX-License-Identifier: ISC */
/* What a server that was killed in a put-file has left. */
#include "regress/unit/sftp-host.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/part-name.h"
#include "xfer/serve/sftp-serve-internal.h"

/* told: what is said of what is left alone, or of the success. */
static void
put(const char *text, const char *told)
{
	struct reply reply;
	struct span said;
	const struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = 0644 };
	struct buf *b = ask_ext("put-file@hpnssh.org");

	buf_put_cstring(b, "p");
	buf_put_u32(b, 0);
	sftp_put_attrs(b, &a);
	buf_put_cstring(b, text);
	reply = answer();
	assert_int_equal(reply.type, SFTP_STATUS);
	assert_int_equal(reply.status, SFTP_OK);
	(void)rd_u32(&reply.body);
	said = rd_string(&reply.body);
	assert_true(span_equals(said, told));
	expect_file("p", text);
	assert_int_equal(unlink("p"), 0);
}

/* A file that has the part's name. */
static void
leave(const char *part, const char *text, bool old)
{
	make_file(part, text);
	server->opts.left_early = old;
}

static bool
is_there(const char *part)
{
	return access(part, F_OK) == 0;
}

/* It goes with the next request for the file, if it is old and has nothing of
 * somebody else's in it; else it stays, which is told. */
static void
test_left_part(void **state)
{
	char *part = xfer_put_name("p", 1), *next = xfer_put_name("p", 2);
	const char *success = sftp_status_text(SFTP_OK);

	(void)state;
	assert_non_null(part);
	assert_non_null(next);
	leave(part, "some", false); /* another request's, perhaps */
	put("some text", part);
	assert_true(is_there(part));
	leave(part, "some", true);
	put("some text", success);
	assert_false(is_there(part));
	leave(part, "", true);
	put("some text", success);
	assert_false(is_there(part));
	/* The user's own. */
	leave(part, "his", true);
	leave(next, "some text", true);
	put("some text", part);
	expect_file(part, "his");
	assert_false(is_there(next));
	leave(part, "some text and more", true);
	put("some text", part);
	expect_file(part, "some text and more");
	/* Another name of something, and a link. */
	leave(part, "some", true);
	assert_int_equal(link(part, "other"), 0);
	leave(part, "some", true);
	put("some text", part);
	assert_true(is_there(part));
	assert_int_equal(unlink(part) | symlink("other", part), 0);
	put("some text", part);
	assert_true(is_there(part));
	assert_int_equal(unlink(part) | unlink("other"), 0);
	assert_int_not_equal(system("ls -A | grep hpnpart"), 0);
	free(part);
	free(next);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_part),
	};

	return serve_run_modes(tests);
}
