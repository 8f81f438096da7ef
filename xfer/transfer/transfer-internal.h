/* SPDX-License-Identifier: ISC */
/*
 * The inside of the transfer engine: how files are moved. Their state is in
 * xfer/state/; xfer/trees/ finds them. The functions that a source offers to
 * others are in the header of its subject.
 *
 *  transfer.c          life of a transfer, its queue and its loop
 *  transfer-file.c     life of a file
 *  transfer-orders.c   orders of a plan made elsewhere
 *  transfer-handles.c  a file's handles at the server
 *  transfer-data.c     blocks of data
 *  transfer-local.c    sources that are files of this host
 *  transfer-between.c  sources that are files of a second host
 *  transfer-small.c    files of one request, or of one flight
 *  transfer-sparse.c   holes
 *  transfer-finish.c   the tail: what follows when all data is sent
 *  transfer-part.c     the part, and whether it may replace the target
 *  transfer-name.c     which name the part takes
 *  transfer-owner.c    whose an old part at the server is
 *  transfer-rename.c   the part gets the target's name
 *  transfer-refused.c  servers that rename nothing
 *  transfer-reuse.c    what is used of an old target or part
 *  transfer-resume.c   comparisons of both ends, and marks
 *  transfer-digest.c   digests of this end
 *  transfer-retry.c    the end of streams, and what follows it
 *  transfer-late.c     what a silent stream may still do
 *  transfer-found.c    what is asked of target and old part
 *  transfer-links.c    symbolic and hard links
 *  transfer-move.c     files that are renamed in place of a link
 *  transfer-hash.c     digests of whole files
 *  transfer-kept.c     what an interrupted copy leaves, and where the time
 *                      went
 *
 * Callbacks of requests only note what has happened (xfer_file_touch). The loop
 * alone moves files from state to state and frees them, because a request may
 * fail, and call back, while it is being made.
 *
 * When a stream ends, each of its requests calls back with an error. These
 * callbacks only count down and give ranges back; the loop then has another
 * stream do the work (xfer_streams_check).
 *
 * Threads: one at a time, and those of transfer-digest.c and transfer-hash.c,
 * which read files.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H
#define HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H

#include "xfer/orders/ordered.h"
#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-compare.h"
#include "xfer/transfer/transfer-file.h"
#include "xfer/transfer/transfer-handle.h"
#include "xfer/transfer/transfer-orders.h"
#include "xfer/transfer/transfer-part.h"
#include "xfer/trees/transfer-dir.h"
#include "xfer/trees/transfer-space.h"

extern const struct xfer_origin_ops xfer_local_origin;
extern const struct xfer_origin_ops xfer_unread_origin;

/* transfer.c */
/* The function `file` of struct xfer_found_ops. */
int xfer_add_file(struct xfer *x, struct xfer_dir *dir,
    const struct xfer_found *found) must_check;

/* transfer-orders.c */
/* Takes orders from the plan, as there is room for files. True: there was at
 * least one. */
bool xfer_orders_turn(struct xfer *x);
/* Are all orders of the plan carried out? */
bool xfer_orders_done(const struct xfer *x);
void xfer_orders_free(struct xfer *x);
/* Must f wait for the directory that it is made in? */
bool xfer_orders_wait(const struct xfer *x, const struct xfer_file *f);
/* f is about to be freed: its order, if it has one, has ended. */
void xfer_orders_file_ended(struct xfer_file *f);

#endif
