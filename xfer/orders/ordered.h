/* SPDX-License-Identifier: ISC */
/*
 * What a plan's orders (xfer/state/orders.h) ask for beside copies of files:
 * places below a root, directories, and deletes. Whoever takes the orders is
 * xfer/transfer/transfer-orders.c.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_ORDERS_ORDERED_H
#define HPN_XFER_ORDERS_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/state/orders.h"
#include "xfer/streams/transfer-stream.h"

/* order-places.c */
/* The way from a root to the directory that was asked for last. Orders follow
 * each other as in a walk of a tree, so most are in that directory or near. */
struct xfer_places {
	struct local_dir *root; /* holds a reference; NULL: no way yet */
	enum local_links links;
	struct xfer_step *steps; /* owned; downwards from the root */
	size_t n, room;
};

void xfer_places_free(struct xfer_places *p);
/* The directory in which the order's local path lies; *name is the path's last
 * part, within o->local. A path that is empty or "." is the root itself: then
 * *name is ".". The caller unrefs. NULL with errno; EINVAL: it is no path
 * below a root. */
struct local_dir *xfer_place_of(struct xfer_places *p,
    const struct xfer_order *o, const char **name) must_check;
/* The directory that the order's local path names. */
struct local_dir *xfer_place_dir(struct xfer_places *p,
    const struct xfer_order *o) must_check;
/* A name below the root is going to be another file, or none: the way does not
 * lead through it any more. */
void xfer_place_forget(struct xfer_places *p, const struct xfer_order *o);

#endif
