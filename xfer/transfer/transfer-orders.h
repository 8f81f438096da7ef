/* SPDX-License-Identifier: ISC */
/*
 * A plan that comes from elsewhere, in place of the engine's own walk of a
 * tree: whoever has compared two trees says file by file what is to be done.
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_ORDERS_H
#define HPN_XFER_TRANSFER_TRANSFER_ORDERS_H

#include <stdbool.h>

#include "base/err.h"
#include "xfer/sftp/sftp-engine.h"

struct local_dir;
struct xfer;
struct xfer_exact;

enum xfer_order_kind {
	XFER_ORDER_COPY,
	/* The target has the source's data: it gets mode and times (with
	 * xfer_opts.preserve). One that cannot be read is copied. */
	XFER_ORDER_ATTRS,
	/* A name of the target, which is no directory; an empty directory.
	 * These come last, what is in a directory before it. What is gone
	 * already is no failure. */
	XFER_ORDER_DELETE,
	XFER_ORDER_DELETE_DIR,
};

struct xfer_order {
	enum xfer_order_kind kind;
	const char *local, *remote; /* one of them is NULL of a delete */
	/* Where the local one is, of whose path only the last name counts
	 * then. Borrowed; NULL: where the path says; not of a delete. */
	struct local_dir *at;
	const struct sftp_attrs *attrs; /* of the source */
	const struct xfer_exact *exact; /* NULL: unknown */
};

struct xfer_orders {
	/* 1: the next one, good until the next call. 0: there are no more.
	 * ERR_*: the plan is not whole; what it has had is done, but nothing
	 * is deleted. */
	int (*next)(void *arg, struct xfer_order *out);
	void *arg;
};

/*
 * xfer_run() does what the plan has, taking orders as there is room for files.
 * Nothing is deleted before all else has ended, nor when anything has failed
 * by then: what is deleted may have been copied to another name. Borrowed until
 * the run ends.
 */
int xfer_follow(struct xfer *x, bool up,
    const struct xfer_orders *orders) must_check;

#endif
