/* SPDX-License-Identifier: ISC */
/*
 * Inside of the transfer engine: what the files xfer/transfer/transfer*.c
 * share. What each of them offers stands in the header of its subject; here
 * are the transfer itself and its queue.
 *
 *	transfer.c		life of a transfer, its queue and its loop
 *	transfer-file.c		life of a file, and its states
 *	file-source.c, -part.c, -opening.c, -progress.c: owners of what a file
 *				knows in its phases (transfer-events.h)
 *	transfer-handles.c	a file's handles at the server
 *	transfer-data.c		blocks of data
 *	transfer-local.c	sources that are files of this host
 *	transfer-between.c	sources that are files of a second host
 *	transfer-small.c	files of one request, or of one flight
 *	transfer-sparse.c	holes
 *	transfer-finish.c	the tail: what follows when all data is sent
 *	transfer-part.c		the part, and whether it may replace the target
 *	transfer-target.c	what a server is asked of a target
 *	transfer-owner.c	whose an old part at the server is
 *	transfer-rename.c	the part gets the target's name
 *	transfer-times.c	times of sources
 *	transfer-reuse.c	what is used of what is there already
 *	transfer-resume.c	comparisons of both ends, and marks
 *	transfer-digest.c	digests of this end
 *	transfer-streams.c	streams, path requests; -growth.c: how many
 *	transfer-retry.c	the end of streams, and what follows it
 *	transfer-late.c		what a silent stream may still do
 *	transfer-tree.c		beginning and end of a directory
 *	transfer-found.c	what is asked of target and old part
 *	transfer-there.c	what directories of targets have in them
 *	transfer-list.c		listing of directories
 *	transfer-links.c	symbolic and hard links
 *	transfer-why.c		what the time was spent on
 *	transfer-space.c	room at the target
 *	transfer-kept.c		what there is of a copy that was broken off
 *
 * Callbacks of requests note what has happened (xfer_file_touch). Files are
 * moved on from state to state, and freed, by the loop alone, because a
 * request may fail, and call back, while it is being made. When a stream ends,
 * each of its requests calls back with an error. These callbacks only count
 * down and give ranges back; the loop then has the work done by another stream
 * (xfer_streams_check).
 *
 * Threads: one at a time, and those of transfer-digest.c, which read files.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H
#define HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H

#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-compare.h"
#include "xfer/transfer/transfer-dir.h"
#include "xfer/transfer/transfer-exact.h"
#include "xfer/transfer/transfer-file.h"
#include "xfer/transfer/transfer-handle.h"
#include "xfer/transfer/transfer-limits.h"
#include "xfer/transfer/transfer-part.h"
#include "xfer/transfer/transfer-space.h"
#include "xfer/transfer/transfer-stream.h"

/* Of files that were found, and of those that are whole. */
struct xfer_sum {
	uint64_t files, bytes, files_done, bytes_done;
	uint64_t bytes_kept; /* of those that failed */
};

/* Where the time went, microseconds of one clock. */
struct xfer_spent {
	uint64_t all, disk, limit, waiting;
};

struct xfer_data {
	struct xfer_block *free_blocks;
	size_t in_flight; /* bytes */
	unsigned blocks;  /* requests under way */
	size_t digest_blocks; /* requested, and not compared */
	uint8_t *small;   /* owned; for a small file */
	uint8_t *scratch; /* owned; for reading back */
};

/* Rate limit. */
struct xfer_limit {
	double tokens; /* bytes that may be moved now */
	uint64_t refilled_ms;
};

struct xfer_measured {
	uint64_t at_ms;
	uint64_t acked; /* bytes */
	uint64_t sample_ms, sample_acked; /* when the rate was taken last */
	uint64_t sample_arrived; /* as xfer_streams_view has it, then */
	uint64_t stalled_ms;   /* window_stall_ms of all streams, then */
	uint64_t left_ms;      /* until the files that move are done */
	uint64_t rtt_ms;       /* the longest */
	struct xfer_stream *fastest; /* NULL: there is no choice */
};

