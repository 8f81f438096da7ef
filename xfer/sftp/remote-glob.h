/* SPDX-License-Identifier: ISC */
/*
 * Names on a server that match a pattern with * ? [...] in any part of the
 * path; after a backslash these are ordinary characters.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SFTP_REMOTE_GLOB_H
#define HPN_XFER_SFTP_REMOTE_GLOB_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "xfer/sftp/sftp-engine.h"

bool remote_glob_has_magic(const char *pattern);
/* Appends the patterns that a pattern with {a,b} stands for. After a backslash
 * a brace is an ordinary character, and so are {} and a brace that is not
 * closed. ERR_LIMIT: there are too many patterns. */
int remote_glob_braces(const char *pattern, struct strlist *out) must_check;
/* Removes the backslashes of a pattern that matches only one name. The caller
 * frees the result; NULL when out of memory. */
char *remote_glob_unescape(const char *pattern);
/* Appends the matches, sorted, each once; that there is none is no error. 0, a
 * status > 0 or ERR_* as from sftp_call_*(); ERR_LIMIT if there are far too
 * many matches. */
int remote_glob(struct sftp *s, const char *pattern,
    struct strlist *out) must_check;

#endif
