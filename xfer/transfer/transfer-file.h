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
/* Moves on the files that were touched (xfer_file_touch()); only the loop calls
 * this. False: none was touched. */
bool xfer_files_settle(struct xfer *x);
/* The target is known: decides how much of it is used, and opens the file that
 * data goes to. */
void xfer_file_choose_reuse(struct xfer_file *f);
/* This host had no descriptor for f. True: f waits until other files close
 * theirs, and fewer files are open at a time from now on; the caller queues f
 * again. */
bool xfer_file_wait_for_fds(struct xfer_file *f, int error);
/* Puts the file back at the front of the queue. */
void xfer_file_requeue(struct xfer_file *f);
/* Begins the copy of the file anew. resume: an old part or target may be
 * used. */
void xfer_file_restart(struct xfer_file *f, bool resume);
void xfer_file_free(struct xfer_file *f);
/* The run was stopped: the file fails when its answers have come. */
void xfer_file_stop(struct xfer_file *f);
/* The file has succeeded or failed, and has no request under way any more. */
void xfer_file_done(struct xfer_file *f);
/* The requests about the source are answered: the file begins. */
void xfer_file_begin(struct xfer_file *f);
/* Opens the file at the server: the source of a download, the part or target of
 * an upload. */
void xfer_file_open(struct xfer_file *f);
/* transfer-found.c */
/* Asks the server about the target and the part: which files bear their
 * names. */
void xfer_target_stat(struct xfer_file *f);

/* transfer-finish.c */
/* All data is sent, or requested: takes the next step towards CLOSE. */
void xfer_file_sent(struct xfer_file *f);
/* The source ended before its size. size: its size now, or the one that was
 * expected if that is not known. Touches the file. */
void xfer_source_ended(struct xfer_file *f, uint64_t size);
/* Sends the next step of the tail, or all that are left. */
void xfer_tail_continue(struct xfer_file *f);
/* A comparison of the target, or to verify, has ended. */
void xfer_file_compared(struct xfer_file *f, int why);
/* The data of a small file has arrived, at the target or (download) in f->fd;
 * or the file has failed. */
void xfer_file_arrived(struct xfer_file *f);

/* transfer-links.c */
/* Copies a symbolic link. */
void xfer_symlink_start(struct xfer_file *f);
/* Takes the next step of a link, once all answers to the last one are there. */
void xfer_link_continue(struct xfer_file *f);
/* Makes f's target a further name of the file that its order names. False: it
 * is to be copied. */
bool xfer_duty_link_start(struct xfer_file *f);
/* Was another name (hard link) of the same source copied, or is it being
 * copied? True: f becomes a link to that one. */
bool xfer_hard_start(struct xfer_file *f);
/* f is done: queues the other names of the same source, which waited for f. */
void xfer_hard_done(struct xfer_file *f);
void xfer_hard_free(struct xfer *x);

/* transfer-sparse.c */
/* Finds out, before data moves, whether the source has holes. */
void xfer_sparse_start(struct xfer_file *f);
/* Upload: skips a hole. False: there is data, *len bytes at most. */
bool xfer_sparse_skip(struct xfer_handle *e, uint32_t *len);
/* Download: writes what is not zeros. False: errno. */
bool xfer_sparse_write(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset);

/* transfer-small.c */
/* Moves f as a small file, if it is one. False: it takes the ordinary steps. */
bool xfer_small_start(struct xfer_file *f);
/* Whether f has to wait before xfer_small_start() is called: enough is under
 * way now, or it is not known yet what the server can do. */
bool xfer_small_waits(struct xfer *x, const struct xfer_file *f);

/* transfer-between.c: all of it does nothing if there is no second host. */
/* Are both sessions alive? ERR_*: one was over, so the other was ended, too,
 * and no request refers to the transfer any more. */
int xfer_between_check(struct xfer *x) must_check;
/* How many files may be open at a time. */
size_t xfer_between_files(const struct xfer *x);
/* Are target and source the same file? That is seen only if both are on one
 * host, whose server tells file numbers. */
bool xfer_between_same(const struct xfer_file *f);
void xfer_between_free(struct xfer *x);

/* transfer-retry.c */
/* The file's handles are lost: queues it, to go on over another stream, unless
 * answers are still under way. */
void xfer_file_go_on(struct xfer_file *f);

/* transfer-kept.c */
/* f is over: if it failed, counts the bytes that a later run need not move. */
void xfer_file_keeps(struct xfer_file *f);
/* Before f begins anew: notes in f->made how many bytes are kept until then. */
void xfer_file_note_kept(struct xfer_file *f);

/* transfer-retry.c */
/* Gives the work of ended streams to others; opens streams anew when all are
 * lost. ERR_*: no stream is left. */
int xfer_streams_check(struct xfer *x) must_check;
/* Sends a small request on each stream that owes no answer, to hear whether its
 * server is alive. */
void xfer_streams_probe(struct xfer *x);

/* transfer-late.c */
/* The stream l is over; opened: an OPEN of f was answered there. True: its
 * server may still write the part of f with what l had sent, so f waits. */
bool xfer_late_begins(struct xfer_file *f, const struct xfer_stream *l,
    bool opened);
/* The server refuses to open or to rename a part. True: a session that was lost
 * may still write to it, so f has to begin anew. */
bool xfer_late_refused(struct xfer_file *f, uint32_t status);
/* Gives a file that waits another part, when its last answer has come. */
void xfer_late_settle(struct xfer_file *f);
/* A silent stream has ended: asks the others, to learn whether any answers. */
void xfer_late_doubt(struct xfer *x);
/* Lets the files that wait go on, once another stream has answered, or all are
 * lost. */
void xfer_late_decide(struct xfer *x);
/* The part that may be written late is copied to another one, or given up. Then
 * the file begins. */
void xfer_late_copy_start(struct xfer_file *f);
void xfer_late_copy_settle(struct xfer_file *f);
void xfer_late_copy_free(struct xfer_file *f);

#endif
