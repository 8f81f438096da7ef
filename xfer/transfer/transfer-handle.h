/* SPDX-License-Identifier: ISC */
/* Handles of files, and the data that moves through them. Threads: one at a
 * time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_HANDLE_H
#define HPN_XFER_TRANSFER_TRANSFER_HANDLE_H

#include "xfer/state/transfer-state.h"

/* transfer-handles.c */
void xfer_handle_open(struct xfer_file *f, struct xfer_stream *stream,
    const char *path, uint32_t flags);
/* Frees the handle, which must have no request under way. */
void xfer_handle_free(struct xfer_handle *e);
/* Sends FSTAT; done gets the handle as its argument. */
void xfer_handle_fstat(struct xfer_handle *e, sftp_done_fn done);
/* Counts the answer to a request of the handle. False: the stream was lost, so
 * reply is only an error; the loop sees to that. */
bool xfer_handle_answered(struct xfer_handle *e,
    const struct sftp_reply *reply);
/* Sends CLOSE. done gets the handle as its argument; it may be NULL. */
void xfer_handle_close(struct xfer_handle *e, sftp_done_fn done);
/* The first of the file's handles, which is closed last; NULL: it is lost. */
struct xfer_handle *xfer_main_handle(struct xfer_file *f);
/* Closes all handles of the file, without waiting for answers. */
void xfer_handles_drop(struct xfer_file *f);
/* The path and flags that a further handle is opened with. */
const char *xfer_open_name(const struct xfer_file *f);
uint32_t xfer_open_flags(const struct xfer_file *f);
/* Lets idle streams help with large files. */
void xfer_streams_spread(struct xfer *x);
/* Has the stream l move data of f as well, over a further handle if it has none
 * of f. False: no further handle is possible. */
bool xfer_stream_help(struct xfer_file *f, struct xfer_stream *l);

/* transfer-data.c */
/* Sends, or requests, as much data as may be under way. */
void xfer_issue(struct xfer *x);
/* xfer_data_begin() makes a block, and counts it against the budget of data
 * under way, until xfer_data_end() frees it. */
struct xfer_block *xfer_data_begin(struct xfer_handle *e, uint64_t offset,
    uint32_t len);
void xfer_data_end(struct xfer_block *b);
/* Makes a block of the first len bytes of b, which keeps the rest. */
struct xfer_block *xfer_data_split(struct xfer_block *b, uint32_t len);
/* Bytes that one READ or WRITE on the stream l is for. */
uint32_t xfer_block_size(const struct xfer_stream *l, bool up);
/* After the answer to a WRITE; arg: its block. */
void xfer_write_done(void *arg, const struct sftp_reply *reply);
/* The source ends at offset: nothing behind it is requested any more. */
void xfer_source_ends(struct xfer_file *f, uint64_t offset);
void xfer_source_fails(struct xfer_file *f, int error);
/* May more data be under way on l? */
bool xfer_may_issue(const struct xfer_stream *l, bool up);
/* Puts the handle into its stream's list of handles that move data, if the file
 * has data for it. */
void xfer_handle_wake(struct xfer_handle *e);
/* len bytes of the source at offset are a hole, and need not be moved. */
void xfer_data_skipped(struct xfer_handle *e, uint64_t offset, uint64_t len);
bool xfer_write_local(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset); /* false: errno */
/* All data is sent, or requested, and comparisons of a part have ended. */
bool xfer_data_sent(const struct xfer_file *f);
/* Blocks are reused, so that none is allocated per request. NULL: no memory. */
struct xfer_block *xfer_block_new(struct xfer_handle *e, uint64_t offset,
    uint32_t len);
void xfer_block_free(struct xfer *x, struct xfer_block *b);
/* Milliseconds until the rate limit lets data move; 0: it does not wait. */
int xfer_rate_wait_ms(struct xfer *x);
void xfer_blocks_free(struct xfer *x);

#endif
