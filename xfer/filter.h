/* SPDX-License-Identifier: ISC */
/*
 * Which files of a tree are copied: rules with patterns. The first rule that
 * matches a path decides; a path that no rule matches is included. Both ends of
 * a copy use this one matcher, on paths from the top of the tree, without
 * slashes around them.
 *
 * Patterns are those of rsync(1): "*" and "?" match within a name, "**" also
 * slashes, "[...]" one character of a set. A pattern that begins with a slash
 * is compared with the whole path. Another pattern that has a slash or "**" in
 * it is compared with the end of the path, from the beginning of a name on. All
 * others are compared with the last name. For a pattern that begins with "**"
 * there is a slash before the path, too: "**" and "/a" are also the "a" at the
 * top. A pattern with a slash behind it is for directories only; "dir/" and
 * three asterisks are the directory and all that is in it. A backslash takes
 * the next character as it is, where the pattern has wildcards.
 *
 * The time to match a pattern is limited by the product of its length and the
 * path's; the number of patterns and their lengths are limited.
 *
 * Threads: any, once the filter is complete.
 */
#ifndef HPN_XFER_FILTER_H
#define HPN_XFER_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct filter;

enum {
	FILTER_RULES_MAX = 4096,
	FILTER_BYTES_MAX = 64 * 1024, /* bytes of all patterns */
	FILTER_PATTERN_MAX = 4096,
};

struct filter *filter_new(void) must_check;
void filter_free(struct filter *f); /* f may be NULL */
/* Adds a rule. 0; ERR_FORMAT: that is no pattern (an empty one, a set without
 * an end); ERR_LIMIT; ERR_NOMEM. */
int filter_add(struct filter *f, bool exclude, const char *pattern) must_check;
/* Adds rules as they stand on the wire: each is '+' or '-', the pattern, and a
 * zero byte. Errors as of filter_add(). */
int filter_add_wire(struct filter *f, const void *p, size_t len) must_check;
bool filter_excludes(const struct filter *f, const char *path, bool is_dir);

#endif
