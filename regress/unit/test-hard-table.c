/* SPDX-License-Identifier: ISC */
/*
 * The table of files with several names, against a list: added and removed at
 * random, with numbers as a peer might choose them to meet in one place.
 */
#include "regress/unit/help.h"
#include "regress/unit/dice.h"

#include <stdlib.h>
#include <string.h>

#include "xfer/state/hard-table.h"

enum { NUMBERS = 4096, STEPS = 40000 };

/* Numbers at equal distances, of which only the high bits differ, or both. */
static uint64_t
number(struct dice *d, int way)
{
	uint64_t n = dice_below(d, 64);

	return way == 0 ? n : way == 1 ? n << 58 : n * UINT64_C(0x100000001);
}

static void
add(struct xfer_hard_table *t, uint64_t dev, uint64_t ino)
{
	struct xfer_hard **at, *h;

	assert_true(xfer_hard_grow(t));
	at = xfer_hard_find(t, dev, ino);
	assert_null(*at);
	h = calloc(1, sizeof *h);
	assert_non_null(h);
	h->dev = dev;
	h->ino = ino;
	h->path = strdup("a path");
	*at = h;
	t->used++;
}

static void
test_against_a_list(void **state)
{
	static struct {
		uint64_t dev, ino;
	} list[NUMBERS];

	(void)state;
	for (int way = 0; way < 3; way++) {
		struct xfer_hard_table t = { .used = 0 };
		struct dice d = { 7 + (uint64_t)way };
		size_t n = 0, i;

		for (int step = 0; step < STEPS; step++) {
			uint64_t dev = number(&d, way), ino = number(&d, way);

			for (i = 0; i < n; i++)
				if (list[i].dev == dev && list[i].ino == ino)
					break;
			if (i == n && n < NUMBERS && dice_below(&d, 3) > 0) {
				add(&t, dev, ino);
				list[n].dev = dev;
				list[n++].ino = ino;
			} else if (i < n) {
				struct xfer_hard **at =
				    xfer_hard_find(&t, dev, ino);

				assert_non_null(*at);
				assert_true((*at)->dev == dev &&
				    (*at)->ino == ino);
				if (dice_below(&d, 3) == 0) {
					xfer_hard_remove(&t, at);
					list[i] = list[--n];
				}
			} else if (t.size > 0) {
				assert_null(*xfer_hard_find(&t, dev, ino));
			}
			assert_int_equal(t.used, n);
			assert_true(t.used <= t.size);
		}
		assert_true(n > 256); /* it has grown */
		while (n-- > 0)
			xfer_hard_remove(&t, xfer_hard_find(&t, list[n].dev,
			    list[n].ino));
		assert_int_equal(t.used, 0);
		free(t.rows);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
