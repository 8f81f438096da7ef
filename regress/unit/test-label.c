/* SPDX-License-Identifier: ISC */
/* The attribute of programs, with files in the kernel's place. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/label.h"

static char path[] = "/tmp/test-label.XXXXXX";

static int
set_up(void **state)
{
	int fd;

	(void)state;
	memcpy(path + sizeof path - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	close(fd);
	return fd == -1;
}

static int
tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void
put(const char *text)
{
	assert_int_equal(file_replace(path, text, strlen(text), 0600), 0);
}

static void
reads(const char *text, const char *want)
{
	char *got;

	put(text);
	got = label_read(path);
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
	free(got);
}

static void
what_is_read(void **state)
{
	(void)state;
	reads("", NULL);
	reads("\n", NULL);
	reads("a_u:a_r:a_t:s0", "a_u:a_r:a_t:s0");
	reads("a_u:a_r:a_t:s0\n", "a_u:a_r:a_t:s0");
	assert_null(label_read("/nonexistent/file"));
}

static void
what_is_written(void **state)
{
	struct buf b = { 0 };

	(void)state;
	put("before");
	assert_int_equal(label_write(path, "one"), 0);
	assert_int_equal(file_read(path, &b, 100), 0);
	assert_memory_equal(buf_data(&b), "one", 3); /* one write, at 0 */
	assert_int_equal(label_write(path, ""), 0);
	buf_reset(&b);
	assert_int_equal(file_read(path, &b, 100), 0);
	assert_int_equal(buf_data(&b)[0], '\n');
	buf_clear(&b);
	assert_true(label_write("/nonexistent/file", "x") < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_read, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(what_is_written, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
