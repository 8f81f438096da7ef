/* SPDX-License-Identifier: ISC */
/* Serial numbers in a KRL: all of them, in nearly the least room. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/krl-internal.h"
#include "keys/krl.h"
#include "regress/unit/dice.h"

enum {
	STORIES = 3000,
	RANGES_MAX = 40,
	HEAD = 5,
	NEARLY = 2, /* bytes: where a bitmap begins is not tried again */
};

/* ---- the least room, by trying all -------------------------------------- */

/* Of one section for these; 0: it cannot be. */
static uint64_t
room(const struct krl_range *v, size_t n)
{
	uint64_t span = v[n - 1].last - v[0].first, numbers = 0, least;

	for (size_t i = 0; i < n; i++)
		numbers += MIN(v[i].last - v[i].first, UINT32_MAX) + 1;
	least = HEAD + 8 * numbers;
	if (n == 1)
		least = MIN(least, (uint64_t)HEAD + 16);
	if (span < 2048 * 8)
		least = MIN(least, HEAD + 8 + 4 + (span + 1) / 8 + 1);
	return least;
}

static uint64_t
least_room(const struct krl_range *v, size_t n)
{
	uint64_t best[RANGES_MAX + 1] = { 0 };

	for (size_t j = 1; j <= n; j++) {
		best[j] = UINT64_MAX;
		for (size_t i = 0; i < j; i++)
			best[j] = MIN(best[j], best[i] + room(&v[i], j - i));
	}
	return best[n];
}

/* ---- reading it back ---------------------------------------------------- */

struct seen {
	struct krl_range v[4 * RANGES_MAX];
	size_t n;
};

/* Neighbours become one, as lists give single numbers. */
static int
note_item(void *arg, const struct krl_item *item)
{
	struct seen *s = arg;

	assert_int_equal(item->what, KRL_SERIALS);
	if (s->n > 0 && item->first == s->v[s->n - 1].last + 1) {
		s->v[s->n - 1].last = item->last;
		return 0;
	}
	assert_true(s->n < ARRAY_LEN(s->v));
	s->v[s->n++] = (struct krl_range){ item->first, item->last };
	return 0;
}

/* Sections of serial numbers, in a KRL for any CA. */
static void
assert_says(const struct buf *sections, const struct krl_range *v, size_t n)
{
	struct buf krl = { 0 };
	struct seen seen = { .n = 0 };
	size_t mark;

	buf_put(&krl, KRL_MAGIC, KRL_MAGIC_LEN);
	buf_put_u32(&krl, KRL_FORMAT);
	for (int i = 0; i < 3; i++)
		buf_put_u64(&krl, 0);
	buf_put_cstring(&krl, "");
	buf_put_cstring(&krl, "");
	buf_put_u8(&krl, KRL_SECTION_CERTS);
	mark = buf_open_string(&krl);
	buf_put_cstring(&krl, "");
	buf_put_cstring(&krl, "");
	buf_put(&krl, buf_data(sections), buf_len(sections));
	buf_close_string(&krl, mark);
	assert_int_equal(krl_read(buf_span(&krl), NULL, note_item, &seen), 0);
	assert_int_equal(seen.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(seen.v[i].first == v[i].first);
		assert_true(seen.v[i].last == v[i].last);
	}
	buf_clear(&krl);
}

/* ---- stories ------------------------------------------------------------ */

static size_t
make_ranges(struct dice *d, struct krl_range *v)
{
	static const uint32_t gaps[] = { 2, 4, 60, 200, 20000, 400000 },
		lengths[] = { 1, 1, 1, 3, 12, 3000, 40000 };
	uint32_t gap = gaps[dice_below(d, ARRAY_LEN(gaps))];
	size_t n = dice_below(d, RANGES_MAX + 1);
	uint64_t at = dice_below(d, 3);

	for (size_t i = 0; i < n; i++) {
		if (dice_below(d, 8) == 0)
			gap = gaps[dice_below(d, ARRAY_LEN(gaps))];
		at += 2 + dice_below(d, gap);
		v[i].first = at;
		at += dice_below(d, lengths[dice_below(d,
					ARRAY_LEN(lengths))]);
		v[i].last = at;
	}
	return n;
}

static void
assert_best(const struct krl_range *v, size_t n)
{
	struct buf out = { 0 };

	assert_int_equal(krl_put_serials(&out, v, n), 0);
	assert_says(&out, v, n);
	assert_in_range(buf_len(&out), 0, least_room(v, n) + NEARLY);
	buf_clear(&out);
}

static void
least_of_all(void **state)
{
	struct krl_range v[RANGES_MAX];

	(void)state;
	for (uint64_t seed = 1; seed <= STORIES; seed++) {
		struct dice d = { seed };

		assert_best(v, make_ranges(&d, v));
	}
}

/* Where numbers end, and where a bitmap does. */
static void
at_the_ends(void **state)
{
	static const struct krl_range cases[][3] = {
		{ { 0, 0 }, { 2, 2 }, { 5, UINT64_MAX } },
		{ { 0, 5 }, { UINT64_MAX - 2, UINT64_MAX - 2 },
		    { UINT64_MAX, UINT64_MAX } },
		{ { UINT64_MAX - 9, UINT64_MAX - 7 },
		    { UINT64_MAX - 5, UINT64_MAX - 3 },
		    { UINT64_MAX - 1, UINT64_MAX } },
		{ { 10, 8000 }, { 8002, 16000 }, { 16002, 10 + 16383 } },
		{ { 10, 8000 }, { 8002, 16000 }, { 16002, 10 + 16384 } },
		{ { 1, 1 }, { 3, 3 }, { 8, 8 } },
		{ { 1, 1 }, { 3, 3 }, { 9, 9 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t n = 0; n <= 3; n++)
			assert_best(cases[i], n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(least_of_all),
		cmocka_unit_test(at_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
