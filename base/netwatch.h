/* SPDX-License-Identifier: ISC */
/*
 * Reports when this host's addresses or routes change, for instance when a
 * laptop joins another network. The caller has to find out what has changed.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_NETWATCH_H
#define HPN_BASE_NETWATCH_H

#include <stdbool.h>

#include "base/loop.h"

struct netwatch;

/* Begins to watch; changed() is called a moment after one or several changes.
 * NULL: the system does not report them. */
struct netwatch *netwatch_new(struct loop *l, loop_fn changed, void *arg);
void netwatch_free(struct netwatch *w); /* NULL is fine */

/* Does this host still have the address that the socket fd is bound to? True,
 * too, if that cannot be told. */
bool netwatch_has_address(int fd);

#endif
