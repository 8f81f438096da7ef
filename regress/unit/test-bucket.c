/* SPDX-License-Identifier: ISC */
/* Buckets: a rate holds over time, whatever the size of what is taken. */
#include "base/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "regress/unit/dice.h"

enum { S = 1000 * 1000, RATE = 10 * 1000 * 1000 };

static void
test_no_limit(void **state)
{
	struct bucket b = { 0 };

	(void)state;
	bucket_set(&b, BUCKET_NO_LIMIT, 5);
	bucket_take(&b, UINT64_MAX);
	assert_true(bucket_may(&b, 5));
	assert_int_equal(bucket_wait_us(&b), 0);
}

static void
test_give(void **state)
{
	struct bucket b = { 0 };

	(void)state;
	bucket_set(&b, RATE, 5);
	bucket_take(&b, 1000);
	bucket_give(&b, 900);
	assert_int_equal(b.left, -100);
	assert_false(bucket_may(&b, 5));
	bucket_give(&b, UINT64_MAX);
	assert_int_equal(b.left, RATE / 1000 * BUCKET_MS);
	bucket_set(&b, BUCKET_NO_LIMIT, 5);
	bucket_give(&b, UINT64_MAX);
	assert_int_equal(b.left, 0);
}

/* What is taken in pieces of any size, whenever it may be, adds up to the rate,
 * to within what the bucket holds and a piece. */
static void
test_rate_holds(void **state)
{
	static const uint32_t pieces[] = { 1, 1000, 256 * 1024, 4 * S };
	struct dice d = { .state = 1 };
	struct bucket b;
	uint64_t now, taken, n, room = RATE / 1000 * BUCKET_MS;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		b = (struct bucket){ 0 };
		bucket_set(&b, RATE, now = 77);
		taken = 0;
		while (now < 77 + 2 * S) {
			if (bucket_may(&b, now)) {
				n = 1 + dice_below(&d, pieces[i]);
				bucket_take(&b, n);
				taken += n;
			}
			now += pieces[i] == 1 ?
			    dice_below(&d, 2) == 0 : bucket_wait_us(&b);
			if (pieces[i] == 1 && taken > S / 10)
				break;
		}
		assert_true(taken <= room + pieces[i] +
		    (now - 77) * (RATE / S));
		if (pieces[i] > 1)
			assert_true(taken + room >=
			    (now - 77 - bucket_wait_us(&b)) * (RATE / S));
	}
}

/* Who waits as long as is said may take something then. */
static void
test_waits(void **state)
{
	struct dice d = { .state = 2 };
	struct bucket b = { 0 };
	uint64_t now = 0, wait;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		bucket_set(&b, 1 + dice_below(&d, UINT32_MAX), now);
		bucket_take(&b, dice_below(&d, 1 << 30));
		wait = bucket_wait_us(&b);
		assert_true(bucket_may(&b, now + wait));
		if (wait > 2)
			assert_false(bucket_may(&(struct bucket){ b.rate,
			    -1000 * S, now }, now + 1));
		now += wait + dice_below(&d, S);
	}
}

static void
test_other_rate(void **state)
{
	struct bucket b = { 0 };

	(void)state;
	bucket_set(&b, UINT64_C(1) << 35, 0);
	assert_true(bucket_may(&b, S));
	bucket_take(&b, UINT64_C(1) << 36);
	/* A second's debt at most, of the rate that is new. */
	bucket_set(&b, 1000, S);
	assert_true(bucket_wait_us(&b) <= S + S / 100);
	/* A rate of nothing is the least there is. */
	bucket_set(&b, 0, S);
	assert_true(bucket_wait_us(&b) > 0);
	bucket_set(&b, UINT64_MAX - 1, S);
	assert_true(bucket_may(&b, 2 * S));
	bucket_take(&b, UINT64_MAX);
	assert_false(bucket_may(&b, 2 * S));
	assert_true(bucket_wait_us(&b) <= 2 * S);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_give),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_rate_holds), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_other_rate) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
