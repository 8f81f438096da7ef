/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/ring.h"
#include "crypto/rand.h"

struct job {
	int number;
	char text[100];
};

static void
post(struct ring *r, int number)
{
	struct job *j = ring_next(r);

	assert_non_null(j);
	j->number = number;
	ring_post(r);
}

static void
collect(struct ring *r, int number)
{
	struct job *j = ring_oldest(r);

	assert_non_null(j);
	assert_int_equal(j->number, number);
	ring_release(r);
}

static void
test_one_place(void **state)
{
	struct ring *r = ring_new(1, sizeof(struct job));
	size_t ticket;

	(void)state;
	assert_non_null(r);
	for (int i = 0; i < 5; i++) {
		assert_null(ring_oldest(r));
		assert_null(ring_take(r, &ticket));
		assert_false(ring_has_ready(r));
		post(r, i);
		assert_null(ring_next(r)); /* full */
		assert_true(ring_has_ready(r));
		assert_null(ring_oldest(r));
		assert_non_null(ring_take(r, &ticket));
		assert_false(ring_has_ready(r));
		assert_null(ring_oldest(r)); /* taken, but not done */
		ring_finish(r, ticket);
		assert_int_equal(ring_pending(r), 1);
		assert_null(ring_next(r)); /* done, but not given back */
		collect(r, i);
		assert_int_equal(ring_pending(r), 0);
	}
	ring_free(r);
	ring_free(NULL);
}

/* Jobs are finished in any order, and collected in that of posting. */
static void
test_random_order(void **state)
{
	enum { PLACES = 16, TURNS = 2000 };
	struct ring *r = ring_new(PLACES, sizeof(struct job));
	size_t held[PLACES], count = 0, ticket;
	int posted = 0, collected = 0;

	(void)state;
	assert_non_null(r);
	while (collected < TURNS) {
		if (posted < TURNS && rand_uniform(2) != 0 &&
		    ring_next(r) != NULL)
			post(r, posted++);
		if (rand_uniform(2) != 0 && ring_take(r, &ticket) != NULL)
			held[count++] = ticket;
		if (rand_uniform(2) != 0 && count > 0) {
			size_t i = rand_uniform((uint32_t)count);

			ring_finish(r, held[i]);
			held[i] = held[--count];
		}
		while (ring_oldest(r) != NULL)
			collect(r, collected++);
		assert_int_equal(ring_pending(r), posted - collected);
	}
	ring_free(r);
}

static void
test_await(void **state)
{
	struct ring *r = ring_new(4, sizeof(struct job));
	size_t first, second;

	(void)state;
	assert_non_null(r);
	assert_false(ring_await(r)); /* nothing to wait for */
	post(r, 1);
	post(r, 2);
	assert_true(ring_await(r));
	assert_non_null(ring_take(r, &first));
	assert_non_null(ring_take(r, &second));
	assert_false(ring_finish(r, second)); /* not the oldest */
	assert_true(ring_finish(r, first));
	assert_false(ring_await(r)); /* it is there */
	collect(r, 1);
	assert_false(ring_await(r));
	collect(r, 2);
	assert_false(ring_await(r));

	/* Not awaited, not told. */
	post(r, 3);
	assert_non_null(ring_take(r, &first));
	assert_false(ring_finish(r, first));
	collect(r, 3);
	ring_free(r);
}

/* A place keeps what its job leaves in it: buffers are made once. */
static void
test_places_keep(void **state)
{
	struct ring *r = ring_new(2, sizeof(struct job));
	size_t ticket;

	(void)state;
	assert_non_null(r);
	for (int i = 0; i < 6; i++) {
		struct job *j = ring_next(r);
		char expected[20] = "";

		if (i >= 2)
			snprintf(expected, sizeof expected, "job %d", i - 2);
		assert_string_equal(j->text, expected);
		snprintf(j->text, sizeof j->text, "job %d", i);
		post(r, i);
		assert_ptr_equal(ring_take(r, &ticket), j);
		ring_finish(r, ticket);
		collect(r, i);
	}
	ring_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_place),
		cmocka_unit_test(test_random_order),
		cmocka_unit_test(test_await),
		cmocka_unit_test(test_places_keep),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
