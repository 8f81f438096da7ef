/* SPDX-License-Identifier: ISC */
/* What is used of what is at the target already: comparisons of both ends,
 * digests and marks. Threads: one at a time, and those of transfer-digest.c. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_COMPARE_H
#define HPN_XFER_TRANSFER_TRANSFER_COMPARE_H

#include "xfer/state/transfer-state.h"

/* transfer-reuse.c */
/* A regular file that is not empty. */
bool xfer_is_full_file(const struct sftp_attrs *a);
/* Does a listing tell that the target is complete? True: the file is done. */
bool xfer_reuse_listed(struct xfer_file *f);
/* May there be an old part or target that the copy goes on from? Of a download
 * both have been looked at. */
bool xfer_may_resume(const struct xfer_file *f);
/* The target and the old part are known: decides what of them is used, and
 * opens the file that data goes to. */
void xfer_reuse_begin(struct xfer_file *f);

/* transfer-resume.c */
/* Compares the first size bytes of both ends; touches the file at the
 * end. */
void xfer_compare_start(struct xfer_file *f, int why, uint64_t size);
void xfer_compare_stop(struct xfer_file *f);
void xfer_compare_issue(struct xfer *x);
/* Digests of len bytes at offset, which request b was for, were compared. same:
 * both ends have the same data there. */
void xfer_compared(struct xfer_block *b, uint64_t offset, uint32_t len,
    bool same);
/* Marks of what is whole, behind the data of a part, for servers that have
 * no digests. */
void xfer_marks_start(struct xfer_file *f);
void xfer_marks_moved(struct xfer_block *b, uint32_t len);
/* Bytes of the part that lie in chunks marked as whole. */
uint64_t xfer_marks_kept(const struct xfer_file *f);
/* Reads what an earlier run left; then the data may move. */
void xfer_marks_read(struct xfer_file *f);
/* Called before the file is queued to go on over another stream: sets f->whole
 * if its part has all data. */
void xfer_whole_learn(struct xfer_file *f);
/* Must the old part be read back to be compared? The server has no digests, and
 * the part, which is not longer than the source, has no marks. */
bool xfer_part_is_read(const struct xfer_file *f);

/* transfer-digest.c */
/* Has a thread compare len bytes of this end at offset with theirs, the
 * server's digest; the result goes to xfer_compared(). False: no memory, or
 * XFER_DIGESTS_MAX are waiting. */
bool xfer_digest_post(struct xfer_block *b, uint64_t offset, uint32_t len,
    const uint8_t *theirs) must_check;
/* Are the len bytes at offset nothing but a hole? True: *same says whether the
 * digest is that of so many zeros. */
bool xfer_digest_of_hole(struct xfer_file *f, uint64_t offset, uint32_t len,
    const uint8_t *theirs, bool *same);
/* Wakes the threads, after one or more calls of xfer_digest_post(). */
void xfer_digest_kick(struct xfer *x);
/* Passes on the results that are ready, without waiting; drain waits for all
 * results. */
void xfer_digest_collect(struct xfer *x);
void xfer_digest_drain(struct xfer *x);
/* Milliseconds until there may be something to collect; -1: nothing waits. */
int xfer_digest_wait_ms(const struct xfer *x);
void xfer_digest_free(struct xfer *x);

/* transfer-hash.c */
/* Keeps f, which is done, until its digest is computed, and then frees it.
 * False: no digest is wanted. */
bool xfer_hash_takes(struct xfer_file *f);
/* Gives files to the threads and takes results. True: a file has ended. */
bool xfer_hash_turn(struct xfer *x);
size_t xfer_hash_count(const struct xfer *x); /* files that wait */
int xfer_hash_wait_ms(const struct xfer *x);
void xfer_hash_free(struct xfer *x);

#endif
