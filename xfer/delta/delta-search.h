/* SPDX-License-Identifier: ISC */
/*
 * The search for blocks of one file, of which only sums are known, in another
 * one that is read. A weak sum moves along byte by byte; where a block has that
 * one, the strong sum decides. What sums that are no block's can cost is
 * bounded: so many bytes as were scanned may be hashed in vain, and what is
 * over that is not looked up, which only means that some blocks are not found.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_DELTA_DELTA_SEARCH_H
#define HPN_XFER_DELTA_DELTA_SEARCH_H

#include "xfer/delta/delta-sums.h"

/* Blocks that follow each other, in both files. */
struct delta_run {
	uint64_t at;	/* offset in the file that is read */
	uint32_t block; /* number of the first */
	uint32_t count;
};

enum { DELTA_RUNS_MAX = 1024 }; /* of a step */

struct delta_search {
	const struct delta_sums *sums; /* borrowed */
	struct poly1305 *poly;	       /* owned */
	uint64_t at;	     /* offset of the byte that is looked at next */
	uint32_t weak;	     /* of the block there, if weak_known */
	bool weak_known, failed;
	uint32_t expected;   /* block that follows the one found last */
	uint32_t leaves[256]; /* what a byte has to be taken off with */
	uint64_t credit;     /* bytes that may be hashed in vain */
	/* For tests: bytes that the weak sum has moved, that were hashed, and
	 * sums that were looked at. */
	uint64_t rolled, hashed, steps;
	uint32_t runs;
	struct delta_run run[DELTA_RUNS_MAX];
};

/* The sums are indexed. NULL: no memory, or no Poly1305. */
struct delta_search *delta_search_new(const struct delta_sums *sums);
void delta_search_free(struct delta_search *search); /* NULL: nothing */
/* Searches in the next bytes of the file, as far as whole blocks are there and
 * there is room for what is found, search->run; the caller sets search->runs to
 * 0 before. Returns how many are done with: the next call has to begin behind
 * them. 0: more are needed. */
size_t delta_search_scan(struct delta_search *search, const uint8_t *p,
    size_t len) must_check;

#endif
