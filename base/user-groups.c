/* SPDX-License-Identifier: ISC */
#include "base/user-groups.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compat/ids.h"

enum { GROUPS_MAX = 65536 };

/* The ids of a user's groups; *n: how many. NULL: they cannot be found out. */
static gid_t *
group_ids(const char *user, gid_t gid, int *n)
{
	int cap = 0;
	gid_t *ids = NULL;

	for (*n = 64; *n > cap && *n <= GROUPS_MAX;) {
		cap = *n;
		free(ids);
		if ((ids = calloc((size_t)cap, sizeof *ids)) == NULL)
			return NULL;
		if (ids_group_list(user, gid, ids, n) != -1)
			return ids;
	}
	free(ids);
	return NULL;
}

/* A group was not found: does errno mean that nobody could look (true), or that
 * there is no such group? Systems have many numbers for the latter. */
static bool
is_failure(int error)
{
	static const int failures[] = { EAGAIN, ECONNREFUSED, EINTR, EIO,
		EMFILE, ENFILE, ENOMEM, ERANGE, ETIMEDOUT };

	for (size_t i = 0; i < ARRAY_LEN(failures); i++)
		if (error == failures[i])
			return true;
	return false;
}

int
user_groups(const char *user, gid_t gid, struct strlist *names)
{
	int n, r = 0;
	gid_t *ids = group_ids(user, gid, &n);

	if (ids == NULL)
		return ERR_SYSTEM;
	for (int i = 0; i < n && r == 0; i++) {
		const struct group *gr;

		errno = 0;
		gr = getgrgid(ids[i]);
		if (gr != NULL)
			r = strlist_add(names, gr->gr_name);
		else if (is_failure(errno))
			r = ERR_SYSTEM;
	}
	free(ids);
	return r;
}
