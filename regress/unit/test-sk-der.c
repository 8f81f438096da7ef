/* SPDX-License-Identifier: ISC */
/* ECDSA signatures of authenticators; the longest numbers and the oddest. */
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "tokens/sk/sk-der.h"

static int
split(const char *hex, struct span *r, struct span *s)
{
	static uint8_t der[128];

	return sk_der_split((struct span){ der,
				hex_decode(hex, der, sizeof der) },
	    r, s);
}

static void
test_numbers(void **state)
{
	struct span r, s;

	(void)state;
	assert_int_equal(split("3006020101020102", &r, &s), 0);
	assert_hex(r.p, r.len, "01");
	assert_hex(s.p, s.len, "02");
	/* A zero keeps a number from being negative. */
	assert_int_equal(split("30080202008102020100", &r, &s), 0);
	assert_hex(r.p, r.len, "81");
	assert_hex(s.p, s.len, "0100");
}

static void
test_what_is_none(void **state)
{
	static const char *const bad[] = { "", "30", "3000", "3003020101",
		"3106020101020102", "3006030101020102", "3006020181020102",
		"300602010102010200", "3007020101020102", "3006020100020102",
		"30070201010201020a", "300502000201ff", "3080020101020102",
		("3027022101010101010101010101010101010101010101010101010101"
		 "01010101010101010101020102") };
	struct span r, s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(split(bad[i], &r, &s), ERR_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
