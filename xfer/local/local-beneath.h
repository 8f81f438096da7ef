/* SPDX-License-Identifier: ISC */
/*
 * A directory that paths of a peer cannot leave. It is opened once and held by
 * its descriptor; each path is resolved below it, whatever anybody changes on
 * the way meanwhile. "/" is the directory itself, so "/a" and "a" are the same
 * name. What would lead out of it (a "..", a link, any absolute target of a
 * link) fails with EACCES. A link that is not to be followed fails with ELOOP.
 *
 * The kernel resolves paths (openat2). Where it cannot, the functions here open
 * one component after the other without following any link, with the same
 * results.
 *
 * Functions that can fail return -1 (or NULL) with errno.
 *
 * Threads: any, after the directory was made.
 */
#ifndef HPN_XFER_LOCAL_LOCAL_BENEATH_H
#define HPN_XFER_LOCAL_LOCAL_BENEATH_H

#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

struct local_beneath;

enum local_beneath_flag {
	LOCAL_BENEATH_LINKS = 1, /* follow links that lead to a place below the
				  * directory */
	LOCAL_BENEATH_WALK = 2,	 /* do as without openat2: for tests */
	LOCAL_BENEATH_OWN_WAY = 4, /* links on the way to the directory must be
				    * root's or this user's, too */
};

/* Opens the directory `path`, which the user has named, so links on the way to
 * it are followed. A link as its last part must be root's or this user's (else
 * ENOLINK); with LOCAL_BENEATH_OWN_WAY so must all links on the way. */
struct local_beneath *local_beneath_new(const char *path,
    unsigned flags) must_check;
/* A directory at a path below b, resolved by b's rules. Links are followed in
 * it only if both b and flags allow that. */
struct local_beneath *local_beneath_narrow(const struct local_beneath *b,
    const char *path, unsigned flags) must_check;
void local_beneath_free(struct local_beneath *b); /* NULL: nothing */

/* Like open(2), of a path below b; always close-on-exec. */
int local_beneath_open(const struct local_beneath *b, const char *path,
    int flags, mode_t mode) must_check;
/* Returns a descriptor of the directory in which the last part of a path lies.
 * name gets the last part, which is not followed if it is a link; it is "." if
 * the path ends in "." or "..", or is the root. *own is the descriptor if the
 * caller must close it, else -1. */
int local_beneath_parent(const struct local_beneath *b, const char *path,
    char name[NAME_MAX + 1], int *own) must_check;
/* The path without links and dots, from "/". Its last part may be missing, and
 * may be a link if links are not followed. The caller frees it. */
char *local_beneath_resolve(const struct local_beneath *b,
    const char *path) must_check;

#endif
