/* SPDX-License-Identifier: ISC */
/*
 * The names of one directory at two ends, by what a file system may take for
 * one name (name-form.h): capital and small letters, and the forms of a letter.
 * Names that may be one are a class, of which a set of 64-bit hashes knows some
 * flags. Names of small ASCII letters are not kept, which most are: of names
 * that may be one with them, in ascending order, they are the last. When there
 * is no memory all names are unclear.
 *
 * A hash is keyed, and two classes with one are one more question at worst.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_NAME_FOLDS_H
#define HPN_XFER_NAME_FOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum name_fold {
	NAME_FOLD_MET = 1,      /* there are several names of this class */
	NAME_FOLD_TARGET = 2,   /* the target lists one */
	NAME_FOLD_BOTH = 4,     /* one is listed at both ends */
	NAME_FOLD_TWO = 8,      /* the target lists two: they are two there */
	NAME_FOLD_NEW = 16,     /* one is made at the target */
	NAME_FOLD_ASKED = 32,   /* the target did not have that one */
	NAME_FOLD_UNCLEAR = 64, /* which of them are one is not known */
	NAME_FOLD_MAYBE = 128,  /* a new one may not have been kept */
	NAME_FOLD_MIXED = 256,  /* not all are ASCII, but some may be */
};

struct name_folds {
	uint64_t key;
	uint64_t *v; /* owned; a hash with flags; 0: the place is free */
	size_t used, size;
	bool failed; /* there was no memory */
};

void name_folds_init(struct name_folds *f);
void name_folds_clear(struct name_folds *f); /* may be used again */
/* Notes the next name, in ascending order at each end, and which ends list it.
 * Result: the flags of its class, this name included. */
unsigned name_folds_note(struct name_folds *f, const char *name, bool source,
    bool target);
/* The flags of a name's class, by now. */
unsigned name_folds_of(const struct name_folds *f, const char *name);
/* Adds flags, to a class that is kept. */
void name_folds_mark(struct name_folds *f, const char *name, unsigned flags);

#endif
