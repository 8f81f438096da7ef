/* SPDX-License-Identifier: ISC */
/*
 * A plan that comes from elsewhere, in place of the engine's own walk of a
 * tree: whoever has compared two trees says file by file what is to be done
 * (xfer/state/orders.h). Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_ORDERS_H
#define HPN_XFER_TRANSFER_TRANSFER_ORDERS_H

#include <stdbool.h>

#include "base/err.h"
#include "xfer/state/orders.h"

struct xfer;

/*
 * Has xfer_run() carry out a plan: it takes orders as there is room for files.
 * Deletes wait for the end of all orders before them, and are not made if
 * anything has failed by then (unless opts.delete_anyway is set): a name that
 * is to be deleted may have the only copy of the data. Each order that was
 * taken ends within the run. orders is borrowed until the run ends.
 */
int xfer_follow(struct xfer *x, bool up,
    const struct xfer_orders *orders) must_check;

#endif
