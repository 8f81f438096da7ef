/* SPDX-License-Identifier: ISC */
/* Parts of paths. dirname() and basename() of this system are the oracle. */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/path.h"

static void
test_last(void **state)
{
	static const struct {
		const char *path, *last;
		size_t parent;
	} rows[] = {
		{ "a", "a", 0 }, { "/a", "a", 0 }, { "a/b", "b", 1 },
		{ "/a//b.c", "b.c", 3 }, { "a/", "", 1 }, { "/", "", 0 },
		{ "", "", 0 }, { "..", "..", 0 }, { "../.", ".", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_string_equal(path_last(rows[i].path), rows[i].last);
		assert_int_equal(path_parent_len(rows[i].path),
		    rows[i].parent);
	}
}

/* Every path of up to six letters out of "/", "." and "a". */
static void
test_every_parent(void **state)
{
	char path[7], copy[7], *parent, *want;
	unsigned most = 1;

	(void)state;
	for (size_t len = 0; len <= 6; len++, most *= 3) {
		for (unsigned n = 0, left; n < most; n++) {
			left = n;
			for (size_t i = 0; i < len; i++, left /= 3)
				path[i] = "/.a"[left % 3];
			path[len] = '\0';
			parent = path_parent(path);
			assert_non_null(parent);
			strcpy(copy, path);
			want = dirname(copy);
			/* "//" may mean something else there; here it is
			 * "/". */
			if (strcmp(want, "//") == 0)
				want++;
			assert_string_equal(parent, want);
			free(parent);
			if (len == 0 || path[len - 1] == '/')
				continue;
			strcpy(copy, path);
			assert_string_equal(path_last(path), basename(copy));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_every_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
