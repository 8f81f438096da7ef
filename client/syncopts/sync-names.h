/* SPDX-License-Identifier: ISC */
/*
 * Which trees a command line of hpnsync names, and where each of them goes:
 * "dir/" is what is in dir, "dir" is dir itself, and files are names of their
 * directory. With -R and --files-from paths keep their directories.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNCOPTS_SYNC_NAMES_H
#define HPN_CLIENT_SYNCOPTS_SYNC_NAMES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "compat/queue.h"

enum sync_kind { SYNC_KIND_MISSING, SYNC_KIND_DIR, SYNC_KIND_OTHER };

/* A tree that is made the same as another one, or names of a directory. */
struct sync_root {
	struct strlist sources; /* paths of the tops; several: their union */
	char *mount;		/* below the target: "" or "name" or "a/b" */
	/* Only these names below the one source, in the order of a walk. */
	struct strlist names;
	bool names_only;
	char *as; /* name of the only source at the target; NULL: its own */
	TAILQ_ENTRY(sync_root) entry;
};
TAILQ_HEAD(sync_roots, sync_root);

struct sync_names {
	bool recursive, dirs, relative, implied_dirs;
	/* The kind of a source. A link is a link, unless path ends in a slash:
	 * then it is what the link leads to. */
	enum sync_kind (*kind)(void *arg, const char *path);
	void (*missing)(void *arg, const char *path);
	void (*skipped)(void *arg, const char *path);
	void *arg;
};

/* Adds a source to the roots. 0 or ERR_NOMEM. */
int sync_names_add(struct sync_roots *roots, const struct sync_names *n,
    const char *path) must_check;
/* Adds the paths of --files-from below top, each one line or ended by a zero
 * byte. ERR_SYNTAX: one leads out of top. */
int sync_names_add_list(struct sync_roots *roots, const struct sync_names *n,
    const char *top, const char *text, size_t len, bool from0) must_check;
/* Puts names in the order of a walk, each once. */
int sync_names_finish(struct sync_roots *roots) must_check;
void sync_names_remove(struct sync_roots *roots, struct sync_root *r);
void sync_names_clear(struct sync_roots *roots);

#endif
