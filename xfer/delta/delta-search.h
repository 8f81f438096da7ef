/* SPDX-License-Identifier: ISC */
/*
 * The search: finds blocks of one file, of which only sums are known, in
 * another file that is read. A weak sum moves along byte by byte; where some
 * block has that weak sum, the strong sum decides. Sums that belong to no block
 * cannot cause unlimited work: no more bytes are hashed in vain than were
 * scanned. Positions beyond that are not looked up, so some blocks may not be
 * found.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_DELTA_DELTA_SEARCH_H
#define HPN_XFER_DELTA_DELTA_SEARCH_H

#include "xfer/delta/delta-sums.h"

/* A run of blocks that follow each other in both files. */
struct delta_run {
	uint64_t at;	/* offset of the first block in the file that is read */
	uint32_t block; /* number of the first */
	uint32_t count;
};

enum { DELTA_RUNS_MAX = 1024 }; /* of a step */

struct delta_search {
	const struct delta_sums *sums; /* borrowed */
	struct poly1305 *poly;	       /* owned */
	uint64_t at;	     /* offset of the next byte to look at */
	uint32_t weak;	     /* weak sum of the bytes there, if weak_known */
	bool weak_known, failed;
	uint32_t expected;   /* the block behind the one that was found last */
	uint32_t leaves[256]; /* for each value of a byte: what the weak sum
			       * loses when such a byte leaves it */
	uint64_t credit;     /* bytes that may still be hashed in vain */
	/* For tests: positions that the weak sum has moved, bytes that were
	 * hashed, and sums that were looked at. */
	uint64_t rolled, hashed, steps;
	uint32_t runs;
	struct delta_run run[DELTA_RUNS_MAX];
};

/* Makes a search; the sums have to be indexed. NULL: no memory, or no
 * Poly1305. */
struct delta_search *delta_search_new(const struct delta_sums *sums);
void delta_search_free(struct delta_search *search); /* NULL: nothing */
/* Searches the next bytes of the file, as far as there are whole blocks, and
 * room for runs in search->run; the caller sets search->runs to 0 before.
 * Returns the number of bytes that are done: the next call has to begin behind
 * them. 0: more bytes are needed. */
size_t delta_search_scan(struct delta_search *search, const uint8_t *p,
    size_t len) must_check;

#endif
