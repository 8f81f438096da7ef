/* SPDX-License-Identifier: ISC */
#include "xfer/name-folds.h"

#include <stdlib.h>

#include "crypto/rand.h"
#include "xfer/name-form.h"

enum {
	FIRST = 64,
	FLAGS = 511, /* bits of an element that are flags (enum name_fold) */
	ALL_UNCLEAR = NAME_FOLD_MET | NAME_FOLD_UNCLEAR,
	/* Limit of the classes of a directory; further ones are not kept. 16
	 * MiB. */
	USED_MAX = 512 * 1024,
};

void
name_folds_init(struct name_folds *f)
{
	*f = (struct name_folds){ .key = 0 };
	rand_bytes(&f->key, sizeof f->key);
}

void
name_folds_clear(struct name_folds *f)
{
	free(f->v);
	f->v = NULL;
	f->used = f->size = 0;
	f->failed = false;
}

/* ---- hashes ------------------------------------------------------------- */

static uint64_t
add_byte(uint64_t hash, unsigned char byte)
{
	hash = (hash ^ byte) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* True if the name has capital letters, or characters that are not ASCII. */
static bool
is_kept(const char *name)
{
	while (*name != '\0' && (*name & 0x80) == 0 &&
	    (*name < 'A' || *name > 'Z'))
		name++;
	return *name != '\0';
}

/* The hash of the name's class, without flags; 0: no memory. *was_other: the
 * name is not ASCII but folds to an ASCII name, as with the sign for kelvin. A
 * name of that class may have come before without being kept. */
static uint64_t
hash_of(const struct name_folds *f, const char *name, bool *was_other)
{
	char *folded = NULL;
	uint64_t hash = f->key;

	*was_other = false;
	if (!name_is_ascii(name)) {
		folded = name_fold(name, NAME_CASE | NAME_FORM);
		if (folded == NULL)
			return 0;
		*was_other = name_is_ascii(folded);
		name = folded;
	}
	for (; *name != '\0'; name++)
		hash = add_byte(hash, (unsigned char)(*name >= 'A' &&
			*name <= 'Z' ? *name - 'A' + 'a' : *name));
	free(folded);
	hash &= ~(uint64_t)FLAGS;
	return hash != 0 ? hash : FLAGS + 1;
}

static uint64_t *
place(const struct name_folds *f, uint64_t hash)
{
	size_t i = (size_t)(hash >> 9) & (f->size - 1);

	while (f->v[i] != 0 && (f->v[i] & ~(uint64_t)FLAGS) != hash)
		i = (i + 1) & (f->size - 1);
	return &f->v[i];
}

static bool
grow(struct name_folds *f)
{
	struct name_folds more = { .key = f->key, .used = f->used,
		.size = f->size != 0 ? f->size * 2 : FIRST };

	if (f->used * 2 < f->size)
		return true;
	more.v = calloc(more.size, sizeof *more.v);
	if (more.v == NULL)
		return false;
	for (size_t i = 0; i < f->size; i++)
		if (f->v[i] != 0)
			*place(&more, f->v[i] & ~(uint64_t)FLAGS) = f->v[i];
	free(f->v);
	*f = more;
	return true;
}

/* ---- names -------------------------------------------------------------- */

/* The flags of a class when a name is added. */
static unsigned
with_name(unsigned flags, bool is_first, bool source, bool target)
{
	if (!is_first)
		flags |= NAME_FOLD_MET;
	if (target && (flags & NAME_FOLD_TARGET))
		flags |= NAME_FOLD_TWO;
	if (target)
		flags |= NAME_FOLD_TARGET;
	if (target && source)
		flags |= NAME_FOLD_BOTH;
	return flags;
}

unsigned
name_folds_note(struct name_folds *f, const char *name, bool source,
    bool target)
{
	bool kept = is_kept(name), was_other;
	uint64_t hash, *at;
	unsigned flags;

	if (!kept && f->used == 0)
		return f->failed ? ALL_UNCLEAR : 0;
	hash = hash_of(f, name, &was_other);
	f->failed |= hash == 0 || (kept && !grow(f));
	if (f->failed)
		return ALL_UNCLEAR;
	at = place(f, hash);
	if (*at == 0 && (!kept || f->used == USED_MAX))
		return 0;
	flags = with_name((unsigned)(*at & FLAGS), *at == 0, source, target);
	if (was_other)
		flags |= NAME_FOLD_MET | NAME_FOLD_TARGET | NAME_FOLD_MIXED |
		    (source && !target ? NAME_FOLD_MAYBE : 0);
	f->used += *at == 0;
	*at = hash | flags;
	return flags;
}

unsigned
name_folds_of(const struct name_folds *f, const char *name)
{
	bool was_other;
	uint64_t hash;

	if (f->failed)
		return ALL_UNCLEAR;
	if (f->used == 0)
		return 0;
	hash = hash_of(f, name, &was_other);
	return hash != 0 ? (unsigned)(*place(f, hash) & FLAGS) : ALL_UNCLEAR;
}

void
name_folds_mark(struct name_folds *f, const char *name, unsigned flags)
{
	bool was_other;
	uint64_t hash, *at;

	if (f->used == 0 || (hash = hash_of(f, name, &was_other)) == 0)
		return;
	at = place(f, hash);
	if (*at != 0)
		*at |= flags;
}
