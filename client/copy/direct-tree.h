/* SPDX-License-Identifier: ISC */
/*
 * The tree that a copy from host to host has brought to its new directory
 * (direct.h), as the target's host tells it to the user's login there.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_TREE_H
#define HPN_CLIENT_COPY_DIRECT_TREE_H

#include "client/copy/scp-hosts.h"
#include "xfer/sftp/walk-format.h"

/* Is called for each name, with its path from the top on. WALK_UNKNOWN: it
 * cannot be looked at, or read. */
typedef void (*direct_tree_fn)(void *arg, const char *path,
    enum walk_kind kind);

/* Tells fn of all names below the top; after a lost connection some may come
 * twice. False: not all could be told. */
bool direct_tree_list(struct scp *scp, struct scp_host *host, const char *top,
    direct_tree_fn fn, void *arg);

#endif
