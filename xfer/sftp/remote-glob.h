/* SPDX-License-Identifier: ISC */
/*
 * Names on a server that match a pattern with * ? [...] in any part of the
 * path; a backslash takes the meaning away.
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
/* Appends what {a,b} stands for; a backslash takes the meaning away, and {} and
 * what is not closed stay. ERR_LIMIT: there is too much of it. */
int remote_glob_braces(const char *pattern, struct strlist *out) must_check;
/* The name that a pattern without magic stands for; caller frees; NULL when
 * out of memory. */
char *remote_glob_unescape(const char *pattern);
/* Appends the matches, sorted, each once. None is no error. A status > 0 or
 * ERR_* as from sftp_call_*(), ERR_LIMIT if there are far too many. */
int remote_glob(struct sftp *s, const char *pattern,
    struct strlist *out) must_check;

#endif
