/* SPDX-License-Identifier: ISC */
/* Room at the target. Threads: one at a time. */
#ifndef HPN_XFER_TREES_TRANSFER_SPACE_H
#define HPN_XFER_TREES_TRANSFER_SPACE_H

#include "xfer/streams/transfer-stream.h"

/* transfer-space.c */
/* Counts f, which was found, among the files that need room. */
void xfer_space_add(struct xfer_file *f);
/* Notes the root of a tree when its listing begins: whether the whole tree fits
 * is decided once, at its end. Other directories are passed over. */
void xfer_space_tree(struct xfer_dir *d);
/* Asks for the free space, if that is due, and decides whether a tree fits when
 * all of it is listed. */
void xfer_space_turn(struct xfer *x);
/* f, of whose target all is known, is about to move data. False: it does not
 * fit, which was reported, and the run ends. */
bool xfer_space_fits(struct xfer_file *f);
void xfer_space_free(struct xfer *x);
/* A server has refused to write: reports why, when that is known. */
void xfer_write_refused(struct xfer_file *f, const struct sftp_reply *reply);

#endif
