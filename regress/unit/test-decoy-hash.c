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
#include "server/monitor/decoy-hash.h"

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
	print_message("there is no libxcrypt\n");
	skip();
}
#endif

#define USE(setting, n, cost) { setting, n, cost, false }
#define FIRST(setting, n, cost) { setting, n, cost, true }

/* Settings are never compared with their costs here: those are made up. */
static void
load(struct decoys *d, const char *first, const char *second)
{
	const struct decoy_use uses[] = { USE(first, 3, 100),
		USE(second, 1, 40) };

	decoys_choose(d, uses, second != NULL ? 2 : 1);
}

/* The commonest cost is paid, or the first account's if that is less, and
 * others within half of it; the dearest one is known for its time. */
static void
what_is_paid_for(void **state)
{
	static const struct {
		struct decoy_use uses[5];
		const char *paid; /* their first letters */
		uint64_t dearest_us;
	} rows[] = {
		{ { USE("a", 1, 20) }, "a", 20 },
		{ { USE("a", 9, 20), USE("d", 1, 1000) }, "a", 1000 },
		{ { USE("d", 1, 1000), USE("a", 1, 20) }, "a", 1000 },
		{ { USE("d", 6, 1000), USE("a", 5, 20) }, "da", 1000 },
		{ { USE("a", 9, 20), USE("b", 9, 9), USE("c", 1, 2) }, "bc",
		    20 },
		{ { USE("a", 9, 20), USE("b", 9, 20) }, "a", 20 },
		{ { USE("a", 9, 20), USE("b", 1, 11) }, "a", 20 },
		{ { USE("a", 9, 40), USE("b", 1, 4), USE("c", 1, 4),
		      USE("d", 1, 4), USE("e", 1, 4) }, "abcd", 40 },
		{ { USE("a", 9, 20), FIRST("b", 1, 2) }, "b", 20 },
		{ { USE("a", 9, 20), FIRST("b", 1, 2), USE("c", 3, 1) }, "bc",
		    20 },
		{ { USE("a", 9, 20), FIRST("d", 1, 1000) }, "a", 1000 },
		/* Nothing was measured. */
		{ { USE("a", 9, 0), USE("b", 1, 0) }, "a", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct decoys d, got;
		struct buf b = { 0 };
		struct rd in;
		size_t n = 0;

		while (n < 5 && rows[i].uses[n].setting != NULL)
			n++;
		decoys_choose(&d, rows[i].uses, n);
		assert_int_equal(d.settings.n, strlen(rows[i].paid));
		for (size_t j = 0; j < d.settings.n; j++)
			assert_int_equal(d.settings.v[j][0], rows[i].paid[j]);
		assert_int_equal(d.dearest_us, rows[i].dearest_us);
		assert_int_equal(decoys_floor_us(&d, 2, 100),
		    rows[i].dearest_us * 3);
		assert_int_equal(decoys_floor_us(&d, 1, 200),
		    rows[i].dearest_us * 3);
		decoys_export(&d, &b);
		in = rd_from_buf(&b);
		assert_int_equal(decoys_import(&got, &in), 0);
		assert_int_equal(rd_end(&in), 0);
		assert_int_equal(got.settings.n, d.settings.n);
		assert_int_equal(got.cost_us[0], d.cost_us[0]);
		assert_int_equal(got.dearest_us, d.dearest_us);
		decoys_clear(&got);
		decoys_clear(&d);
		buf_clear(&b);
	}
}

static void
there_is_always_one(void **state)
{
	struct decoys d;

	(void)state;
	decoys_choose(&d, NULL, 0);
	assert_int_equal(d.settings.n, 1);
	assert_int_equal(decoys_spend(&d, NULL, 0, 1, "x"), 1);
	decoys_clear(&d);
}

/* Whatever was computed before: each method is paid for as often, a hash by
 * a method that is not listed included. */
static void
each_try_costs_the_same(void **state)
{
	struct decoys d;

	(void)state;
	load(&d, "$5$rounds=1000$........$", "$1$........$");
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
	load(&d, "$5$rounds=1000$........$", "$1$........$");
	d.cost_us[0] = 100;
	d.cost_us[1] = 10000;
	assert_int_equal(decoys_done(&d, NULL, 99999, 2), 0);
	assert_int_equal(decoys_done(&d, "*", 99999, 2), 0);
	assert_int_equal(decoys_done(&d, "$1$s$h", 4000, 2), 0);
	assert_int_equal(decoys_done(&d, "$1$s$h", 9000, 2), 1);
	assert_int_equal(decoys_done(&d, "$1$s$h", 7400, 2), 0);
	assert_int_equal(decoys_done(&d, "$1$s$h", 12000, 2), 1);
	assert_int_equal(decoys_done(&d, "$1$s$h", 17000, 2), 1);
	assert_int_equal(decoys_done(&d, "$1$s$h", 19000, 2), 2);
	assert_int_equal(decoys_done(&d, "$1$s$h", 99999, 2), 2);
	assert_int_equal(decoys_done(&d, "$5$rounds=1000$s$h", 99999, 1), 1);
	d.cost_us[0] = 1;
	assert_int_equal(decoys_done(&d, "$6$s$h", 1, 1), 1);
	decoys_clear(&d);
}

#ifdef HAVE_CRYPT_GENSALT
/* Counts what the code under test has hashed. */
static unsigned hashes_made;

char *
crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
	hashes_made++;
	return crypt_rn(phrase, setting, data, sizeof *data);
}

/* Before costs are known one hash measures them, whoever the try was for. */
static void
measuring_does_not_show(void **state)
{
	static const char *const fields[] = { "$5$rounds=1000$s$h", "$1$s$h",
		"$6$s$h", "!", "*", "", NULL };
	struct decoys d;

	(void)state;
	load(&d, "$5$rounds=1000$........$", "$1$........$");
	for (int known = 0; known < 2; known++) {
		d.cost_us[0] = d.cost_us[1] = known ? 50 : 0;
		for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
			hashes_made = 0;
			(void)decoys_done(&d, fields[i], 100, 2);
			assert_int_equal(hashes_made, !known);
		}
	}
	decoys_clear(&d);
}
#else
static void
measuring_does_not_show(void **state)
{
	(void)state;
	print_message(
	    "there is no function to hash with but the one that is measured\n");
	skip();
}
#endif

/* Waiting stretches with load as computing does. */
static void
busy_machines(void **state)
{
	static const struct {
		double load;
		long cpus;
		unsigned stretch;
	} rows[] = {
		{ 0, 1, 100 }, { 0, 8, 100 }, { 7, 8, 100 }, { 1, 1, 200 },
		{ 14, 2, 750 }, { 15, 2, 800 }, { 400, 2, 800 },
		{ 1e300, 1, 800 }, { -1, 1, 100 }, { 1, -1, 200 },
	};
	const struct decoys dear = { .dearest_us = 2000000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(decoy_stretch(rows[i].load, rows[i].cpus),
		    rows[i].stretch);
	assert_int_equal(decoys_floor_us(&dear, 1, 300), 9000000);
	assert_int_equal(decoys_floor_us(&dear, 2, 800), 10000000);
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
		cmocka_unit_test(what_is_paid_for),
		cmocka_unit_test(there_is_always_one),
		cmocka_unit_test(each_try_costs_the_same),
		cmocka_unit_test(hashes_that_were_made_before),
		cmocka_unit_test(measuring_does_not_show),
		cmocka_unit_test(busy_machines),
		cmocka_unit_test(passwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
