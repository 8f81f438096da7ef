/* SPDX-License-Identifier: ISC */
/*
 * Tells when this host's addresses or routes change, as when a laptop comes to
 * another network. What has changed is for the caller to find out.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_NETWATCH_H
#define HPN_BASE_NETWATCH_H

#include <stdbool.h>

#include "base/loop.h"

struct netwatch;

/* changed() is called a moment after one change or several. NULL: this system
 * does not tell. */
struct netwatch *netwatch_new(struct loop *l, loop_fn changed, void *arg);
void netwatch_free(struct netwatch *w); /* NULL is fine */

/* Does this host still have the address that the socket fd is bound to? True,
 * too, if that cannot be told. */
bool netwatch_has_address(int fd);

#endif
