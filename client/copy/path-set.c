/* SPDX-License-Identifier: ISC */
#include "client/copy/path-set.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypto/digest.h"

enum { SIZE_MIN = 64, NAME_LEN = 16 };

struct path_row {
	uint8_t name[NAME_LEN]; /* the beginning of the path's SHA-256 */
	uint64_t number_1;	/* its number + 1; 0: the row is free */
};

static void
name_path(uint8_t name[NAME_LEN], const char *path)
{
	uint8_t whole[DIGEST_MAX_LEN];

	if (digest_once(DIGEST_SHA256, path, strlen(path), whole) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	memcpy(name, whole, NAME_LEN);
}

/* The row of a name, or the free one where it would be added. */
static struct path_row *
find(const struct path_set *s, const uint8_t name[NAME_LEN])
{
	size_t at;

	memcpy(&at, name, sizeof at);
	for (at &= s->size - 1; s->v[at].number_1 != 0 &&
	     memcmp(s->v[at].name, name, NAME_LEN) != 0;)
		at = (at + 1) & (s->size - 1);
	return &s->v[at];
}

static void
grow(struct path_set *s)
{
	struct path_set wider = { .n = s->n,
		.size = s->size == 0 ? SIZE_MIN : s->size * 2 };

	wider.v = xcalloc(wider.size, sizeof *wider.v);
	for (size_t i = 0; i < s->size; i++)
		if (s->v[i].number_1 != 0)
			*find(&wider, s->v[i].name) = s->v[i];
	free(s->v);
	*s = wider;
}

void
path_set_put(struct path_set *s, const char *path, uint64_t number)
{
	uint8_t name[NAME_LEN];
	struct path_row *row;

	if (s->n >= s->size / 4 * 3)
		grow(s);
	name_path(name, path);
	row = find(s, name);
	s->n += row->number_1 == 0;
	memcpy(row->name, name, sizeof name);
	row->number_1 = number + 1;
}

bool
path_set_has(const struct path_set *s, const char *path, uint64_t *number)
{
	uint8_t name[NAME_LEN];
	const struct path_row *row;

	if (s->n == 0)
		return false;
	name_path(name, path);
	row = find(s, name);
	if (row->number_1 != 0 && number != NULL)
		*number = row->number_1 - 1;
	return row->number_1 != 0;
}

void
path_set_clear(struct path_set *s)
{
	free(s->v);
	*s = (struct path_set){ .v = NULL };
}
