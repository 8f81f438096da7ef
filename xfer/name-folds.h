/* SPDX-License-Identifier: ISC */
/*
 * The names of one directory at source and target, grouped by what a file
 * system may take for the same name (name-form.h): it may ignore capitals, or
 * the form in which a letter is encoded. Names that may be the same are a
 * class. A set of 64-bit hashes holds some flags of each class.
 *
 * Names of small ASCII letters, which most are, are not kept: in ascending
 * order they come last of their class. Without memory all names count as
 * unclear. Hashes are keyed; if two classes have the same one, that costs one
 * question more at worst.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_NAME_FOLDS_H
#define HPN_XFER_NAME_FOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum name_fold {
	NAME_FOLD_MET = 1,      /* the class has several names */
	NAME_FOLD_TARGET = 2,   /* the target lists one */
	NAME_FOLD_BOTH = 4,     /* source and target list the same name */
	NAME_FOLD_TWO = 8,      /* the target lists two names, so it tells them
				 * apart */
	NAME_FOLD_NEW = 16,     /* a new name of the class is made at the
				 * target */
	NAME_FOLD_ASKED = 32,   /* the target was asked for the new name, and
				 * did not have it */
	NAME_FOLD_UNCLEAR = 64, /* it is not known which of the names are the
				 * same */
	NAME_FOLD_MAYBE = 128,  /* a new name of the class may not have been
				 * kept */
	NAME_FOLD_MIXED = 256,  /* some names are not ASCII, and others may
				 * be */
};

struct name_folds {
	uint64_t key;
	uint64_t *v; /* owned; each element a hash with flags; 0: free */
	size_t used, size;
	bool failed; /* there was no memory */
};

void name_folds_init(struct name_folds *f);
void name_folds_clear(struct name_folds *f); /* may be used again */
/* Notes the next name, in ascending order for each end, and which ends list it.
 * Returns the flags of its class, with this name. */
unsigned name_folds_note(struct name_folds *f, const char *name, bool source,
    bool target);
/* The present flags of a name's class. */
unsigned name_folds_of(const struct name_folds *f, const char *name);
/* Adds flags to a name's class, if the class is kept. */
void name_folds_mark(struct name_folds *f, const char *name, unsigned flags);

#endif
