/* SPDX-License-Identifier: ISC */
/*
 * Deltas: of a file of a plan that replaces an old one, data that both have in
 * common is not sent. The *basis* is the old target, or a file that the order
 * names.
 *
 * For an upload the server tells sums of the basis (block-sums@hpnssh.org), the
 * new file is searched for them here, and the server copies the blocks that
 * were found from the basis to the part (copy-blocks@hpnssh.org). For a
 * download the server tells sums of the new file, the basis is searched for
 * them here, and blocks that were found are written to the part. The rest
 * becomes ranges of the file (file-progress.c), which move as those of any
 * copy.
 *
 * Each block is proven to be the new file's by sums of the very bytes that are
 * written, so the basis may change meanwhile. Only --verify also digests the
 * part; if its digest is wrong, the file is copied whole, once. Any failure,
 * also a wrong answer of the server, only has the effect that more is sent.
 *
 *  delta.c         the states of a file that is searched, and requests
 *  delta-work.c    the search, by threads
 *  delta-search.c  the search in a buffer
 *  delta-sums.c    sums, to be looked up
 *
 * Threads: one at a time, and those of delta-work.c.
 */
#ifndef HPN_XFER_DELTA_DELTA_H
#define HPN_XFER_DELTA_DELTA_H

#include "xfer/state/transfer-state.h"

enum { /* bytes; smaller files are sent whole */
	DELTA_FILE_MIN = 256 * 1024,
	DELTA_NAMED_MIN = 64 * 1024 + 1, /* the same if the order names a
					  * basis */
};

/* True if f has to wait, because too many files are searched. */
bool xfer_delta_waits(const struct xfer *x, const struct xfer_file *f);
/* Called when the OPEN of f's part, or of a download's source, was sent over l.
 * Opens the basis, too, if f may use one. */
void xfer_delta_open(struct xfer_file *f, struct xfer_stream *l);
/* Called when the part is open and empty. Asks for sums; all of the source then
 * counts as taken, and comes back as ranges. False: f is sent whole. */
bool xfer_delta_begin(struct xfer_file *f);
/* xfer_delta_is_over(): true if the search of f has ended with all its copies,
 * or there is none. The second function is also true while answers to copies
 * are under way: a server that keeps order gives those before the answers to
 * requests sent from now on. */
bool xfer_delta_is_over(const struct xfer_file *f);
bool xfer_delta_is_sent(const struct xfer_file *f);
/* True if the part has data of a basis. */
bool xfer_delta_has_copied(const struct xfer_file *f);
/* Ends the search of f; waits for a thread that is working on it. */
void xfer_delta_stop(struct xfer_file *f);
/* Takes the results of the threads, once in a turn of the loop. Without threads
 * it does a step of each search itself. */
void xfer_delta_collect(struct xfer *x);
/* Takes the next steps of all deltas. Returns a file that has got ranges, or
 * whose search has ended; the caller repeats this until NULL. */
struct xfer_file *xfer_delta_turn(struct xfer *x);
/* Milliseconds until a thread may have a result; -1: none works. */
int xfer_delta_wait_ms(const struct xfer *x);
void xfer_deltas_free(struct xfer *x);

#endif
