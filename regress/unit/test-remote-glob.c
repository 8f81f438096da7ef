/* SPDX-License-Identifier: ISC */
/* Which remote names are patterns, and what those say that are none. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_magic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
