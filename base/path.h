/* SPDX-License-Identifier: ISC */
/*
 * Parts of paths, as text: nothing here asks a file system.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_PATH_H
#define HPN_BASE_PATH_H

#include <stddef.h>
#include <string.h>

/* The last name of a path: what is behind its last slash. */
static inline const char *
path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Bytes of a path before its last slash: 0 of "a" and of "/a". */
static inline size_t
path_parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? (size_t)(slash - path) : 0;
}

/* The directory that a path is in: "a" of "a/b", "." of "a", "/" of "/a".
 * Slashes at the end do not count. The caller frees it; NULL: no memory. */
char *path_parent(const char *path);

#endif
