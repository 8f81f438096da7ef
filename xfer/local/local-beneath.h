/* SPDX-License-Identifier: ISC */
/*
 * A directory that paths of a peer cannot leave. It is held by its descriptor
 * from the first look on; each path is resolved below that, whatever anybody
 * puts in its way meanwhile. "/" is the directory itself, so "/a" and "a" are
 * one name. What would lead out of it (a "..", a link's text, any absolute
 * text) fails with EACCES, and links that are not followed fail with ELOOP.
 *
 * The kernel resolves (openat2), and where it cannot, this does, a component
 * after the other without following any link: with the same results.
 *
 * Functions that can fail give -1 (or NULL) with errno.
 *
 * Threads: any, after it was made.
 */
#ifndef HPN_XFER_LOCAL_LOCAL_BENEATH_H
#define HPN_XFER_LOCAL_LOCAL_BENEATH_H

#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

struct local_beneath;

enum local_beneath_flag {
	LOCAL_BENEATH_LINKS = 1, /* links that stay below are followed */
	LOCAL_BENEATH_WALK = 2,	 /* without openat2: for tests */
};

/* path is the user's word: links on the way to it are followed, but for its
 * last part only a link of root or of this user (ENOLINK). */
struct local_beneath *local_beneath_new(const char *path,
    unsigned flags) must_check;
/* A directory below, by its rules; links are followed where both may. */
struct local_beneath *local_beneath_narrow(const struct local_beneath *b,
    const char *path, unsigned flags) must_check;
void local_beneath_free(struct local_beneath *b); /* NULL: nothing */

/* open(2), of a path; close-on-exec always. */
int local_beneath_open(const struct local_beneath *b, const char *path,
    int flags, mode_t mode) must_check;
/* The directory that the last part of a path lies in, and that part, which is
 * not followed; "." for what has no name below the root. *own: what the caller
 * closes, or -1. */
int local_beneath_parent(const struct local_beneath *b, const char *path,
    char name[NAME_MAX + 1], int *own) must_check;
/* The path without links and dots, from "/". Its last part may be missing, and
 * may be a link where none are followed. The caller frees. */
char *local_beneath_resolve(const struct local_beneath *b,
    const char *path) must_check;

#endif
