/* SPDX-License-Identifier: ISC */
/* Command lines that no shell reads. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/command-words.h"

static void
words(void **state)
{
	static const struct {
		const char *line;
		const char *words[5];
	} rows[] = {
		{ "/bin/x", { "/bin/x" } },
		{ "  /bin/x\t a  b ", { "/bin/x", "a", "b" } },
		{ "/bin/x 'a b' \"c d\"", { "/bin/x", "a b", "c d" } },
		{ "/bin/x a'b c'\"d\"", { "/bin/x", "ab cd" } },
		{ "/bin/x '' \"\"", { "/bin/x", "", "" } },
		{ "/bin/x # %u", { "/bin/x", "#", "%u" } },
		{ "/bin/x a\\ b \\\"c\\' \\\\", { "/bin/x", "a b", "\"c'",
						   "\\" } },
		{ "/bin/x '\"' \"'\" \\n", { "/bin/x", "\"", "'", "\\n" } },
		{ "/bin/x $(id) `id` ; *", { "/bin/x", "$(id)", "`id`", ";",
					       "*" } },
		{ "", { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strlist got = { 0 };
		size_t n = 0;

		assert_int_equal(command_words(rows[i].line, &got), 0);
		for (; n < 5 && rows[i].words[n] != NULL; n++) {
			assert_true(n < got.n);
			assert_string_equal(got.v[n], rows[i].words[n]);
		}
		assert_int_equal(got.n, n);
		strlist_clear(&got);
	}
}

static void
wrong(void **state)
{
	static const char *const rows[] = { "/bin/x 'a", "/bin/x \"a",
		"'", "/bin/x \"a\\\"" };
	char *many = xcalloc(1, 2 * COMMAND_WORDS_MAX + 3);
	struct strlist got = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(command_words(rows[i], &got), ERR_SYNTAX);
		strlist_clear(&got);
	}
	memset(many, 'a', 2 * COMMAND_WORDS_MAX);
	for (size_t i = 1; i < 2 * COMMAND_WORDS_MAX; i += 2)
		many[i] = ' ';
	assert_int_equal(command_words(many, &got), 0);
	strlist_clear(&got);
	many[2 * COMMAND_WORDS_MAX] = 'a';
	assert_int_equal(command_words(many, &got), ERR_LIMIT);
	strlist_clear(&got);
	free(many);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
