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
#include "config.h"
#include "server/monitor/auth-decoy.h"

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

#ifdef HAVE_CRYPT_GENSALT
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
#else
static void
every_method_has_a_decoy(void **state)
{
	(void)state;
	skip(); /* no libxcrypt */
}
#endif

static void
load(struct decoys *d, const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	*d = (struct decoys){ 0 };
	decoys_load(d, f);
	fclose(f);
}

static void
methods_of_a_file(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "root:*:1:0:99999:7:::\n"
		 "a:!$1$x$y:1:0:99999:7:::\n"
		 "b:$6$salt$hash:1:0:99999:7:::\n"
		 "c:$6$other$hash:1:0:99999:7:::\n"
		 "d:$y$j9T$salt$hash:1:0:99999:7:::\n"
		 "e:$5$rounds=1000$salt$hash:1:0:99999:7:::\n");
	assert_int_equal(d.settings.n, 3);
	assert_string_equal(d.settings.v[0], "$6$........$");
	assert_string_equal(d.settings.v[1], "$y$j9T$........$");
	assert_string_equal(d.settings.v[2], "$5$rounds=1000$........$");
	decoys_clear(&d);
}

static void
there_is_always_one(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "root:*:1:0:99999:7:::\n");
	assert_int_equal(d.settings.n, 1);
	assert_int_equal(decoys_spend(&d, NULL, 0, 1, "x"), 1);
	decoys_clear(&d);
	decoys_load(&d, NULL);
	assert_int_equal(d.settings.n, 1);
	decoys_clear(&d);
}

static void
no_more_than_a_few(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "a:$5$rounds=1000$s$h:1::::::\na:$5$rounds=1001$s$h:1::::::\n"
		 "a:$5$rounds=1002$s$h:1::::::\na:$5$rounds=1003$s$h:1::::::\n"
		 "a:$5$rounds=1004$s$h:1::::::\n");
	assert_int_equal(d.settings.n, DECOY_METHODS_MAX);
	decoys_clear(&d);
}

/* Whatever was computed before: each method is paid for as often, a hash by
 * a method that is not listed included. */
static void
each_try_costs_the_same(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "a:$5$rounds=1000$s$h:1::::::\na:$1$s$h:1::::::\n");
	for (unsigned times = 1; times <= 2; times++) {
		for (unsigned done = 0; done <= times; done++) {
			unsigned all = 2 * times, rest = all - done;

#define SPEND(field) decoys_spend(&d, field, done, times, "x")
			assert_int_equal(SPEND(NULL), all);
			assert_int_equal(SPEND("!"), all);
			assert_int_equal(SPEND("!$1$salt$hash"), all);
			assert_int_equal(SPEND(""), all);
			assert_int_equal(SPEND("$1$salt$hash"), rest);
			assert_int_equal(SPEND("$5$rounds=1000$z$h"), rest);
			assert_int_equal(SPEND("$6$salt$hash"), rest);
#undef SPEND
		}
	}
	decoys_clear(&d);
}

static void
hashes_that_were_made_before(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "a:$5$rounds=1000$s$h:1::::::\na:$1$s$h:1::::::\n");
	d.cost_us[0] = 100;
	d.cost_us[1] = 10000;
	assert_int_equal(decoys_done(&d, NULL, 99999, 2), 0);
	assert_int_equal(decoys_done(&d, "*", 99999, 2), 0);
	assert_int_equal(decoys_done(&d, "$1$s$h", 4000, 2), 0);
	assert_int_equal(decoys_done(&d, "$1$s$h", 9000, 2), 1);
	assert_int_equal(decoys_done(&d, "$1$s$h", 12000, 2), 1);
	assert_int_equal(decoys_done(&d, "$1$s$h", 19000, 2), 2);
	assert_int_equal(decoys_done(&d, "$1$s$h", 99999, 2), 2);
	assert_int_equal(decoys_done(&d, "$5$rounds=1000$s$h", 99999, 1), 1);
	d.cost_us[0] = 0;
	assert_int_equal(decoys_done(&d, "$6$s$h", 1, 1), 1);
	decoys_clear(&d);
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
		cmocka_unit_test(hashes_that_were_made_before),
		cmocka_unit_test(passwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
