/* SPDX-License-Identifier: ISC */
/*
 * The client's way with xauth: what its answers mean, how it is called, what
 * is left behind, and programs in its place that do not behave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/forwards/xauth.h"

#define HEX "00112233445566778899aabbccddeeff"

static const uint8_t bytes[] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
	0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
static char dir[64], program[96], calls[96], temporary[96];
static struct xauth_query query;

/* ---- its answers -------------------------------------------------------- */

static void
test_parse(void **state)
{
	struct x11_cookie c;

	(void)state;
	assert_int_equal(xauth_parse("h/unix:0  MIT-MAGIC-COOKIE-1  " HEX
				     "\nother:1 X 00\n", &c), 0);
	assert_string_equal(c.protocol, "MIT-MAGIC-COOKIE-1");
	assert_int_equal(c.len, sizeof bytes);
	assert_memory_equal(c.data, bytes, sizeof bytes);
	assert_int_equal(xauth_parse("d P 0A", &c), 0);
	assert_int_equal(c.len, 1);
	assert_int_equal(c.data[0], 10);
}

static void
test_parse_refuses(void **state)
{
	static const char *const bad[] = { "", "\n", "d", "d P", "d P ",
		"d P\n00", "d P 0", "d P 0g", "d P;x 00", "d P\x01 00",
		"d \xc3\xa4 00" };
	char *text;
	struct x11_cookie c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(xauth_parse(bad[i], &c), ERR_FORMAT);
	text = xmalloc(2000);
	memset(text, 'a', 2000);
	memcpy(text, "d P ", 4);
	text[4 + 2 * X11_COOKIE_MAX] = '\0';
	assert_int_equal(xauth_parse(text, &c), 0);
	memset(text + 4, 'a', 2 * X11_COOKIE_MAX + 2);
	text[4 + 2 * X11_COOKIE_MAX + 2] = '\0';
	assert_int_equal(xauth_parse(text, &c), ERR_FORMAT);
	free(text);
}

/* ---- the program -------------------------------------------------------- */

static int
setup(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	strcpy(dir, "/tmp/hpn-xauth-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/xauth", dir);
	snprintf(calls, sizeof calls, "%s/calls", dir);
	snprintf(temporary, sizeof temporary, "%s/tmp", dir);
	assert_int_equal(mkdir(temporary, 0700), 0);
	setenv("TMPDIR", temporary, 1);
	setenv("CALLS", calls, 1);
	query = (struct xauth_query){ .program = program, .display = ":3",
		.trusted = true };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)unlink(program);
	(void)unlink(calls);
	/* Nothing of ours was left there. */
	assert_int_equal(rmdir(temporary), 0);
	return rmdir(dir);
}

/* A script: notes how it was called, and then does this. */
static void
make_program(const char *what)
{
	FILE *f = fopen(program, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\necho \"$@\" >>\"$CALLS\"\n%s\n", what);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(program, 0700), 0);
}

static void
was_called(const char *want)
{
	struct buf b = { 0 };
	char *text;

	assert_int_equal(file_read(calls, &b, 4096), 0);
	text = buf_dup_string(&b);
	assert_string_equal(text, want);
	free(text);
	buf_clear(&b);
}

static void
test_trusted(void **state)
{
	struct x11_cookie c;

	(void)state;
	make_program("echo 'h/unix:3  MIT-MAGIC-COOKIE-1  " HEX "'");
	assert_int_equal(xauth_ask(&query, &c), 0);
	assert_memory_equal(c.data, bytes, sizeof bytes);
	was_called("list :3\n");
}

static void
test_localhost(void **state)
{
	struct x11_cookie c;

	(void)state;
	make_program("echo 'h/unix:10  MIT-MAGIC-COOKIE-1  " HEX "'");
	query.display = "localhost:10.0";
	assert_int_equal(xauth_ask(&query, &c), 0);
	was_called("list unix:10.0\n");
}

/* The file is in a directory of its own, which nobody else can enter, and
 * which is gone afterwards with all that xauth puts there. */
static void
test_untrusted(void **state)
{
	struct x11_cookie c;
	struct buf b = { 0 };
	char *text;

	(void)state;
	make_program("[ \"$1\" = -f ] || exit 1\n"
		     "stat -c %a \"${2%/*}\" >>\"$CALLS\"\n"
		     "if [ \"$3\" = generate ]; then\n"
		     "echo key >\"$2\"; : >\"$2-c\"; else\n"
		     "cat \"$2\" >>\"$CALLS\"\n"
		     "echo 'x:3  MIT-MAGIC-COOKIE-1  " HEX "'; fi");
	query.trusted = false;
	query.timeout_s = 1200;
	assert_int_equal(xauth_ask(&query, &c), 0);
	assert_memory_equal(c.data, bytes, sizeof bytes);
	assert_int_equal(file_read(calls, &b, 4096), 0);
	text = buf_dup_string(&b);
	assert_non_null(strstr(text, "/xauthfile generate :3 "
	    "MIT-MAGIC-COOKIE-1 untrusted timeout 1260\n700\n"));
	assert_non_null(strstr(text, "/xauthfile list :3\n700\nkey\n"));
	free(text);
	buf_clear(&b);
	unlink(calls);
	query.timeout_s = 0;
	assert_int_equal(xauth_ask(&query, &c), 0);
	assert_int_equal(file_read(calls, &b, 4096), 0);
	text = buf_dup_string(&b);
	assert_non_null(strstr(text, " untrusted\n"));
	free(text);
	buf_clear(&b);
}

static void
test_fails(void **state)
{
	static const char *const scripts[] = { "exit 1",
		"echo 'd P 00'; exit 1", "kill -9 $$", "echo nothing",
		"cat /dev/zero" };
	struct x11_cookie c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		make_program(scripts[i]);
		assert_int_equal(xauth_ask(&query, &c), ERR_NOT_FOUND);
		query.trusted = false;
		assert_int_equal(xauth_ask(&query, &c), ERR_NOT_FOUND);
		query.trusted = true;
	}
	unlink(program);
	assert_int_equal(xauth_ask(&query, &c), ERR_NOT_FOUND);
	query.program = NULL;
	assert_int_equal(xauth_ask(&query, &c), ERR_NOT_FOUND);
	make_program("exit 0");
}

/* Its standard input is empty, and what it says on standard error is not for
 * the user. */
static void
test_descriptors(void **state)
{
	struct x11_cookie c;

	(void)state;
	make_program("cat >>\"$CALLS\"; echo text >&2\n"
		     "readlink /proc/self/fd/2 >>\"$CALLS\"\n"
		     "echo 'd P 00'");
	assert_int_equal(xauth_ask(&query, &c), 0);
	was_called("list :3\n/dev/null\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_refuses),
		TEST(test_trusted),
		TEST(test_localhost),
		TEST(test_untrusted),
		TEST(test_fails),
		TEST(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
