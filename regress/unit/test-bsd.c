/* SPDX-License-Identifier: ISC */
/* What stands in for functions of the BSDs: our own ones, whether or not this C
 * library has them too. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "functions.h"

#undef HAVE_STRLCPY
#undef HAVE_STRLCAT
#undef HAVE_STRTONUM
#undef HAVE_STRMODE
#undef strlcpy /* a macro on macOS */
#undef strlcat
#define strlcpy own_strlcpy
#define strlcat own_strlcat
#define strtonum own_strtonum
#define strmode own_strmode

#include "compat/bsd.c"

static void
copies(void **state)
{
	char to[5] = "####";

	(void)state;
	assert_int_equal(strlcpy(to, "abc", sizeof to), 3);
	assert_string_equal(to, "abc");
	assert_int_equal(strlcpy(to, "abcd", sizeof to), 4);
	assert_string_equal(to, "abcd");
	assert_int_equal(strlcpy(to, "abcdefg", sizeof to), 7);
	assert_string_equal(to, "abcd");
	assert_int_equal(strlcpy(to, "xyz", 1), 3);
	assert_memory_equal(to, "\0bcd", 5);
	assert_int_equal(strlcpy(to, "xyz", 0), 3);
	assert_memory_equal(to, "\0bcd", 5);
	assert_int_equal(strlcpy(to, "", 3), 0);
	assert_string_equal(to, "");
}

static void
appends(void **state)
{
	char to[6] = "ab";

	(void)state;
	assert_int_equal(strlcat(to, "c", sizeof to), 3);
	assert_string_equal(to, "abc");
	assert_int_equal(strlcat(to, "defg", sizeof to), 7);
	assert_string_equal(to, "abcde");
	assert_int_equal(strlcat(to, "x", sizeof to), 6);
	assert_string_equal(to, "abcde");
	/* no NUL within the size: nothing is written */
	assert_int_equal(strlcat(to, "xy", 3), 5);
	assert_string_equal(to, "abcde");
	assert_int_equal(strlcat(to, "xy", 0), 2);
	assert_string_equal(to, "abcde");
}

static void
numbers(void **state)
{
	static const struct {
		const char *text, *why;
		long long min, max, n;
	} cases[] = {
		{ "0", NULL, 0, 9, 0 },
		{ "9", NULL, 0, 9, 9 },
		{ " 7", NULL, 0, 9, 7 },
		{ "+7", NULL, 0, 9, 7 },
		{ "-7", NULL, -9, 9, -7 },
		{ "010", NULL, 0, 99, 10 },
		{ "10", "too large", 0, 9, 0 },
		{ "-1", "too small", 0, 9, 0 },
		{ "0", "too small", 1, 9, 0 },
		{ "", "invalid", 0, 9, 0 },
		{ " ", "invalid", 0, 9, 0 },
		{ "-", "invalid", -9, 9, 0 },
		{ "7 ", "invalid", 0, 9, 0 },
		{ "0x7", "invalid", 0, 9, 0 },
		{ "7", "invalid", 9, 0, 0 },
		{ "9223372036854775807", NULL, 0, LLONG_MAX, LLONG_MAX },
		{ "-9223372036854775808", NULL, LLONG_MIN, 0, LLONG_MIN },
		{ "9223372036854775808", "too large", 0, LLONG_MAX, 0 },
		{ "-9223372036854775809", "too small", LLONG_MIN, 0, 0 },
		{ "99999999999999999999z", "invalid", 0, 9, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *why = "not written";

		errno = EBUSY;
		assert_int_equal(strtonum(cases[i].text, cases[i].min,
		    cases[i].max, &why), cases[i].n);
		if (cases[i].why == NULL) {
			assert_null(why);
			assert_int_equal(errno, EBUSY);
			continue;
		}
		assert_string_equal(why, cases[i].why);
		assert_int_equal(errno, *why == 'i' ? EINVAL : ERANGE);
	}
	assert_int_equal(strtonum("x", 0, 9, NULL), 0);
	assert_int_equal(strtonum("8", 0, 9, NULL), 8);
}

static void
modes(void **state)
{
	static const struct {
		mode_t mode;
		const char *text;
	} cases[] = {
		{ S_IFREG | 0644, "-rw-r--r-- " },
		{ S_IFREG, "---------- " },
		{ S_IFREG | 0123, "---x-w--wx " },
		{ S_IFDIR | 0755, "drwxr-xr-x " },
		{ S_IFDIR | 01777, "drwxrwxrwt " },
		{ S_IFDIR | 01776, "drwxrwxrwT " },
		{ S_IFREG | 04711, "-rws--x--x " },
		{ S_IFREG | 04600, "-rwS------ " },
		{ S_IFREG | 02755, "-rwxr-sr-x " },
		{ S_IFREG | 02644, "-rw-r-Sr-- " },
		{ S_IFREG | 07777, "-rwsrwsrwt " },
		{ S_IFREG | 07000, "---S--S--T " },
		{ S_IFLNK | 0777, "lrwxrwxrwx " },
		{ S_IFSOCK | 0600, "srw------- " },
		{ S_IFIFO | 0600, "prw------- " },
		{ S_IFCHR | 0600, "crw------- " },
		{ S_IFBLK | 0600, "brw------- " },
		{ 0600, "?rw------- " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[12];

		strmode(cases[i].mode, text);
		assert_string_equal(text, cases[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies),
		cmocka_unit_test(appends),
		cmocka_unit_test(numbers),
		cmocka_unit_test(modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
