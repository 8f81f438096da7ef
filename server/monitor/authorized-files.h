/* SPDX-License-Identifier: ISC */
/*
 * Files that say who may log in as a user: finds the files that a pattern of
 * the configuration names, checks that nobody else could have written them, and
 * reads their lines.
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
	AUTHFILES_MAX = 1024,		 /* files that one pattern names */
	AUTHFILES_LINE_MAX = 1024 * 1024, /* bytes of a line */
};

/*
 * Appends the paths that a value of AuthorizedKeysFile or
 * AuthorizedPrincipalsFile names, sorted. %h, %U and %u stand for the user; a
 * path without / in front is below the home directory. Wildcards in the value
 * are expanded with the user's rights; characters of the user's name and home
 * directory are never wildcards. keyword: for the log.
 */
int authfiles_paths(const struct user *u, const char *keyword,
    const char *pattern, struct strlist *paths) must_check;

/* Opens a file with the rights that the process has now. NULL, after a log
 * line: the file does not exist, is no regular file, or (strict) could have
 * been written by others than the user and the superuser. */
FILE *authfiles_open(const struct user *u, const char *path, bool strict);

/* Whether path is a regular file that only the superuser could have written or
 * replaced. If so, *real is its path without symbolic links; else *why says
 * what is wrong. Caller frees the one that is set. */
bool authfiles_only_root_writes(const char *path, char **real, char **why);

/* Reads the lines of f, which the caller closes. */
struct authlines {
	FILE *f;
	char *text;	 /* the current line, without its end */
	size_t room;	 /* bytes of text */
	unsigned number; /* number of the current line, from 1 */
};
void authlines_init(struct authlines *l, FILE *f);
void authlines_clear(struct authlines *l);
/* Reads the next line. False: the end of the file. A line that is too long is
 * returned as an empty one. */
bool authlines_next(struct authlines *l);

#endif
