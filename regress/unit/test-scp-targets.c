/* SPDX-License-Identifier: ISC */
/* What hpnscp writes to, and which transfers must not run together. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "client/copy/scp-targets.h"

static void
test_names(void **state)
{
	static const struct {
		const char *target;
		bool is_dir;
		const char *source, *name;
	} rows[] = {
		{ "to", false, "a/b", "to" },
		{ "to", true, "a/b", "to/b" },
		{ "to/", true, "b", "to/b" },
		{ "to", true, "a/b/", "to/b" },
		{ "to", true, "a/..", "to/." },
		{ "to", true, ".", "to/." },
		{ "/", true, "/", "/." },
		{ "/", true, "b", "/b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *name = scp_target_name(rows[i].target, rows[i].is_dir,
		    rows[i].source);

		assert_string_equal(name, rows[i].name);
		free(name);
	}
}

static void
test_collide(void **state)
{
	struct scp_targets t = { .tree = NULL };

	(void)state;
	for (int again = 0; again < 2; again++) {
		assert_false(scp_targets_collide(&t, "d/a"));
		assert_int_equal(scp_targets_add(&t, "d/a"), 0);
		assert_true(scp_targets_collide(&t, "d/a"));
		assert_false(scp_targets_collide(&t, "d/b"));
		assert_int_equal(scp_targets_add(&t, "d/b"), 0);
		assert_true(scp_targets_collide(&t, "d/a"));
		assert_true(scp_targets_collide(&t, "d/b"));
		assert_false(scp_targets_collide(&t, "d/a."));
		assert_false(scp_targets_collide(&t, "a"));
		scp_targets_clear(&t);
	}
}

/* The content of a directory may have any names. */
static void
test_content(void **state)
{
	static const char *const content[] = { ".", "d/.", "/." };
	struct scp_targets t = { .tree = NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(content); i++) {
		assert_false(scp_targets_collide(&t, content[i]));
		assert_int_equal(scp_targets_add(&t, content[i]), 0);
		assert_true(scp_targets_collide(&t, "other"));
		scp_targets_clear(&t);
		assert_int_equal(scp_targets_add(&t, "other"), 0);
		assert_true(scp_targets_collide(&t, content[i]));
		scp_targets_clear(&t);
	}
}

/* Many, as a pattern of the shell may give. */
static void
test_many(void **state)
{
	struct scp_targets t = { .tree = NULL };
	char name[16];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		assert_false(scp_targets_collide(&t, name));
		assert_int_equal(scp_targets_add(&t, name), 0);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		assert_true(scp_targets_collide(&t, name));
	}
	scp_targets_clear(&t);
	assert_false(scp_targets_collide(&t, "f0"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_collide),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
