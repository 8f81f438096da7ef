/* SPDX-License-Identifier: ISC */
/* The steps that a file takes. Threads: one at a time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_FILE_H
#define HPN_XFER_TRANSFER_TRANSFER_FILE_H

#include "xfer/state/transfer-state.h"

/* Events of the phases that this room owns (xfer/state/transfer-events.h). */
/* transfer-sparse.c */
void xfer_holes_forget(struct xfer_file *f);
/* Before that offset the target held data. */
void xfer_holes_occupied(struct xfer_file *f, uint64_t until);

/* transfer-resume.c */
void xfer_marks_free(struct xfer_file *f);
void xfer_compare_forget(struct xfer_file *f);

/* transfer-finish.c */
void xfer_tail_forget(struct xfer_file *f);
void xfer_tail_written(struct xfer_file *f, const struct sftp_attrs *attrs);

/* transfer-rename.c */
void xfer_renaming_forget(struct xfer_file *f);
void xfer_renaming_again(struct xfer_file *f);

/* transfer-links.c, transfer-small.c */
void xfer_link_free(struct xfer_file *f);
void xfer_small_free(struct xfer_file *f);

/* transfer-file.c */
void xfer_file_start(struct xfer_file *f);
/* The loop alone calls this: moves those on to which something has happened.
 * False: there was none. */
bool xfer_files_settle(struct xfer *x);
/* What is at the target is known: decides how much of it is used, and opens. */
void xfer_file_choose_reuse(struct xfer_file *f);
/* There was no descriptor for f. True: it waits for those that others hold, and
 * fewer are under way from now on; the caller queues it again. */
bool xfer_file_wait_for_fds(struct xfer_file *f, int error);
/* Back to the queue, in front. */
void xfer_file_requeue(struct xfer_file *f);
/* Begins anew. resume: with what is at the target by then. */
void xfer_file_restart(struct xfer_file *f, bool resume);
void xfer_file_free(struct xfer_file *f);
/* The run was stopped: the file fails when its answers have come. */
void xfer_file_stop(struct xfer_file *f);
/* It has succeeded or failed, and no request is under way any more. */
void xfer_file_done(struct xfer_file *f);
/* All that is asked of the source is answered. */
void xfer_file_begin(struct xfer_file *f);
/* Opens what is read, or what data goes to. */
void xfer_file_open(struct xfer_file *f);
/* transfer-found.c */
/* Asks the server what has the target's name, and the part's. */
void xfer_target_stat(struct xfer_file *f);

/* transfer-finish.c */
/* All data is sent, or requested: takes the next step towards CLOSE. */
void xfer_file_sent(struct xfer_file *f);
/* The source ended before its size; size: what it has by now, or the one that
 * was expected if it does not tell. The file is touched. */
void xfer_source_ended(struct xfer_file *f, uint64_t size);
/* Sends the next step of the tail, or all that are left. */
void xfer_tail_continue(struct xfer_file *f);
/* A comparison of the target, or to verify, has ended. */
void xfer_file_compared(struct xfer_file *f, int why);
/* The data of a small file is at its target or (download) in f->fd; or the
 * file has failed. */
void xfer_file_arrived(struct xfer_file *f);

/* transfer-links.c */
/* Copies a symbolic link. */
void xfer_symlink_start(struct xfer_file *f);
/* True: another name of the file is there, or will be, and f becomes a link
 * to it. */
bool xfer_hard_start(struct xfer_file *f);
/* f is done: its other names, which waited for it, are queued. */
void xfer_hard_done(struct xfer_file *f);
void xfer_hard_free(struct xfer *x);

/* transfer-sparse.c */
/* Before data moves. */
void xfer_sparse_start(struct xfer_file *f);
/* Upload: skips a hole. False: there is data, *len bytes at most. */
bool xfer_sparse_skip(struct xfer_handle *e, uint32_t *len);
/* Download: writes what is not zeros. False: errno. */
bool xfer_sparse_write(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset);

/* transfer-small.c */
/* True: it is being moved as a small file. */
bool xfer_small_start(struct xfer_file *f);
/* True: it may be moved so later, but enough is under way now, or it is not
 * known yet what the server can do. */
bool xfer_small_waits(struct xfer *x, const struct xfer_file *f);

/* transfer-between.c: all of it does nothing if there is no second host. */
/* ERR_*: one of the two sessions is over, and both are now, so that no request
 * refers to the transfer any more. */
int xfer_between_check(struct xfer *x) must_check;
/* How many files may be open at a time. */
size_t xfer_between_files(const struct xfer *x);
/* Is the target the source? Only where both are on one machine, which tells. */
bool xfer_between_same(const struct xfer_file *f);
void xfer_between_free(struct xfer *x);

/* transfer-retry.c */
/* The stream is over, and with it the file's handle on it. */
void xfer_file_lost(struct xfer_file *f, struct xfer_stream *stream);
/* Its handles are lost: it is queued, to go on over another stream, unless
 * answers are still under way. */
void xfer_file_go_on(struct xfer_file *f);

/* transfer-kept.c */
/* f is over: counts what is kept of it. */
void xfer_file_keeps(struct xfer_file *f);
/* Before it begins anew: what of it is kept until then. */
void xfer_file_note_kept(struct xfer_file *f);

/* transfer-retry.c */
/* Gives the work of ended streams to others; opens streams anew when all are
 * lost. ERR_*: no stream is left. */
int xfer_streams_check(struct xfer *x) must_check;
/* Asks something of those that owe no answer. */
void xfer_streams_probe(struct xfer *x);

/* transfer-late.c */
/* True: l, which is over, may still write the part of f; so f waits. */
bool xfer_late_begins(struct xfer_file *f, const struct xfer_stream *l);
/* A file that waits, after an answer. */
void xfer_late_settle(struct xfer_file *f);
/* A silent stream has ended: does another one answer? */
void xfer_late_doubt(struct xfer *x);
/* Lets files go on if that is known by now. */
void xfer_late_decide(struct xfer *x);

#endif