/*
 * The origin of uploads: where their sources are. (What streams lead to, the
 * host, has the sources of downloads.)
 */
struct xfer_origin_ops {
	/* Opens the source, unless it is open, and learns what it is by now.
	 * False: it failed, which was reported. */
	bool (*open)(struct xfer_file *f);
	/* Sends a block of what e has taken, or less if there is less; or
	 * requests it, and sends it when it comes. */
	void (*send)(struct xfer_handle *e);
	/* The source ended before its size. Asks for its size by now, and
	 * calls xfer_source_ended(), later perhaps. */
	void (*end)(struct xfer_file *f);
	void (*close)(struct xfer_file *f); /* if it is open */
};
extern const struct xfer_origin_ops xfer_local_origin;

struct xfer_origin {
	const struct xfer_origin_ops *ops;
	/* Of a second host: its session; in x->streams if that is the host
	 * itself. NULL: the sources are on this host. */
	struct xfer_stream *stream;
};

struct xfer {
	struct xfer_origin origin;
	struct xfer_streams host; /* opens streams; ops NULL: none */
	struct xfer_opts opts;
	struct xfer_stream_list streams;
	unsigned stream_count;
	int err; /* of the last stream */
	bool stopped; /* nothing new is begun */
	bool over; /* no more answers are waited for: xfer_free() */
	struct xfer_retry retry;
	struct xfer_grow grow;
	struct xfer_measured measured;
	struct xfer_limit limit;
	struct xfer_path_requests requests;
	struct xfer_file_lists files;
	struct xfer_dir_lists dirs;
	struct xfer_data data;
	struct xfer_digests *digests; /* owned; NULL: none yet */
	struct xfer_hard_table *hards; /* owned */
	struct local_tree *local; /* owned */
	struct {
		bool no_digests, no_hard_links;
	} noted; /* these notes were given, once */
	struct {
		bool known;
		struct sftp_attrs attrs;
	} owner; /* of what the server makes for us */
	struct {
		bool asked;	/* whether the server renames */
		unsigned waits; /* answers that are outstanding */
		bool refused;	/* it does not: uploads have no parts */
	} parts;
	uint64_t copy; /* the number of this run: see xfer/part-lock.h */
	struct xfer_planned *planned; /* owned; of the named sources' targets
				       * those that look like parts */
	struct {
		struct xfer_planned *names; /* owned */
		unsigned count;
		bool many; /* too many: any may be one of them */
	} own; /* targets that have names of our own: xfer_plan_found() */
	unsigned long failures;
	struct {
		unsigned long count;
		int err; /* the last one */
	} unsaid; /* failures of which nothing was said yet */
	struct xfer_spent spent;
	struct xfer_space space;
	struct xfer_sum sum;
	bool full; /* there is no room for more: the run ends */
	mode_t umask;
};

/* transfer.c */
void xfer_report(struct xfer *x, const char *path, const char *text);
/* The same, with what was tried: one of XFER_TRIED_*. */
void xfer_report_tried(struct xfer *x, const char *tried, const char *path,
    const char *text);
void xfer_report_errno(struct xfer *x, const char *path, int error);
/* Reports a reply that is no success. Not the end of the session: the caller
 * of xfer_run() reports that once. */
void xfer_report_reply(struct xfer *x, const char *path,
    const struct sftp_reply *reply);
void xfer_report_reply_tried(struct xfer *x, const char *tried,
    const char *path, const struct sftp_reply *reply);
/* Keeps what a reply says that is no success, in place of what was kept. */
void xfer_keep_words(char **kept, const struct sftp_reply *reply);
void xfer_note(struct xfer *x, const char *path, const char *text);
/* Links on this host, in the way of what is written: those that are copied are
 * never gone through. */
enum local_links xfer_target_links(const struct xfer *x);
/* Owns both names from then on, also when it fails. */
int xfer_add_file(struct xfer *x, struct xfer_dir *dir, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs, enum local_links links,
    const struct xfer_exact *exact) must_check;
void xfer_queue_file(struct xfer_file *f);

#include "xfer/transfer/transfer-growth.h"

#endif
