/* SPDX-License-Identifier: ISC */
/*
 * Places at the target's host of a copy from host to host (direct.h): where
 * what is copied belongs, the new directory that it comes to first, and its way
 * from there. All that can be asked together is: it costs the user's program
 * few round trips.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_PLACES_H
#define HPN_CLIENT_COPY_DIRECT_PLACES_H

#include <stdbool.h>

#include "client/copy/path-set.h"
#include "client/copy/scp-hosts.h"

struct direct_places {
	struct scp *scp;
	struct scp_host *to;
	const char *dir; /* the target; borrowed */
	bool is_dir;	 /* things go into it, else they get its name */
	char *parent;	 /* where the new directory is made, without links */
	/* The new directory, and the one around it. Both have a name that
	 * nobody can guess; those of others who may write to the parent see the
	 * outer one's, but cannot read it. So another directory of the user's
	 * own that they put in its place has no such name in it. NULL: not
	 * made. */
	char *outer, *inner;
	struct path_set held; /* names in it that are not moved */
	/* Each name in it that is moved has to be one of these; NULL: any may
	 * be. */
	const struct path_set *told;
};

#define DIRECT_NO_DIGEST "its host has told no digest of it"

/* The last part of a source's path. The caller frees it. */
char *direct_name_of(const char *path);
/* Looks at the places that the sources will have. The reason (static) why what
 * is copied cannot be moved to one of them in one step; NULL: it can. */
const char *direct_places_look(struct direct_places *p,
    const struct xfer_target *sources, int n);
/* Makes the new directory. False: it was reported why not. */
bool direct_places_make(struct direct_places *p);
/* The path at the target where the file with this path in the new directory
 * belongs. The caller frees it. */
char *direct_places_final(const struct direct_places *p, const char *path);
/* Has the name in the new directory that path is, or is below, stay there
 * instead of being moved. False: it was to stay already. */
bool direct_places_hold(struct direct_places *p, const char *path);
/* Moves what was copied from the sources out of the new directory to where it
 * belongs. What cannot be moved is reported. */
void direct_places_move(struct direct_places *p,
    const struct xfer_target *sources, int n);
/* Removes the new directory, if nothing is in it. */
bool direct_places_remove_empty(struct direct_places *p);
/* Frees p. The new directory is removed if nothing is in it, else the user is
 * told that it is left. */
void direct_places_end(struct direct_places *p);

#endif
