/* SPDX-License-Identifier: ISC */
/* A file, and the steps that it takes. Threads: one at a time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_FILE_H
#define HPN_XFER_TRANSFER_TRANSFER_FILE_H

#include "xfer/local/local-tree.h"
#include "xfer/part-name.h"
#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-compare.h"
#include "xfer/transfer/transfer-events.h"
#include "xfer/transfer/transfer-exact.h"
#include "xfer/transfer/transfer-limits.h"
#include "xfer/transfer/transfer-phases.h"

/* Of a file. What may follow what is a table in transfer-file.c. */
enum xfer_state {
	XFER_QUEUED,
	XFER_STATING_SOURCE, /* the server tells more of the source */
	XFER_STATING_TARGET, /* what is there already? */
	XFER_LINKING,	     /* a link is made: transfer-links.c */
	XFER_OPENING,	     /* the first OPEN is under way */
	XFER_MOVING,	     /* data */
	XFER_MOVING_SMALL,   /* in one request, or one flight of them */
	XFER_COMPARING,	     /* are both ends the same? */
	XFER_CLOSING,	     /* attributes and CLOSE are under way */
	XFER_RENAMING,	     /* the part gets the target's name, or goes
			      * because the target is complete */
	XFER_DONE,	     /* the loop frees it */
};

struct xfer_file {
	struct xfer *x;
	struct xfer_dir *dir; /* holds a reference; may be NULL */
	char *local, *remote; /* owned */
	struct local_dir *at; /* owned; where it is on this host; or NULL */
	const char *name;     /* in there */
	enum local_links links; /* what a link of that name may lead to */
	enum xfer_state state;
	bool up, failed;
	bool resume;	      /* what is there already may be used */
	/* All of an upload's part had arrived when its stream was lost, and
	 * the marks were perhaps cut off; of a source of that size and time. */
	struct {
		bool known;
		uint64_t size;
		uint32_t mtime;
	} whole;
	/* A stream that is silent may still write its part: it waits. */
	enum {
		XFER_LATE_NO,
		XFER_LATE_DOUBT, /* is it that stream alone? */
		XFER_LATE_SURE,	 /* yes: it gets another part */
	} late;
	unsigned part_number; /* from 1 on: see xfer/part-name.h */
	struct xfer_made made;
	bool in_place;	      /* its part was refused the target's name */
	bool part_noted;      /* it was told that one is left alone */
	int fd;		      /* owned; -1 */
	struct xfer_handles handles;
	unsigned blocks;      /* of data, under way */
	unsigned pending;     /* other requests under way */
	struct xfer_source source;
	struct xfer_far_source far;
	struct xfer_link link;
	struct xfer_target target;
	struct xfer_part part;
	struct xfer_opening opening;
	struct xfer_progress progress;
	struct xfer_marks marks;
	struct xfer_holes holes;
	struct xfer_tail tail;
	struct xfer_renaming renaming;
	struct xfer_small small;
	struct xfer_linking linking;
	struct xfer_compare compare;
	struct progress_item item;
	bool touched;	      /* in x->files.touched */
	TAILQ_ENTRY(xfer_file) touch;
	TAILQ_ENTRY(xfer_file) entry;
};

/* Does what is opened hold data that is used? */
static inline bool
xfer_keeps_data(const struct xfer_file *f)
{
	return f->target.reuse == XFER_REUSE_CHECKED ||
	    f->target.reuse == XFER_REUSE_TRUSTED;
}

struct xfer_file_lists {
	struct xfer_files queue, active, done, comparing;
	struct xfer_files touched; /* something has happened to them */
	bool settling;		   /* they are being moved on */
	size_t queued, active_count;
	size_t held;	 /* wait for their directory, or for another name */
	size_t renaming; /* in that state: they have no handle */
	size_t small;	 /* moving as small files: they have none either */
	size_t max;	 /* with handles, at a time */
};

/* transfer-file.c */
void xfer_file_enter(struct xfer_file *f, enum xfer_state state);
void xfer_file_start(struct xfer_file *f);
void xfer_file_fail(struct xfer_file *f);
/* Something has happened to f: the loop moves it on, if it waits for nothing
 * any more. */
void xfer_file_touch(struct xfer_file *f);
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

#endif
