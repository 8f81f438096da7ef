/* SPDX-License-Identifier: ISC */
/*
 * Inside of the local tree: what its files share.
 *
 *	local-tree.c	directories, and what is done in them
 *	local-open.c	opening one name, and what a link may lead to
 *	local-beneath.c	paths of a peer, below one directory
 */
#ifndef HPN_XFER_LOCAL_LOCAL_INTERNAL_H
#define HPN_XFER_LOCAL_LOCAL_INTERNAL_H

#include "xfer/local/local-tree.h"

/* Like openat(2), of a name; a link is followed only if the rule allows it.
 * Always close-on-exec. */
int local_open_at(int at, const char *name, int flags, mode_t mode,
    enum local_links rule);
/* Opens a directory by a path that the user has named. If its last part is a
 * link, it is followed only if the rule allows it. */
int local_open_root(const char *path, enum local_links rule);

#endif
