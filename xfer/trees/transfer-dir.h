/* SPDX-License-Identifier: ISC */
/* Directories: their targets, and how they are listed. Threads: one at a
 * time. */
#ifndef HPN_XFER_TREES_TRANSFER_DIR_H
#define HPN_XFER_TREES_TRANSFER_DIR_H

#include "xfer/streams/transfer-stream.h"

/* transfer-walk.c */
/* Reads directories of this host. True if more could be done at once. */
bool xfer_walk(struct xfer *x);
void xfer_walk_ends(struct xfer_dir *d);

/* transfer-tree.c */
/* Adds a directory that was found below parent (NULL: a root). Owns both names
 * and `at` of found from then on, also after an error. */
int xfer_add_dir(struct xfer *x, struct xfer_dir *parent,
    const struct xfer_found *found) must_check;
void xfer_dir_unref(struct xfer_dir *d);
void xfer_dirs_free(struct xfer *x);
/* An upload's directory was there before: its files may be copied now. */
void xfer_dir_found(struct xfer_dir *d);
/* Sets the times of directories that are complete, as far as handles are
 * free. */
void xfer_dirs_fix(struct xfer *x);

/* transfer-there.c */
/* The target of d existed before. True: its names will be listed, and then
 * xfer_dir_found() is called. */
bool xfer_there_begin(struct xfer_dir *d);
/* Lists more target directories, as far as handles are free. */
void xfer_there_issue(struct xfer *x);
void xfer_there_free(struct xfer_dir *d);
/* Does the listing of the target directory have neither f's target nor its
 * part? */
bool xfer_there_lacks(const struct xfer_file *f);
/* Does that listing have f's target, and not its part? True: f->target is set
 * from it. */
bool xfer_there_find(struct xfer_file *f);

/* transfer-list.c */
/* Puts d among the directories that wait to be listed. */
void xfer_dir_wait(struct xfer_dir *d);
/* Frees what only a listing needs. */
void xfer_dir_unlist(struct xfer_dir *d);
void xfer_dir_stop_waiting(struct xfer_dir *d);
/* Is d read on this host, and not over a stream? */
bool xfer_dir_is_local(const struct xfer_dir *d);
/* Is there room for more names? */
bool xfer_may_find_more(struct xfer *x);
/* Lists more directories, until XFER_QUEUE_MAX files are queued. True: more
 * could be done at once. */
bool xfer_list(struct xfer *x);
void xfer_dirs_lost(struct xfer *x, const struct xfer_stream *stream);
/* Stops the listing; requests under way are waited for. */
void xfer_dirs_stop(struct xfer *x);
/* How many more OPENDIRs may be sent now. */
size_t xfer_opendirs_left(const struct xfer_stream *l);
/* Sends OPENDIR. done must call xfer_opendir_answered() first of all. */
void xfer_opendir_send(struct xfer_dir *d, struct xfer_stream *l,
    const char *path, sftp_done_fn done);
/* Was OPENDIR refused, but perhaps only for lack of handles? True: send it
 * again later. */
bool xfer_opendir_answered(struct xfer_dir *d, struct xfer_stream *l,
    const struct sftp_reply *reply);
/* Sends CLOSE; the answer is ignored. */
void xfer_closedir_send(struct xfer_stream *l, const struct sftp_handle *h);

#endif
