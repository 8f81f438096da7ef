/* SPDX-License-Identifier: ISC */
/* Lists with two ends, beside an array of what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compat/queue.h"
#include "regress/unit/dice.h"

enum { LETTERS = 8, STEPS = 4000 };

struct letter {
	bool in;
	TAILQ_ENTRY(letter) entry, other;
};
TAILQ_HEAD(letters, letter);

static struct letter all[LETTERS];

/* In this order, forwards and backwards. */
static void
is(struct letters *list, struct letter *const *wanted, size_t count)
{
	struct letter *l;
	size_t i = 0;

	TAILQ_FOREACH (l, list, entry) {
		assert_true(i < count);
		assert_ptr_equal(l, wanted[i++]);
	}
	assert_int_equal(i, count);
	for (l = TAILQ_LAST(list, letters); l != NULL;
	    l = TAILQ_PREV(l, letters, entry))
		assert_ptr_equal(l, wanted[--i]);
	assert_int_equal(i, 0);
	assert_int_equal(TAILQ_EMPTY(list), count == 0);
	assert_ptr_equal(TAILQ_FIRST(list), count == 0 ? NULL : wanted[0]);
}

static void
as_an_array(void **state)
{
	struct dice d = { .state = 3 };
	struct letters list;
	struct letter *wanted[LETTERS];
	size_t count = 0;

	(void)state;
	TAILQ_INIT(&list);
	for (int step = 0; step < STEPS; step++) {
		struct letter *l = &all[dice_below(&d, LETTERS)];

		if (l->in) {
			size_t i = 0;

			while (wanted[i] != l)
				i++;
			count--;
			memmove(&wanted[i], &wanted[i + 1],
			    (count - i) * sizeof *wanted);
			TAILQ_REMOVE(&list, l, entry);
		} else if (dice_below(&d, 2) == 0) {
			memmove(&wanted[1], wanted, count++ * sizeof *wanted);
			wanted[0] = l;
			TAILQ_INSERT_HEAD(&list, l, entry);
		} else {
			wanted[count++] = l;
			TAILQ_INSERT_TAIL(&list, l, entry);
		}
		l->in = !l->in;
		is(&list, wanted, count);
	}
}

/* An element is in two lists; zeros are an empty one. */
static void
two_lists(void **state)
{
	static struct letters one, other;
	struct letter a, b;

	(void)state;
	assert_true(TAILQ_EMPTY(&one));
	TAILQ_INSERT_TAIL(&one, &a, entry);
	TAILQ_INSERT_TAIL(&one, &b, entry);
	TAILQ_INSERT_TAIL(&other, &b, other);
	TAILQ_INSERT_TAIL(&other, &a, other);
	TAILQ_REMOVE(&one, &a, entry);
	assert_ptr_equal(TAILQ_FIRST(&one), &b);
	assert_ptr_equal(TAILQ_FIRST(&other), &b);
	assert_ptr_equal(TAILQ_NEXT(&b, other), &a);
	assert_null(TAILQ_NEXT(&b, entry));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_an_array),
		cmocka_unit_test(two_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
