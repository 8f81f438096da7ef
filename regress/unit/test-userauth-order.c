/* SPDX-License-Identifier: ISC */
/* The order of offers: a table, and what holds for any keys. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/auth/userauth-order.h"
#include "regress/unit/dice.h"

enum { KEYS_MAX = 12 };

/* A key is a word: its group (C a A F), then "e" if it is explicit, then its
 * rank, 0 to 3. */
static size_t
read_keys(const char *text, struct key_priority *v)
{
	static const char groups[] = "CaAF";
	size_t n = 0;

	for (const char *s = text; *s != '\0'; n++) {
		v[n].group = (enum key_group)(strchr(groups, *s++) - groups);
		v[n].is_explicit = *s == 'e';
		s += v[n].is_explicit;
		v[n].rank = (enum key_rank)(*s++ - '0');
		s += *s == ' ';
	}
	return n;
}

static void
tables(void **state)
{
	static const struct {
		const char *keys, *want; /* the indices, in order */
	} t[] = {
		{ "", "" },
		{ "F3", "0" },
		/* A certificate of a default key goes first, of an explicit
		 * one behind it. */
		{ "F3 F1", "10" },
		{ "Fe3 Fe1", "01" },
		{ "F3 F1 F3 F1 F3", "13024" },
		/* Explicit ones keep their places. */
		{ "Fe3 F3 F1", "021" },
		{ "F3 Fe3 F1", "210" },
		{ "F3 Fe1 F3 F2", "3102" },
		{ "F3 F3 Fe3 F0 Fe3 F1", "352041" },
		/* Groups. */
		{ "F1 A3 a3 C3", "3210" },
		{ "C3 C1 C2 C0", "3120" },
		{ "Ce3 C1", "01" },
		/* Those of the agent are one group once they stand there. */
		{ "a3 A1", "10" },
		{ "A1 ae3 a3", "102" },
		{ "A1 ae3 a3 A1", "1032" },
		{ "a1 A1 A3 A0", "3012" },
		/* And no key leaves its group. */
		{ "C3 A1 F0", "012" },
	};
	struct key_priority v[KEYS_MAX];
	size_t order[KEYS_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		size_t n = read_keys(t[i].keys, v);

		assert_int_equal(n, strlen(t[i].want));
		userauth_order(v, n, order);
		for (size_t j = 0; j < n; j++)
			if (order[j] != (size_t)(t[i].want[j] - '0'))
				fail_msg("%s: place %zu: %zu", t[i].keys, j,
				    order[j]);
	}
}

static int
merged(enum key_group g)
{
	return g == KEY_OF_AGENT_NAMED ? KEY_OF_AGENT : (int)g;
}

/* Where a key would be by its group alone. */
static size_t
position_by_group(const struct key_priority *v, size_t n, size_t i)
{
	size_t place = 0;

	for (size_t j = 0; j < n; j++)
		place += v[j].group < v[i].group ||
		    (v[j].group == v[i].group && j < i);
	return place;
}

static void
assert_rules(const struct key_priority *v, size_t n, const size_t *order)
{
	bool seen[KEYS_MAX] = { false };

	for (size_t i = 0; i < n; i++) {
		assert_true(order[i] < n && !seen[order[i]]);
		seen[order[i]] = true;
		if (v[order[i]].is_explicit)
			assert_int_equal(position_by_group(v, n, order[i]), i);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			const struct key_priority *a = &v[order[i]];
			const struct key_priority *b = &v[order[j]];

			assert_true(merged(a->group) <= merged(b->group));
			if (a->is_explicit || b->is_explicit ||
			    merged(a->group) != merged(b->group))
				continue;
			assert_true(a->rank <= b->rank);
			if (a->rank == b->rank)
				assert_true(
				    position_by_group(v, n, order[i]) <
				    position_by_group(v, n, order[j]));
		}
	}
}

static void
any_keys(void **state)
{
	struct key_priority v[KEYS_MAX];
	size_t order[KEYS_MAX];
	struct dice d = { 1 };

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = dice_below(&d, KEYS_MAX + 1);

		for (size_t i = 0; i < n; i++) {
			v[i].group = (enum key_group)dice_below(&d, 4);
			v[i].is_explicit = dice_below(&d, 3) == 0;
			v[i].rank = (enum key_rank)dice_below(&d, 4);
		}
		userauth_order(v, n, order);
		assert_rules(v, n, order);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(any_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
