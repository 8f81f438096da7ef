/* SPDX-License-Identifier: ISC */
/* Handles of files, their streams, and the blocks of data that move through
 * them. Threads: one at a time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_HANDLE_H
#define HPN_XFER_TRANSFER_TRANSFER_HANDLE_H

#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-limits.h"
#include "xfer/transfer/transfer-stream.h"

/* One request for data: READ, WRITE, or check-file. */
struct xfer_block {
	struct xfer_handle *handle;
	uint64_t offset;
	uint32_t len, got;
	struct xfer_block *next_free;
};

/* Bytes that are to be moved although the file has come further: a handle has
 * given them back, or a comparison found that they differ. */
struct xfer_range {
	uint64_t offset, len;
	struct xfer_range *next;
};

/* A handle of a file on a stream. The first handle of a file is the one that
 * creates the target; it is closed last. */
struct xfer_handle {
	struct xfer_file *file;
	struct xfer_stream *stream;
	struct sftp_handle handle;
	enum {
		XFER_HANDLE_OPENING,
		XFER_HANDLE_OPEN,
		XFER_HANDLE_CLOSED, /* CLOSE is under way, or answered; it is
				     * not in stream->handles any more */
	} state;
	uint64_t sent_ms; /* when OPEN was sent */
	bool moving;	 /* in stream->moving */
	uint64_t next, until; /* what is left of the range it has taken */
	uint64_t data_until; /* no hole before that offset; 0: unknown */
	unsigned pending;     /* requests under way, of any kind */
	unsigned blocks;      /* of data, among them */
	TAILQ_ENTRY(xfer_handle) entry; /* in file->handles */
	TAILQ_ENTRY(xfer_handle) turn;  /* in stream->moving */
};
struct xfer_stream {
	struct xfer *x;
	struct sftp *s;
	enum xfer_stream_kind kind; /* what it was opened as */
	bool borrowed;	      /* the session is the caller's */
	bool gone;	      /* its session is over; the loop frees it */
	bool proved;	      /* has moved data */
	bool idle;	      /* its connection is one too many: it takes no
			       * more work */
	unsigned connection;  /* that carries it */
	struct xfer_handles moving;
	unsigned handles;     /* of files, from OPEN to CLOSE */
	unsigned blocks;
	/* Handles of directories, counted from OPENDIR to CLOSE, both when
	 * they are sent. */
	unsigned dirs_open;
	unsigned dirs_max;     /* limit learnt from refusals; 0: none yet */
	unsigned dirs_refused; /* how many there were at the last refusal */
	unsigned dirs_given; /* successes since the limit was changed */
	unsigned opendirs;     /* OPENDIRs sent so far */
	unsigned opendirs_cut; /* its value when the limit was halved */
	size_t in_flight, window; /* bytes of data */
	uint64_t rtt_ms, acked, sample_acked, sample_ms;
	uint64_t rate;	      /* bytes a second, in the last round trips */
	struct xfer_watch watch;
	TAILQ_ENTRY(xfer_stream) entry;
};

/* transfer-handles.c */
void xfer_handle_open(struct xfer_file *f, struct xfer_stream *stream,
    const char *path, uint32_t flags);
/* None of its requests may be under way. */
void xfer_handle_free(struct xfer_handle *e);
/* Sends FSTAT; done gets the handle as its argument. */
void xfer_handle_fstat(struct xfer_handle *e, sftp_done_fn done);
/* Counts an answer to the handle. False: there is none, as its stream is lost;
 * the loop sees to that. */
bool xfer_handle_answered(struct xfer_handle *e,
    const struct sftp_reply *reply);
/* done gets the handle as its argument; it may be NULL. */
void xfer_handle_close(struct xfer_handle *e, sftp_done_fn done);
/* The handle that is closed last; NULL: it is lost. */
struct xfer_handle *xfer_main_handle(struct xfer_file *f);
/* Closes what is open, without waiting for answers. */
void xfer_handles_drop(struct xfer_file *f);
/* The path and flags that a further handle is opened with. */
const char *xfer_open_name(const struct xfer_file *f);
uint32_t xfer_open_flags(const struct xfer_file *f);
/* Opens one more handle, on another stream. */
void xfer_file_spread(struct xfer_file *f, struct xfer_stream *stream);

/* transfer-data.c */
/* Sends, or requests, as much data as may be under way. */
void xfer_issue(struct xfer *x);
/* A block of data, counted against the budget, and not any more. */
struct xfer_block *xfer_data_begin(struct xfer_handle *e, uint64_t offset,
    uint32_t len);
void xfer_data_end(struct xfer_block *b);
/* Makes a block of the first len bytes of b, which has the others then. */
struct xfer_block *xfer_data_split(struct xfer_block *b, uint32_t len);
/* How much a request is for. */
uint32_t xfer_block_size(const struct xfer_stream *l, bool up);
/* After the answer to a WRITE; arg: its block. */
void xfer_write_done(void *arg, const struct sftp_reply *reply);
/* The source ends at offset: nothing behind it is requested any more. */
void xfer_source_ends(struct xfer_file *f, uint64_t offset);
void xfer_source_fails(struct xfer_file *f, int error);
/* Does data have to wait until buffered requests are sent? */
bool xfer_output_full(const struct xfer *x);
/* May more data be under way on l? */
bool xfer_may_issue(const struct xfer_stream *l, bool up);
/* Puts a handle among those that move data, if there is some for it. */
void xfer_handle_wake(struct xfer_handle *e);
/* These bytes of the source need not be moved. */
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
