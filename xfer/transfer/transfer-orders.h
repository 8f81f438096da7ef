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
 * xfer_run() does what the plan has, taking orders as there is room for files.
 * Nothing is deleted before all that was ordered before has ended, nor when
 * anything has failed by then: what is deleted may have been copied to another
 * name. (Unless opts.delete_anyway says so.) Each order that was taken ends
 * within the run. Borrowed until the run ends.
 */
int xfer_follow(struct xfer *x, bool up,
    const struct xfer_orders *orders) must_check;

#endif
