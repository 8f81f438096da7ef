/* SPDX-License-Identifier: ISC */
/*
 * Parts of paths, taken from the text alone.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_PATH_H
#define HPN_BASE_PATH_H

#include <stddef.h>
#include <string.h>

/* The last part of a path: the text behind its last slash. */
static inline const char *
path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The length of a path before its last slash: 0 for "a" and for "/a". */
static inline size_t
path_parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? (size_t)(slash - path) : 0;
}

/* The directory of a path: "a" for "a/b", "." for "a", "/" for "/a". Slashes at
 * the end are ignored. The caller frees it; NULL: no memory. */
char *path_parent(const char *path);

#endif
