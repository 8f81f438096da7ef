/* SPDX-License-Identifier: ISC */
/* Which remote names are patterns, and what those say that are none. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "xfer/sftp/remote-glob.h"

static void
test_magic(void **state)
{
	static const struct {
		const char *pattern;
		bool magic;
		const char *plain;
	} rows[] = {
		{ "a/b", false, "a/b" },
		{ "a*", true, NULL },
		{ "a?", true, NULL },
		{ "[ab]", true, NULL },
		{ "a\\*b", false, "a*b" },
		{ "a\\\\*", true, NULL },
		{ "a\\", false, "a\\" },
		{ "a\\\\", false, "a\\" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(remote_glob_has_magic(rows[i].pattern),
		    rows[i].magic);
		if (!rows[i].magic) {
			char *plain = remote_glob_unescape(rows[i].pattern);

			assert_string_equal(plain, rows[i].plain);
			free(plain);
		}
	}
}

static void
test_braces(void **state)
{
	static const struct {
		const char *pattern, *want; /* with blanks between */
	} rows[] = {
		{ "a", "a" },
		{ "d/{a,b}.txt", "d/a.txt d/b.txt" },
		{ "{a,b}{1,2}", "a1 a2 b1 b2" },
		{ "x{a,{b,c}d}", "xa xbd xcd" },
		{ "{a}", "a" },
		{ "a{,b}", "a ab" },
		{ "{}", "{}" },
		{ "{},{a,b}", "{},a {},b" },
		{ "{a,b", "{a,b" },
		{ "a}b,c", "a}b,c" },
		{ "{{a,b}", "{a {b" },
		{ "\\{a,b}", "\\{a,b}" },
		{ "{a\\,b,c}", "a\\,b c" },
	};
	struct strlist out = { NULL, 0 };
	char many[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char all[256] = "";

		assert_int_equal(remote_glob_braces(rows[i].pattern, &out), 0);
		for (size_t j = 0; j < out.n; j++) {
			strlcat(all, j > 0 ? " " : "", sizeof all);
			strlcat(all, out.v[j], sizeof all);
		}
		assert_string_equal(all, rows[i].want);
		strlist_clear(&out);
	}
	/* 2^10 are taken, and no more; nor are too many, one in another. */
	memset(many, 0, sizeof many);
	for (int i = 0; i < 10; i++)
		strlcat(many, "{a,b}", sizeof many);
	assert_int_equal(remote_glob_braces(many, &out), 0);
	assert_int_equal(out.n, 1024);
	strlist_clear(&out);
	strlcat(many, "{a,b}", sizeof many);
	assert_int_equal(remote_glob_braces(many, &out), ERR_LIMIT);
	strlist_clear(&out);
	many[0] = '\0';
	for (int i = 0; i < 40; i++)
		strlcat(many, "{a}", sizeof many);
	assert_int_equal(remote_glob_braces(many, &out), ERR_LIMIT);
	strlist_clear(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_magic),
		cmocka_unit_test(test_braces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
