/* SPDX-License-Identifier: ISC */
/* Handles of files, their streams, and the blocks of data that move through
 * them. Threads: one at a time. */
#ifndef HPN_XFER_STATE_HANDLE_STATE_H
#define HPN_XFER_STATE_HANDLE_STATE_H

#include "xfer/state/stream-state.h"

/* One request for data: READ, WRITE, or check-file. */
struct xfer_block {
	struct xfer_handle *handle;
	uint64_t offset;
	uint32_t len, got;
	struct xfer_block *next_free;
};

/* A range that is to be moved although progress.next is behind it: a handle has
 * given it back, or a comparison found that it differs. */
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
	/* Then: whether no other handle was open on the stream; the numbers of
	 * requests for handles of files and of directories. */
	bool alone;
	unsigned number, dirs_number;
	bool makes;	 /* OPEN makes a new part */
	bool moving;	 /* in stream->moving */
	/* what is left of the range that the handle has taken */
	uint64_t next, until;
	uint64_t data_until; /* no hole before that offset; 0: unknown */
	unsigned pending;     /* requests under way, of any kind */
	unsigned blocks;      /* requests for data among them */
	TAILQ_ENTRY(xfer_handle) entry; /* in file->handles */
	TAILQ_ENTRY(xfer_handle) turn;  /* in stream->moving */
};

/* OPENs or OPENDIRs of one name that are refused, perhaps only because other
 * handles are open, before that counts as the name's own failure. */
enum { XFER_CROWDED_MAX = 16 };

/* How many handles of one kind, of files or of directories, a server gives at a
 * time, as far as refusals have told (xfer/streams/handle-limit.h). */
struct xfer_handle_limit {
	unsigned max;	  /* 0: none was refused yet */
	unsigned refused; /* number that were open at the last refusal */
	unsigned given;	  /* granted since max was changed */
	unsigned sent;	  /* requests for a handle so far */
	unsigned cut;	  /* the value of sent when max was halved */
};

struct xfer_stream {
	struct xfer *x;
	struct sftp *s;
	/* whether it was opened as a channel or a connection */
	enum xfer_stream_kind kind;
	bool borrowed;	      /* the session is the caller's */
	bool gone;	      /* its session is over; the loop frees it */
	bool proved;	      /* the stream has moved data */
	bool idle;	      /* the stream takes no more work: its connection
			       * is one too many */
	unsigned connection;  /* number of the connection that carries it */
	struct xfer_handles moving;
	unsigned handles;     /* handles of files, from OPEN to CLOSE */
	struct xfer_handle_limit files_limit;
	unsigned blocks;
	/* Handles of directories, counted from OPENDIR to CLOSE, both when
	 * they are sent. */
	unsigned dirs_open;
	struct xfer_handle_limit dirs_limit;
	size_t in_flight, window; /* bytes of data */
	uint64_t rtt_ms, acked, sample_acked, sample_ms;
	uint64_t rate;	      /* bytes a second, in the last round trips */
	struct xfer_watch watch;
	TAILQ_ENTRY(xfer_stream) entry;
};

#endif
