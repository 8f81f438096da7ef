/* SPDX-License-Identifier: ISC */
/*
 * Files that say who may log in as a user: which ones a pattern of the
 * configuration names, whether somebody else could have written them, and
 * their lines.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_AUTHORIZED_FILES_H
#define HPN_SERVER_MONITOR_AUTHORIZED_FILES_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"
#include "server/user.h"

enum {
	AUTHFILES_MAX = 1024,		 /* that one pattern names */
	AUTHFILES_LINE_MAX = 1024 * 1024, /* bytes */
};

/*
 * The paths that a value of AuthorizedKeysFile or AuthorizedPrincipalsFile
 * (keyword, for the log) names, sorted: %h, %U and %u stand for the user, a
 * path without / in front is below the home directory. Only what the
 * administrator wrote is a pattern of names, which are looked for with the
 * user's rights; nothing in a user's name or home directory is.
 */
int authfiles_paths(const struct user *u, const char *keyword,
    const char *pattern, struct strlist *paths) must_check;

/* With the rights that the process has just now. NULL, with a line in the log:
 * it is not there, no regular file, or (strict) one that others than the user
 * and the superuser could have written. */
FILE *authfiles_open(const struct user *u, const char *path, bool strict);

/* Could nobody but the superuser have written the regular file, or put another
 * one in its place? Then *real is its path without links, which caller frees;
 * else *why is, and says what is wrong. */
bool authfiles_only_root_writes(const char *path, char **real, char **why);

/* The lines of f, which stays the caller's. */
struct authlines {
	FILE *f;
	char *text;	 /* without the line's end */
	unsigned number; /* from 1 */
};
void authlines_init(struct authlines *l, FILE *f);
void authlines_clear(struct authlines *l);
/* False at the end. A line that is too long is an empty one. */
bool authlines_next(struct authlines *l);

#endif
