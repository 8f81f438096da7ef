/* SPDX-License-Identifier: ISC */
/* Rules of --chmod. What each gives was asked of rsync 3.5.0, umask 022. */
#include "regress/unit/help.h"

#include "base/mem.h"
#include "xfer/rules/sync-chmod.h"

/* Permissions of a file and of a directory, which both have `mode` at first. */
static const struct {
	uint32_t mode;
	const char *rules;
	uint32_t file, dir;
} cases[] = {
	{ 0644, "D2775,F664", 0664, 02775 },
	{ 0644, "a+x", 0755, 0755 },
	{ 0644, "+w", 0644, 0644 },
	{ 0644, "=w", 0200, 0200 },
	{ 0644, "=rwx", 0755, 0755 },
	{ 0644, "u+s", 04644, 04644 },
	{ 0644, "+s", 04644, 04644 },
	{ 0644, "g+s", 02644, 02644 },
	{ 0644, "o+s", 04644, 04644 },
	{ 0644, "o+t", 01644, 01644 },
	{ 0644, "=", 0, 0 },
	{ 0644, "ug=rwX,o=", 0660, 0770 },
	{ 0644, "+X", 0644, 0755 },
	{ 0644, "F+X", 0644, 0644 },
	{ 0644, "D=rwx,F=rw", 0644, 0755 },
	{ 0644, "F07777", 07777, 0644 },
	{ 0644, "a=,u=r", 0400, 0400 },
	{ 0644, "g=s", 02604, 02604 },
	{ 07777, "=w", 07200, 07200 },
	{ 07777, "-w", 07577, 07577 },
	{ 07777, "a-w", 07555, 07555 },
	{ 07777, "u=g", 03777, 03777 },
	{ 07777, "g=u", 05777, 05777 },
	{ 07777, "-s", 03777, 03777 },
	{ 07777, "go-rwxst", 04700, 04700 },
	{ 07777, "0", 0, 0 },
	{ 0755, "a-x,+X", 0755, 0755 },
	{ 0755, "ug+s", 06755, 06755 },
	{ 0755, "go+u", 0777, 0777 },
	{ 0755, "g-u", 0705, 0705 },
	{ 0755, "Dg+s,ug+w,Fo-w,+X", 0775, 02775 },
	{ 07640, "=u", 0644, 0644 },
	{ 07640, "+u", 07644, 07644 },
	{ 07640, "ug=o", 01000, 01000 },
	{ 07640, "Da=X", 07640, 07111 },
	{ 0100, "g=u", 0110, 0110 },
	{ 0755, "a+", 0755, 0755 },
};

static struct sync_chmod *
some_rules(void)
{
	struct sync_chmod *c = sync_chmod_new(022);

	assert_non_null(c);
	return c;
}

static void
test_permissions(void **state)
{
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sync_chmod *c = some_rules();
		uint32_t file, dir;

		assert_int_equal(sync_chmod_add(c, cases[i].rules, &why), 0);
		file = sync_chmod_apply(c, cases[i].mode, false);
		dir = sync_chmod_apply(c, cases[i].mode, true);
		if (file != cases[i].file || dir != cases[i].dir)
			fail_msg("%o by %s: %o, %o", cases[i].mode,
			    cases[i].rules, file, dir);
		sync_chmod_free(c);
	}
	assert_int_equal(sync_chmod_apply(NULL, 07644, false), 07644);
}

static void
test_refused(void **state)
{
	static const char *const texts[] = { "", "X", ",", "u+x,", ",u+x",
		"Fu=rwx,,D700", "FD+x", "8", "u", "u+rwz", "rwx", "u+r-w",
		"10000", "u=ug", "g=ux", "D", "u +x", "D755F644" };
	struct sync_chmod *c = some_rules();
	const char *why = NULL;

	(void)state;
	assert_int_equal(sync_chmod_add(c, "a+x", &why), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (sync_chmod_add(c, texts[i], &why) != ERR_SYNTAX)
			fail_msg("taken: %s", texts[i]);
	assert_non_null(why);
	/* What was there before still holds. */
	assert_int_equal(sync_chmod_apply(c, 0644, false), 0755);
	for (size_t i = 1; i < SYNC_CHMOD_ITEMS_MAX; i++)
		assert_int_equal(sync_chmod_add(c, "u+r", &why), 0);
	assert_int_equal(sync_chmod_add(c, "u+r", &why), ERR_LIMIT);
	sync_chmod_free(c);
	sync_chmod_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
