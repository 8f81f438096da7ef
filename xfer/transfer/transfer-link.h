/* SPDX-License-Identifier: ISC */
/*
 * What the sources that make links have in common.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_LINK_H
#define HPN_XFER_TRANSFER_TRANSFER_LINK_H

#include "xfer/transfer/transfer-file.h"

/* transfer-links.c */
/* May a link take the place of what has its name? */
bool xfer_link_may_replace(const struct xfer_file *f, mode_t mode);
/* Begins a step at the server, and sends its request. */
void xfer_link_begin(struct xfer_file *f, enum xfer_link_step step,
    const struct xfer_path_request *q);
void xfer_link_look(struct xfer_file *f, enum xfer_link_step step,
    const char *name);
/* The file has ended; if it has failed, a backup gets its name back. */
void xfer_link_ends(struct xfer_file *f, bool ok);
/* Was the last step done? */
bool xfer_link_is_done(const struct xfer_file *f);
/* The file fails, for what the last answer says. */
void xfer_link_fails(struct xfer_file *f);
/* The target's name is there: sets what attributes it does not have yet. */
void xfer_link_made(struct xfer_file *f);

/* transfer-move.c */
/* Moves the file that the order's link names to the target's name. */
void xfer_move_start(struct xfer_file *f);
/* Takes the answer to a step of that. False: the step is another one's. */
bool xfer_move_continue(struct xfer_file *f, enum xfer_link_step step);

#endif
