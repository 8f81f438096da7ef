/* SPDX-License-Identifier: ISC */
/*
 * Finds different names that a file system may take for the same name. On macOS
 * the two forms of an accented letter (one code point, or letter and mark) name
 * the same file; HFS+ lists the second form, whichever was typed. Capital and
 * small letters name the same file on most disks of macOS, on Windows, and in
 * some directories of Linux.
 *
 * Names are compared after canonical decomposition, with small letters in place
 * of capital ones, for the code points below 65,536 of Unicode 14; Hangul by
 * its rule. Bytes that are no UTF-8 stay as they are. Each file system has
 * rules of its own, so names that are the same here are only a reason to ask
 * it.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_NAME_FORM_H
#define HPN_XFER_NAME_FORM_H

#include <stdbool.h>

enum name_ways {
	NAME_CASE = 1, /* capital and small letters are the same */
	NAME_FORM = 2, /* an accented letter is the same as one code point
			* and as letter and mark */
};

/* Folds a name: names that are the same in those ways (enum name_ways) get the
 * same result. The caller frees. NULL: no memory. */
char *name_fold(const char *name, unsigned ways);
/* The fewest ways that make two names the same (enum name_ways). 0: none do,
 * the names are equal, or there is no memory. */
unsigned name_ways_of(const char *a, const char *b);
/* Has name no letters but those of ASCII? Then it has only one form. */
bool name_is_ascii(const char *name);

#endif
