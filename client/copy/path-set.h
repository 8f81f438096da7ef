/* SPDX-License-Identifier: ISC */
/*
 * A set of paths that another host tells, each with a number. It keeps a digest
 * of each path in place of the path, so a member takes 32 to 64 bytes, and
 * nobody can choose paths that are taken for one another.
 *
 * Threads: one at a time.
 */
#ifndef HPN_CLIENT_COPY_PATH_SET_H
#define HPN_CLIENT_COPY_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_row;

/* Zeroed: empty. Clear with path_set_clear(). */
struct path_set {
	struct path_row *v;
	size_t n, size; /* members; rows, a power of two */
};

/* Adds a path, or gives the one that is there another number. Ends the program
 * when out of memory. */
void path_set_put(struct path_set *s, const char *path, uint64_t number);
/* number may be NULL. */
bool path_set_has(const struct path_set *s, const char *path,
    uint64_t *number);
void path_set_clear(struct path_set *s);

#endif
