/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/keyed-hash.h"

enum { SIZE = 1024 };

static const struct keyed_hash key = { { UINT64_C(0x243f6a8885a308d3),
    UINT64_C(0x13198a2e03707344) } };

/* How many places SIZE numbers have: from shift on, in the first or the second
 * number. */
static unsigned
places(unsigned shift, bool second)
{
	bool has[SIZE] = { false };
	unsigned n = 0;

	for (uint64_t i = 0; i < SIZE; i++) {
		uint64_t number = i << shift;
		size_t at = keyed_hash_place(&key, second ? 7 : number,
		    second ? number : 7, SIZE);

		assert_true(at < SIZE);
		n += !has[at];
		has[at] = true;
	}
	return n;
}

/* Whichever bits the numbers differ in, few of them meet. */
static void
test_spread(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift <= 54; shift++) {
		assert_true(places(shift, false) > SIZE / 4);
		assert_true(places(shift, true) > SIZE / 4);
	}
}

static void
test_key_decides(void **state)
{
	const struct keyed_hash other = { { key.by[1], key.by[0] } };
	unsigned same = 0;

	(void)state;
	for (uint64_t i = 0; i < SIZE; i++)
		same += keyed_hash_place(&key, i, i, SIZE) ==
		    keyed_hash_place(&other, i, i * 3, SIZE);
	assert_true(same < SIZE / 8);
}

/* All sizes have places, up to the largest. */
static void
test_sizes(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit <= 32; bit++)
		assert_true(keyed_hash_place(&key, 123456789, 987654321,
		    (size_t)1 << bit) < (size_t)1 << bit);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_key_decides),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
