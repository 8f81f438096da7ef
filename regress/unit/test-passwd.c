/* SPDX-License-Identifier: ISC */
/* How old a password may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/monitor/account.h"
#include "server/monitor/passwd.h"

static void
ages(void **state)
{
	static const struct {
		long changed, max, inactive, day;
		enum passwd_age age;
	} rows[] = {
		{ 100, -1, -1, 9000, PASSWD_FINE },
		{ 100, 99999, -1, 9000, PASSWD_FINE },
		{ -1, 10, -1, 9000, PASSWD_FINE },
		{ 100, 10, -1, 110, PASSWD_FINE },
		{ 100, 10, -1, 111, PASSWD_MUST_CHANGE },
		{ 100, 10, -1, 9000, PASSWD_MUST_CHANGE },
		{ 100, 10, 5, 115, PASSWD_MUST_CHANGE },
		{ 100, 10, 5, 116, PASSWD_TOO_OLD },
		{ 100, 10, 0, 110, PASSWD_FINE },
		{ 100, 10, 0, 111, PASSWD_TOO_OLD },
		/* The administrator wants a new one, however young it is. */
		{ 0, -1, -1, 9000, PASSWD_MUST_CHANGE },
		{ 0, 99999, 0, 9000, PASSWD_MUST_CHANGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct account_rules rules = {
			.changed = rows[i].changed, .max = rows[i].max,
			.inactive = rows[i].inactive };

		if (passwd_age_of(&rules, rows[i].day) != rows[i].age)
			fail_msg("row %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
