/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "keys/timestamp.h"

static void
use_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void
test_parse(void **state)
{
	static const struct {
		const char *text;
		int want;
		uint64_t seconds;
	} t[] = {
		{ "19700101Z", 0, 0 },
		{ "19700101UTC", 0, 0 },
		{ "19700102", 0, 86400 - 3600 }, /* an hour east of it */
		{ "202611221630Z", 0, 1795365000 },
		{ "20261122163005Z", 0, 1795365005 },
		{ "20240229Z", 0, 1709164800 },
		{ "20230229Z", ERR_SYNTAX, 0 },
		{ "20231301Z", ERR_SYNTAX, 0 },
		{ "20230001Z", ERR_SYNTAX, 0 },
		{ "20230100Z", ERR_SYNTAX, 0 },
		{ "202301012400Z", ERR_SYNTAX, 0 },
		{ "202301012360Z", ERR_SYNTAX, 0 },
		{ "20230101235960Z", ERR_SYNTAX, 0 },
		{ "19691231Z", ERR_SYNTAX, 0 },
		{ "2023010Z", ERR_SYNTAX, 0 },
		{ "202301011Z", ERR_SYNTAX, 0 },
		{ "20230101z", ERR_SYNTAX, 0 },
		{ "20230101ZZ", ERR_SYNTAX, 0 },
		{ "20230101 ", ERR_SYNTAX, 0 },
		{ "-20230101", ERR_SYNTAX, 0 },
		{ "", ERR_SYNTAX, 0 },
		{ "Z", ERR_SYNTAX, 0 },
	};

	(void)state;
	use_zone("EAST-1");
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;

		assert_int_equal(timestamp_parse(t[i].text, &got), t[i].want);
		assert_int_equal(got, t[i].seconds);
	}
}

static void
test_format(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *want;
	} t[] = {
		{ 0, "1970-01-01T01:00:00" },
		{ 1795365005, "2026-11-22T17:30:05" },
		{ UINT64_MAX, "18446744073709551615" },
		{ INT64_MAX, "9223372036854775807" },
	};

	(void)state;
	use_zone("EAST-1");
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		char *s = timestamp_format(t[i].seconds);

		assert_string_equal(s, t[i].want);
		free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
