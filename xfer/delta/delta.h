/* SPDX-License-Identifier: ISC */
/*
 * A file of a plan that is copied over an old one: what both have in common is
 * not sent. The *basis* is the old target, or a file that the order names.
 *
 * Of an upload the server tells sums of the basis (block-sums@hpnssh.org), the
 * new file is searched for them here, and the server copies what was found from
 * the basis to the part (copy-blocks@hpnssh.org). Of a download the server
 * tells sums of the new file, the basis is searched for them here, and what was
 * found is written to the part. What was not found becomes ranges of the file
 * (file-progress.c), which move as those of any copy. Blocks of the basis are
 * proven to be the new file's by sums of the very bytes that are written, so
 * the basis may change meanwhile. Only --verify digests the part besides; if
 * that is not the same, the file is copied whole, once.
 *
 * Whatever fails here, a server's answers too, only makes more to be sent.
 *
 *	delta.c		the states of a file that is searched, and requests
 *	delta-work.c	the search, by threads
 *	delta-search.c	the search in a buffer
 *	delta-sums.c	sums, to be looked up
 *
 * Threads: one at a time, and those of delta-work.c.
 */
#ifndef HPN_XFER_DELTA_DELTA_H
#define HPN_XFER_DELTA_DELTA_H

#include "xfer/state/transfer-state.h"

enum { /* bytes; smaller files are sent whole */
	DELTA_FILE_MIN = 256 * 1024,
	DELTA_NAMED_MIN = 64 * 1024 + 1, /* where an order names a basis */
};

/* Must f wait until fewer files are searched? */
bool xfer_delta_waits(const struct xfer *x, const struct xfer_file *f);
/* The OPEN of f's part, or of a download's source, was sent over l: opens the
 * basis, too, if f has one that may be used. */
void xfer_delta_open(struct xfer_file *f, struct xfer_stream *l);
/* The part is open, and nothing in it: asks for sums. All of the source counts
 * as taken then, and comes back as ranges. False: f is sent whole. */
bool xfer_delta_begin(struct xfer_file *f);
/* Has the search of f ended, with what it has copied, or is there none? The
 * other function: so it is but for answers to copies, which a server that
 * keeps order gives before those to what is sent from now on. */
bool xfer_delta_is_over(const struct xfer_file *f);
bool xfer_delta_is_sent(const struct xfer_file *f);
/* Does the part have data of a basis? */
bool xfer_delta_has_copied(const struct xfer_file *f);
/* Ends it; waits for a thread that has it in hand. */
void xfer_delta_stop(struct xfer_file *f);
/* Takes what threads have found; once in a turn of the loop, which itself does
 * a step of each search if there are no threads. */
void xfer_delta_collect(struct xfer *x);
/* Does the next steps of all. Returns a file that has got ranges, or whose
 * search has ended; called again until NULL. */
struct xfer_file *xfer_delta_turn(struct xfer *x);
/* Milliseconds until a thread may have something; -1: none works. */
int xfer_delta_wait_ms(const struct xfer *x);
void xfer_deltas_free(struct xfer *x);

#endif
