/* SPDX-License-Identifier: ISC */
/* Shares of a rate: cases, and what must hold of any. */
#include "server/events/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "regress/unit/dice.h"
#include "regress/unit/help.h"

#define ALL SHARES_NO_LIMIT

enum { MOST = 12 };

static struct share
one(uint64_t user, uint64_t want)
{
	return (struct share){ .want = want,
		.user = user,
		.user_max = ALL,
		.group_max = ALL };
}

static void
test_level(void **state)
{
	uint64_t v[] = { 50, 10, 100 }, same[] = { 5, 5 };

	(void)state;
	assert_int_equal(shares_level(v, 3, 90), 40);
	assert_true(shares_level(v, 3, 160) == UINT64_MAX);
	assert_int_equal(shares_level(v, 3, 159), 99);
	assert_int_equal(shares_level(v, 3, 0), 0);
	assert_true(shares_level(v, 0, 0) == UINT64_MAX);
	assert_int_equal(shares_level(same, 2, 9), 4);
}

/* Twelve connections of one user weigh no more than one of another's. */
static void
test_users_are_equal(void **state)
{
	struct share v[13];
	uint64_t first = 0;

	(void)state;
	for (size_t i = 0; i < 12; i++)
		v[i] = one(1, ALL);
	v[12] = one(2, ALL);
	shares_divide(v, 13, 1200);
	for (size_t i = 0; i < 12; i++)
		first += v[i].got;
	assert_int_equal(first, 600);
	assert_int_equal(v[0].got, 50);
	assert_int_equal(v[12].got, 600);
}

static void
test_who_is_idle(void **state)
{
	struct share v[] = { one(1, ALL), one(2, 100), one(3, 0) };

	(void)state;
	shares_divide(v, 3, 1000);
	assert_int_equal(v[0].got, 900);
	assert_int_equal(v[1].got, 100);
	assert_int_equal(v[2].got, 0);
	/* Nobody asks for the rest: it is there for whoever comes first. */
	v[0].want = 200;
	shares_spread(v, 3, 1000);
	assert_int_equal(v[0].got, 200 + 233);
	assert_int_equal(v[1].got, 100 + 233);
	assert_int_equal(v[2].got, 233);
}

static void
test_limits(void **state)
{
	struct share v[] = { one(1, ALL), one(1, ALL), one(2, ALL),
		one(3, ALL) };

	(void)state;
	v[0].user_max = 100; /* the smaller of two holds */
	v[1].user_max = 300;
	shares_divide(v, 4, 1000);
	assert_int_equal(v[0].got, 50);
	assert_int_equal(v[1].got, 50);
	assert_int_equal(v[2].got, 450);
	v[2].group = v[3].group = 7;
	v[2].group_max = v[3].group_max = 500;
	shares_divide(v, 4, ALL);
	assert_int_equal(v[0].got, 50);
	assert_int_equal(v[2].got, 250);
	assert_int_equal(v[3].got, 250);
	/* Limits hold for the rest, too. */
	v[0].want = v[1].want = v[2].want = v[3].want = 10;
	shares_spread(v, 4, ALL);
	assert_int_equal(v[0].got + v[1].got, 100);
	assert_int_equal(v[2].got + v[3].got, 500);
}

/* ---- any case ------------------------------------------------------------ */

static uint64_t
some_limit(struct dice *d)
{
	return dice_below(d, 2) == 0 ? ALL : dice_below(d, 2000);
}

static size_t
some_case(struct dice *d, struct share *v, uint64_t *capacity)
{
	uint64_t user_max[4], group_max[3];
	size_t n = dice_below(d, MOST + 1);

	for (size_t i = 0; i < ARRAY_LEN(user_max); i++)
		user_max[i] = some_limit(d);
	for (size_t i = 0; i < ARRAY_LEN(group_max); i++)
		group_max[i] = some_limit(d);
	for (size_t i = 0; i < n; i++) {
		v[i] = one(dice_below(d, 4),
		    dice_below(d, 4) == 0 ? ALL : dice_below(d, 1000));
		v[i].user_max = user_max[v[i].user];
		v[i].group = v[i].user % 3;
		v[i].group_max = group_max[v[i].group];
	}
	*capacity = dice_below(d, 8) == 0 ? ALL : dice_below(d, 3000);
	return n;
}

