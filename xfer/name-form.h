/* SPDX-License-Identifier: ISC */
/*
 * Which names a file system may take for one. macOS has one file under both
 * forms of an accented letter (one code point, or letter and mark; HFS+ lists
 * the latter whatever was typed), and mostly under capital and small letters,
 * as Windows and some directories of Linux have.
 *
 * Forms are compared by canonical decomposition, letters by their small one, of
 * the code points below 65,536 that Unicode 14 had; Hangul by its rule. Bytes
 * that are no UTF-8 stay as they are. What a file system does is its own
 * matter, so names that are one here are only worth a question there.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_NAME_FORM_H
#define HPN_XFER_NAME_FORM_H

#include <stdbool.h>

enum name_ways {
	NAME_CASE = 1, /* capital and small letters are one */
	NAME_FORM = 2, /* a letter with its mark, and the two by themselves */
};

/* Folds a name: names that are the same in those ways (enum name_ways) get the
 * same result. The caller frees. NULL: no memory. */
char *name_fold(const char *name, unsigned ways);
/* The fewest ways that make two names the same (enum name_ways). 0: none do,
 * the names are equal, or there is no memory. */
unsigned name_ways_of(const char *a, const char *b);
/* Has name no letters but those of ASCII? It has one form then. */
bool name_is_ascii(const char *name);

#endif
