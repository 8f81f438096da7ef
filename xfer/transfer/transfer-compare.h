/* SPDX-License-Identifier: ISC */
/* What is used of what is at the target already: comparisons of both ends,
 * digests and marks. Threads: one at a time, and those of transfer-digest.c. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_COMPARE_H
#define HPN_XFER_TRANSFER_TRANSFER_COMPARE_H

#include "xfer/state/transfer-state.h"

/* transfer-reuse.c */
/* A regular file that is not empty. */
bool xfer_is_full_file(const struct sftp_attrs *a);
/* True: listings have told that it is complete, and it is done. */
bool xfer_reuse_listed(struct xfer_file *f);
/* May there be something that a copy goes on from? Of a download it is known
 * what is at the target. */
bool xfer_may_resume(const struct xfer_file *f);
/* What is at the target, and what is the file's own part, is known: takes what
 * is good of them, and opens what is to be opened. */
void xfer_reuse_begin(struct xfer_file *f);

/* transfer-resume.c */
/* Compares the first size bytes of both ends; touches the file at the
 * end. */
void xfer_compare_start(struct xfer_file *f, int why, uint64_t size);
void xfer_compare_stop(struct xfer_file *f);
void xfer_compare_issue(struct xfer *x);
/* Bytes of the request b are the same at both ends, or not. */
void xfer_compared(struct xfer_block *b, uint64_t offset, uint32_t len,
    bool same);
/* Marks of what is whole, behind the data of a part, for servers that have
 * no digests. */
void xfer_marks_start(struct xfer_file *f);
void xfer_marks_moved(struct xfer_block *b, uint32_t len);
/* Bytes of chunks that are marked. */
uint64_t xfer_marks_kept(const struct xfer_file *f);
/* Reads what an earlier run left; then the data may move. */
void xfer_marks_read(struct xfer_file *f);
/* Before the file is queued to go on: has its part all data? */
void xfer_whole_learn(struct xfer_file *f);
/* Is what is at the part's name that part? */
bool xfer_is_whole(const struct xfer_file *f);
/* Is the old part read, to be compared? No digests, and no marks. */
bool xfer_part_is_read(const struct xfer_file *f);

/* transfer-digest.c */
/* Compares what is at offset with their digest; the result goes to
 * xfer_compared(). False: no memory, or XFER_DIGESTS_MAX are waiting. */
bool xfer_digest_post(struct xfer_block *b, uint64_t offset, uint32_t len,
    const uint8_t *theirs) must_check;
/* True: there is nothing but a hole, which has been compared at once. */
bool xfer_digest_of_hole(struct xfer_file *f, uint64_t offset, uint32_t len,
    const uint8_t *theirs, bool *same);
/* Wakes the threads, after one or more were posted. */
void xfer_digest_kick(struct xfer *x);
/* Passes on what is ready, without waiting; drain waits for all. */
void xfer_digest_collect(struct xfer *x);
void xfer_digest_drain(struct xfer *x);
/* Milliseconds until there may be something to collect; -1: nothing waits. */
int xfer_digest_wait_ms(const struct xfer *x);
void xfer_digest_free(struct xfer *x);

#endif
