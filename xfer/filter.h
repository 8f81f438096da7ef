/* SPDX-License-Identifier: ISC */
/*
 * Which files of a tree a copy includes: a list of rules with patterns, of
 * which the first that matches a path decides. A path that no rule matches is
 * included. Server and client of a walk both use this matcher, on paths from
 * the top of the tree, without slashes around them.
 *
 * Patterns are those of rsync(1): "*" and "?" match within a name, "**" also
 * slashes, "[...]" one character of a set. A pattern that begins with a slash
 * is compared with the whole path. Any other pattern with a slash or "**" in it
 * is compared with the end of the path, from the beginning of a name on; all
 * other patterns with the last name. If a pattern begins with "**", there seems
 * to be a slash before the path: so "**" and "/a" also match the "a" at the
 * top. A pattern with a slash behind it is for directories only; "dir/" and
 * three asterisks match the directory and all that is in it. In a pattern with
 * wildcards, a backslash makes the next character an ordinary one.
 *
 * Matching takes steps in proportion to the length of pattern and path,
 * whatever they are. Number and length of patterns are limited.
 *
 * Threads: any, once all rules were added.
 */
#ifndef HPN_XFER_FILTER_H
#define HPN_XFER_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct filter;

enum {
	FILTER_RULES_MAX = 4096,
	FILTER_BYTES_MAX = 64 * 1024, /* of the patterns of all rules */
	FILTER_PATTERN_MAX = 4096,
};

struct filter *filter_new(void) must_check;
void filter_free(struct filter *f); /* NULL: nothing */
/* Adds a rule behind the others. 0; ERR_FORMAT: the pattern is invalid (empty,
 * or a set without an end); ERR_LIMIT; ERR_NOMEM. */
int filter_add(struct filter *f, bool exclude, const char *pattern) must_check;
/* Adds rules as they are sent in a walk: each is '+' (include) or '-'
 * (exclude), the pattern, and a zero byte. */
int filter_add_wire(struct filter *f, const void *p, size_t len) must_check;
bool filter_excludes(const struct filter *f, const char *path, bool is_dir);

#endif