struct sums {
	uint64_t all, user[4], group[3];
};

static struct sums
sum_up(const struct share *v, size_t n)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < n; i++) {
		s.all += v[i].got;
		s.user[v[i].user] += v[i].got;
		s.group[v[i].group] += v[i].got;
	}
	return s;
}

static void
check_limits(const struct share *v, size_t n, uint64_t capacity)
{
	struct sums s = sum_up(v, n);

	assert_true(s.all <= capacity);
	for (size_t i = 0; i < n; i++) {
		assert_true(s.user[v[i].user] <= v[i].user_max);
		assert_true(s.group[v[i].group] <= v[i].group_max);
	}
}

/* Rounding leaves less than one byte a second to each. */
static bool
is_used_up(uint64_t sum, uint64_t limit)
{
	return limit != ALL && sum + MOST >= limit;
}

static void
highest(const struct share *v, size_t n, const struct share *of,
    const struct sums *s, uint64_t *in_user, uint64_t *in_group,
    uint64_t *in_all)
{
	*in_user = *in_group = *in_all = 0;
	for (size_t i = 0; i < n; i++) {
		*in_all = MAX(*in_all, s->user[v[i].user]);
		if (v[i].group == of->group)
			*in_group = MAX(*in_group, s->user[v[i].user]);
		if (v[i].user == of->user)
			*in_user = MAX(*in_user, v[i].got);
	}
}

/* Whoever gets less than they want has a reason: a limit that is used up, where
 * nobody under that limit has more than they. That is what max-min means. */
static void
check_fair(const struct share *v, size_t n, uint64_t capacity)
{
	struct sums s = sum_up(v, n);
	uint64_t in_user, in_group, in_all, mine;
	bool by_user, by_group, by_all;

	for (size_t i = 0; i < n; i++) {
		assert_true(v[i].got <= v[i].want);
		if (v[i].got == v[i].want)
			continue;
		highest(v, n, &v[i], &s, &in_user, &in_group, &in_all);
		mine = s.user[v[i].user] + MOST;
		/* Beside the others of one's own: */
		assert_true(v[i].got + 1 >= in_user);
		by_user = is_used_up(s.user[v[i].user], v[i].user_max);
		by_group = is_used_up(s.group[v[i].group], v[i].group_max) &&
		    mine >= in_group;
		by_all = is_used_up(s.all, capacity) && mine >= in_all;
		assert_true(by_user || by_group || by_all);
	}
}

static void
test_any(void **state)
{
	struct dice d = { .state = 36 };
	struct share v[MOST], spread[MOST];
	uint64_t capacity;
	size_t n;

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		n = some_case(&d, v, &capacity);
		memcpy(spread, v, sizeof spread);
		shares_divide(v, n, capacity);
		check_fair(v, n, capacity);
		shares_spread(spread, n, capacity);
		for (size_t i = 0; i < n; i++)
			assert_true(spread[i].got >= v[i].got);
		if (capacity == ALL)
			continue;
		check_limits(v, n, capacity);
		check_limits(spread, n, capacity);
	}
}

/* Nothing overflows: numbers come from processes of users. */
static void
test_huge(void **state)
{
	struct share v[] = { one(1, ALL), one(1, ALL), one(2, ALL - 1) };

	(void)state;
	shares_spread(v, 3, ALL);
	assert_true(v[0].got > 0 && v[2].got > 0);
	shares_spread(v, 3, ALL - 1);
	assert_true(v[0].got <= ALL / 4 + 1);
	assert_true(v[2].got <= ALL / 2 + 1);
	shares_spread(v, 0, 5);
	shares_spread(v, 3, 0);
	assert_int_equal(v[0].got + v[1].got + v[2].got, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_level),
		cmocka_unit_test(test_users_are_equal),
		cmocka_unit_test(test_who_is_idle),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_any),
		cmocka_unit_test(test_huge) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
