/* SPDX-License-Identifier: ISC */
#include "server/events/shares.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A member of a set that shares a limit: a connection of a user, or a user of a
 * group. */
struct member {
	uint64_t set;	/* user, or group */
	uint64_t limit; /* of the set */
	uint64_t want;
	uint64_t got;
	size_t index; /* index in the caller's array */
};

static uint64_t
add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/* Each step gives the smallest want, if it is below an equal part of the rest;
 * the larger wants share what then is left. */
uint64_t
shares_level(uint64_t *wants, size_t n, uint64_t capacity)
{
	qsort(wants, n, sizeof *wants, by_number);
	for (size_t i = 0; i < n; i++) {
		if (wants[i] > capacity / (n - i))
			return capacity / (n - i);
		capacity -= wants[i];
	}
	return UINT64_MAX;
}

static int
by_set(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->set != y->set)
		return x->set > y->set ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* The number of members from m[0] on, of n, that are of the same set. */
static size_t
set_size(const struct member *m, size_t n)
{
	size_t k = 1;

	while (k < n && m[k].set == m[0].set)
		k++;
	return k;
}

/* Sets got of all members so that each set keeps to its limit. room: space for
 * n numbers. */
static void
fill_sets(struct member *m, size_t n, uint64_t *room)
{
	uint64_t limit, level;
	size_t k;

	qsort(m, n, sizeof *m, by_set);
	for (size_t at = 0; at < n; at += k) {
		k = set_size(m + at, n - at);
		limit = UINT64_MAX;
		for (size_t i = at; i < at + k; i++) {
			limit = MIN(limit, m[i].limit);
			room[i] = m[i].want;
		}
		level = limit == SHARES_NO_LIMIT ?
		    UINT64_MAX : shares_level(room + at, k, limit);
		for (size_t i = at; i < at + k; i++)
			m[i].got = MIN(m[i].want, level);
	}
}

/* Makes a member of each user, with what their connections want together.
 * Members of `each` are sorted by user. Returns how many users there are; index
 * is the user's first connection in each. */
static size_t
find_users(const struct share *v, const struct member *each, size_t n,
    struct member *users)
{
	size_t count = 0, k;
	struct member *u;
	uint64_t max;

	for (size_t at = 0; at < n; at += k) {
		k = set_size(each + at, n - at);
		u = &users[count++];
		*u = (struct member){ .limit = SHARES_NO_LIMIT, .index = at };
		max = UINT64_MAX;
		for (size_t i = at; i < at + k; i++) {
			const struct share *s = &v[each[i].index];

			u->want = add(u->want, s->want);
			max = MIN(max, s->user_max);
			if (s->group_max >= u->limit)
				continue;
			u->limit = s->group_max;
			u->set = s->group;
		}
		u->want = MIN(u->want, max);
	}
	return count;
}

/* Fills the groups. Users without a group are not one group: each is alone, and
 * has no limit, so they are left out of fill_sets(). */
static void
split_by_groups(struct member *users, size_t count, uint64_t *room)
{
	size_t grouped = 0;
	struct member m;

	for (size_t i = 0; i < count; i++) {
		users[i].got = users[i].want;
		if (users[i].limit == SHARES_NO_LIMIT)
			continue;
		m = users[grouped];
		users[grouped++] = users[i];
		users[i] = m;
	}
	fill_sets(users, grouped, room);
}

/* Applies the limits from the smallest sets to the largest: of users, of
 * groups, of all. What a set may get is what it wants in the next step. What a
 * user then has is divided among the user's connections. */
void
shares_divide(struct share *v, size_t n, uint64_t capacity)
{
	struct member *each = xcalloc(n + 1, sizeof *each);
	struct member *users = xcalloc(n + 1, sizeof *users);
	uint64_t *room = xcalloc(n + 1, sizeof *room), level;
	size_t count, k;

	for (size_t i = 0; i < n; i++)
		each[i] = (struct member){ .set = v[i].user,
			.want = v[i].want,
			.index = i };
	qsort(each, n, sizeof *each, by_set);
	count = find_users(v, each, n, users);
	split_by_groups(users, count, room);
	for (size_t i = 0; i < count; i++)
		room[i] = users[i].got;
	level = capacity == SHARES_NO_LIMIT ?
	    UINT64_MAX : shares_level(room, count, capacity);
	for (size_t i = 0; i < count; i++) {
		k = set_size(each + users[i].index, n - users[i].index);
		for (size_t j = 0; j < k; j++)
			each[users[i].index + j].limit =
			    MIN(users[i].got, level);
	}
	fill_sets(each, n, room);
	for (size_t i = 0; i < n; i++)
		v[each[i].index].got = each[i].got;
	free(each);
	free(users);
	free(room);
}

/* The rest of a limit when its set has got that much. */
static uint64_t
left_of(uint64_t limit, uint64_t got)
{
	if (limit == SHARES_NO_LIMIT)
		return SHARES_NO_LIMIT;
	return limit > got ? limit - got : 0;
}

static int
by_user(const void *a, const void *b)
{
	const struct share *const *x = a, *const *y = b;

	return ((*x)->user > (*y)->user) - ((*x)->user < (*y)->user);
}

static int
by_group(const void *a, const void *b)
{
	const struct share *const *x = a, *const *y = b;

	return ((*x)->group > (*y)->group) - ((*x)->group < (*y)->group);
}

/* Subtracts what was got from the limits in rest: those of users, or with
 * groups those of groups. order: space for n pointers to v. */
static void
take_off(struct share *v, struct share *rest, const struct share **order,
    size_t n, bool groups)
{
	int (*by)(const void *, const void *) = groups ? by_group : by_user;
	uint64_t got;
	size_t k;

	for (size_t i = 0; i < n; i++)
		order[i] = &v[i];
	qsort(order, n, sizeof *order, by);
	for (size_t at = 0; at < n; at += k) {
		got = 0;
		for (k = 0; at + k < n && by(&order[at], &order[at + k]) == 0;
		    k++)
			if (!groups ||
			    order[at + k]->group_max != SHARES_NO_LIMIT)
				got = add(got, order[at + k]->got);
		for (size_t i = at; i < at + k; i++) {
			struct share *s = &rest[order[i] - v];

			if (groups)
				s->group_max = left_of(s->group_max, got);
			else
				s->user_max = left_of(s->user_max, got);
		}
	}
}

void
shares_spread(struct share *v, size_t n, uint64_t capacity)
{
	struct share *rest = xcalloc(n + 1, sizeof *rest);
	const struct share **order = xcalloc(n + 1, sizeof *order);
	uint64_t got = 0;

	shares_divide(v, n, capacity);
	for (size_t i = 0; i < n; i++) {
		rest[i] = v[i];
		rest[i].want = UINT64_MAX;
		got = add(got, v[i].got);
	}
	take_off(v, rest, order, n, false);
	take_off(v, rest, order, n, true);
	shares_divide(rest, n, left_of(capacity, got));
	for (size_t i = 0; i < n; i++)
		v[i].got = add(v[i].got, rest[i].got);
	free(rest);
	free(order);
}
