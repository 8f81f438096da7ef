/* SPDX-License-Identifier: ISC */
/* Sorted sets, beside a table of what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tree.h"
#include "regress/unit/dice.h"

enum { NUMBERS = 4096, STEPS = 20000, FEW = 24 };

struct number {
	struct tree_node node;
	unsigned value;
	bool in; /* the set */
};

static struct number numbers[NUMBERS];

static int
compare(const struct tree_node *a, const struct tree_node *b)
{
	unsigned x = ((const struct number *)(const void *)a)->value;
	unsigned y = ((const struct number *)(const void *)b)->value;

	return x < y ? -1 : x > y;
}

static void
begin(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		numbers[i] = (struct number){ .value = i };
}

/* How many nodes there are from the topmost one down; in order, and none above
 * one of higher rank. */
static unsigned
depth(const struct tree_node *n)
{
	unsigned less, more;

	if (n == NULL)
		return 0;
	assert_true(n->less == NULL || compare(n->less, n) < 0);
	assert_true(n->more == NULL || compare(n, n->more) < 0);
	assert_true(n->less == NULL || n->less->rank <= n->rank);
	assert_true(n->more == NULL || n->more->rank <= n->rank);
	less = depth(n->less);
	more = depth(n->more);
	return 1 + (less > more ? less : more);
}

static void
same_as_table(struct tree_node *set, unsigned count)
{
	const struct tree_node *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		const struct number wanted = { .value = i };
		const struct tree_node *n = tree_find(set, &wanted.node,
		    compare);

		assert_ptr_equal(n, numbers[i].in ? &numbers[i].node : NULL);
		if (first == NULL)
			first = n;
	}
	assert_ptr_equal(tree_first(set), first);
}

/* Ranks of two values only, so that most of them are the same. */
static void
as_a_table(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct dice d = { .state = seed };
		struct tree_node *set = NULL;

		begin(FEW);
		for (int step = 0; step < STEPS / 20; step++) {
			struct number *n = &numbers[dice_below(&d, FEW)];

			if (n->in)
				tree_remove(&set, &n->node, compare);
			else
				tree_insert(&set, &n->node,
				    dice_below(&d, seed % 2 ? 2 : UINT32_MAX),
				    compare);
			n->in = !n->in;
			same_as_table(set, FEW);
			(void)depth(set);
		}
	}
}

/* Numbers that come in their order, which a plain tree makes a list of. */
static void
not_deep(void **state)
{
	struct dice d = { .state = 7 };
	struct tree_node *set = NULL;

	(void)state;
	begin(NUMBERS);
	for (unsigned i = 0; i < NUMBERS; i++)
		tree_insert(&set, &numbers[i].node,
		    dice_below(&d, UINT32_MAX), compare);
	assert_in_range(depth(set), 12, 48);
	for (unsigned i = 0; i < NUMBERS; i++) {
		assert_ptr_equal(tree_first(set), &numbers[i].node);
		tree_remove(&set, &numbers[i].node, compare);
	}
	assert_null(set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_a_table),
		cmocka_unit_test(not_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
