/* SPDX-License-Identifier: ISC */
/* Streams: how many there are, and requests that any of them may make. Threads:
 * one at a time. */
#ifndef HPN_XFER_STREAMS_TRANSFER_STREAM_H
#define HPN_XFER_STREAMS_TRANSFER_STREAM_H

#include "xfer/state/transfer-state.h"
#include "xfer/streams/transfer-growth.h"

/* A request that names files by their paths: any stream may make it, and
 * another stream repeats it if the first one is lost. */
struct xfer_path_request {
	enum sftp_type type; /* LSTAT, STAT, REMOVE, MKDIR, RMDIR, SETSTAT,
			      * RENAME, READLINK, SYMLINK, EXTENDED */
	enum sftp_extension ext; /* POSIX_RENAME, HARDLINK, STAT_NS, LSETSTAT;
				  * XATTRS to set them */
	bool follow; /* STAT_NS, XATTRS: links */
	const char *path, *second;
	const struct sftp_attrs *attrs;
	struct xattrs xattrs;
	bool origin; /* to the second host that the sources are on */
	/* The request must not be repeated over another stream, because a
	 * second time it might do something else. Its callback gets the error
	 * of the lost session. */
	bool once;
};

/* transfer-streams.c */
int xfer_stream_add(struct xfer *x, struct sftp *s, enum xfer_stream_kind kind,
    bool borrowed) must_check;
int xfer_stream_open(struct xfer *x, enum xfer_stream_kind kind, uint64_t among)
    must_check;
void xfer_stream_free(struct xfer_stream *l);
void xfer_streams_free(struct xfer *x);
/* Measures, and opens more streams if that pays. */
void xfer_streams_grow(struct xfer *x);
/* Lets all streams take work until it is decided anew which ones idle: of those
 * that are left, any may be needed. */
void xfer_streams_wake(struct xfer *x);
int xfer_streams_turn(struct xfer *x, bool more, int timeout_ms) must_check;
/* May one more file be opened on the stream l? */
bool xfer_stream_takes_files(const struct xfer_stream *l);
/* The stream for one more file; NULL: no handle is free. */
struct xfer_stream *xfer_stream_pick(struct xfer *x);
/* Makes the request over any stream. done gets the server's answer, ERR_NOMEM,
 * or in xfer_free() ERR_CANCELLED. If the session is lost, the request is made
 * over another stream; only with q->once does done get the session's error.
 * done NULL: the answer is ignored. */
void xfer_request_path(struct xfer *x, const struct xfer_path_request *q,
    sftp_done_fn done, void *arg);
void xfer_path_requests_send(struct xfer *x);
void xfer_path_requests_free(struct xfer *x);

#endif
