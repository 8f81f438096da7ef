/* SPDX-License-Identifier: ISC */
#include "client/auth/userauth-order.h"

static bool
share_positions(enum key_group a, enum key_group b)
{
	if (a == KEY_OF_AGENT_NAMED)
		a = KEY_OF_AGENT;
	if (b == KEY_OF_AGENT_NAMED)
		b = KEY_OF_AGENT;
	return a == b;
}

/* The last position before i, in the same group, whose key is not explicit; i
 * if there is none. */
static size_t
free_position_before(const struct key_priority *v, const size_t *order,
    size_t i)
{
	size_t j = i;

	while (j > 0 &&
	    share_positions(v[order[j - 1]].group, v[order[i]].group))
		if (!v[order[--j]].is_explicit)
			return j;
	return i;
}

/* Moves the key at position i to the front, past all keys with a worse rank
 * that are not explicit. */
static void
rise(const struct key_priority *v, size_t *order, size_t i)
{
	size_t key = order[i], j;

	while ((j = free_position_before(v, order, i)) != i &&
	    v[order[j]].rank > v[key].rank) {
		order[i] = order[j];
		order[j] = key;
		i = j;
	}
}

void
userauth_order(const struct key_priority *v, size_t n, size_t *order)
{
	size_t count = 0;

	for (int g = KEY_OF_CERTIFICATE_FILE; g <= KEY_OF_FILE; g++)
		for (size_t i = 0; i < n; i++)
			if (v[i].group == (enum key_group)g)
				order[count++] = i;
	for (size_t i = 0; i < n; i++)
		if (!v[order[i]].is_explicit)
			rise(v, order, i);
}
