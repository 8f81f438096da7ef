/* SPDX-License-Identifier: ISC */
/*
 * Sets of names that were found. When a listing is lost and begins anew, names
 * that were found before are skipped. A name is kept as 64 bits of its SHA-256,
 * so that nobody can make up one with the hash of another, whose file would be
 * left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "crypto/digest.h"
#include "xfer/trees/transfer-meet.h"

enum { NAMES_FIRST = 64 };

struct xfer_names {
	size_t used, cap;
	uint64_t *v; /* owned; hashes; 0: the place is free */
};

bool
xfer_names_hash(const char *name, uint64_t *hash)
{
	uint8_t sum[DIGEST_MAX_LEN];

	if (digest_once(DIGEST_SHA256, name, strlen(name), sum) != 0)
		return false;
	*hash = wire_get_u64(sum) | 1;
	return true;
}

/* Where that hash is, or belongs. */
static uint64_t *
place(const struct xfer_names *n, uint64_t hash)
{
	size_t i = (hash >> 1) & (n->cap - 1);

	while (n->v[i] != 0 && n->v[i] != hash)
		i = (i + 1) & (n->cap - 1);
	return &n->v[i];
}

static bool
grow(struct xfer_names *n)
{
	struct xfer_names more = { .used = n->used,
		.cap = n->cap != 0 ? n->cap * 2 : NAMES_FIRST };

	if (n->used * 2 < n->cap)
		return true;
	more.v = calloc(more.cap, sizeof *more.v);
	if (more.v == NULL)
		return false;
	for (size_t i = 0; i < n->cap; i++)
		if (n->v[i] != 0)
			*place(&more, n->v[i]) = n->v[i];
	free(n->v);
	*n = more;
	return true;
}

bool
xfer_names_add(struct xfer_names **names, uint64_t hash)
{
	struct xfer_names *n = *names;
	uint64_t *at;

	if (n == NULL && (n = *names = calloc(1, sizeof *n)) == NULL)
		return true;
	if (!grow(n))
		return true;
	at = place(n, hash);
	if (*at == hash)
		return false;
	*at = hash;
	n->used++;
	return true;
}

bool
xfer_names_has(const struct xfer_names *names, uint64_t hash)
{
	return names != NULL && names->cap != 0 && *place(names, hash) == hash;
}

void
xfer_names_free(struct xfer_names **names)
{
	if (*names != NULL)
		free((*names)->v);
	free(*names);
	*names = NULL;
}
