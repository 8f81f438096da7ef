/* SPDX-License-Identifier: ISC */
/* Decoy hashes: their methods and costs, and how many a failed try makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <crypt.h>

#include "base/mem.h"
#include "server/auth-decoy.h"

static void
settings(void **state)
{
	static const struct {
		const char *field, *setting; /* NULL: no hash */
	} rows[] = {
		{ "$6$saltsaltsaltsalt$hash", "$6$........$" },
		{ "$6$rounds=9000$salt$hash", "$6$rounds=9000$........$" },
		{ "$5$x$hash", "$5$........$" },
		{ "$1$saltsalt$hash", "$1$........$" },
		{ "$y$j9T$saltsaltsaltsaltsaltsa$hash", "$y$j9T$........$" },
		{ "$gy$j9T$salt$hash", "$gy$j9T$........$" },
		{ "$7$CU..../....salt$hash", "$7$CU..../............$" },
		{ "$2b$12$saltsaltsaltsaltsaltsahash",
		    "$2b$12$......................" },
		{ "$sha1$4711$salt$hash", "$sha1$4711$........$" },
		{ "$md5,rounds=9$salt$$hash", "$md5,rounds=9$........$" },
		{ "abHASHHASHHAS", ".." },
		{ "*", NULL }, { "!", NULL }, { "", NULL }, { "x", NULL },
		{ "!$6$salt$hash", NULL }, { "*LK*", NULL }, { "$", NULL },
		{ "$$$", NULL }, { "$nothing", NULL }, { "$2b$", NULL },
		{ "$7$CU", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *setting = decoy_setting(rows[i].field);

		if (rows[i].setting == NULL)
			assert_null(setting);
		else
			assert_string_equal(setting, rows[i].setting);
		free(setting);
	}
}

/* Whatever the library can make a setting for: its decoy can be hashed with,
 * has the same method and costs, and not the salt. */
static void
every_method_has_a_decoy(void **state)
{
	static const char *const methods[] = { "", "$1$", "$5$", "$6$", "$2b$",
		"$7$", "$y$", "$gy$", "$sha1" };
	struct crypt_data *data = xcalloc(1, sizeof *data);
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		char made[CRYPT_GENSALT_OUTPUT_SIZE], *hash, *decoy;
		const char *got;

		if (crypt_gensalt_rn(methods[i], 0, NULL, 0, made,
			sizeof made) == NULL ||
		    (got = crypt_r("x", made, data)) == NULL || got[0] == '*')
			continue; /* not in this library */
		tried++;
		hash = xstrdup(got);
		decoy = decoy_setting(hash);
		assert_non_null(decoy);
		got = crypt_r("x", decoy, data);
		assert_non_null(got);
		assert_int_equal(strlen(got) > 12, 1);
		assert_memory_equal(got, hash, MIN(strlen(methods[i]), 3));
		assert_string_not_equal(got, hash);
		free(hash);
		free(decoy);
	}
	assert_true(tried >= 2);
	mem_free_secret(data, sizeof *data);
}

static void
collect(const char *text, struct strlist *out)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	decoy_collect(f, out);
	fclose(f);
}

static void
methods_of_a_file(void **state)
{
	struct strlist s = { 0 };

	(void)state;
	collect("root:*:1:0:99999:7:::\n"
		"a:!$1$x$y:1:0:99999:7:::\n"
		"b:$6$salt$hash:1:0:99999:7:::\n"
		"c:$6$other$hash:1:0:99999:7:::\n"
		"d:$y$j9T$salt$hash:1:0:99999:7:::\n"
		"e:$y$jCT$salt$hash:1:0:99999:7:::\n",
	    &s);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.v[0], "$6$........$");
	assert_string_equal(s.v[1], "$y$j9T$........$");
	assert_string_equal(s.v[2], "$y$jCT$........$");
	strlist_clear(&s);
}

static void
there_is_always_one(void **state)
{
	struct strlist s = { 0 };

	(void)state;
	collect("root:*:1:0:99999:7:::\n", &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(decoy_spend(&s, NULL, "x"), 1);
	strlist_clear(&s);
	decoy_collect(NULL, &s);
	assert_int_equal(s.n, 1);
	strlist_clear(&s);
}

static void
no_more_than_a_few(void **state)
{
	struct strlist s = { 0 };

	(void)state;
	collect("a:$5$rounds=1000$s$h:1::::::\na:$5$rounds=1001$s$h:1::::::\n"
		"a:$5$rounds=1002$s$h:1::::::\na:$5$rounds=1003$s$h:1::::::\n"
		"a:$5$rounds=1004$s$h:1::::::\n",
	    &s);
	assert_int_equal(s.n, DECOY_METHODS_MAX);
	strlist_clear(&s);
}

/* With the hash that was compared with, each method was paid for once; also
 * if that is by a method that is not on the list. */
static void
each_try_costs_the_same(void **state)
{
	struct strlist s = { 0 };

	(void)state;
	collect("a:$5$rounds=1000$s$h:1::::::\na:$1$s$h:1::::::\n", &s);
	assert_int_equal(decoy_spend(&s, NULL, "x"), 2);
	assert_int_equal(decoy_spend(&s, "!", "x"), 2);
	assert_int_equal(decoy_spend(&s, "!$1$salt$hash", "x"), 2);
	assert_int_equal(decoy_spend(&s, "", "x"), 2);
	assert_int_equal(decoy_spend(&s, "$1$salt$hash", "x"), 1);
	assert_int_equal(decoy_spend(&s, "$5$rounds=1000$z$h", "x"), 1);
	assert_int_equal(decoy_spend(&s, "$6$salt$hash", "x"), 1);
	strlist_clear(&s);
}

static void
passwords(void **state)
{
	(void)state;
	for (size_t len = 0; len < 100; len++) {
		char *p = decoy_password(len);

		assert_int_equal(strlen(p), len);
		free(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings),
		cmocka_unit_test(every_method_has_a_decoy),
		cmocka_unit_test(methods_of_a_file),
		cmocka_unit_test(there_is_always_one),
		cmocka_unit_test(no_more_than_a_few),
		cmocka_unit_test(each_try_costs_the_same),
		cmocka_unit_test(passwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
