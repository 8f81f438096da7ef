/* SPDX-License-Identifier: ISC */
/*
 * The transfer itself, and what is asked of it alone. This room has what all of
 * the engine knows: of streams, directories, files and their phases, each with
 * the source that writes it. Nothing here sends a request. Threads: one at a
 * time.
 */
#ifndef HPN_XFER_STATE_TRANSFER_STATE_H
#define HPN_XFER_STATE_TRANSFER_STATE_H

#include "xfer/state/dir-state.h"
#include "xfer/state/file-state.h"
#include "xfer/state/handle-state.h"
#include "xfer/state/space-state.h"
#include "xfer/state/stream-state.h"
#include "xfer/state/transfer-opts.h"

/* Counts of the files that were found, and of those that are whole. */
struct xfer_sum {
	uint64_t files, bytes, files_done, bytes_done;
	uint64_t bytes_kept; /* bytes kept of files that failed */
	uint64_t bytes_matched; /* bytes of a plan's files that the target had
				 * already, or that are holes */
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
	uint64_t sample_arrived; /* arrived of xfer_streams_view at that time */
	uint64_t stalled_ms;   /* window_stall_ms of all streams at that time */
	uint64_t left_ms;      /* until the files that move are done */
	uint64_t rtt_ms;       /* the longest round trip */
	struct xfer_stream *fastest; /* NULL: there is no choice */
};

/* Calls by which the room of trees tells what it finds to whoever copies it. */
struct xfer_found_ops {
	/* A file of dir (NULL: of none). Owns both names and `at` from then
	 * on, also when it fails. */
	int (*file)(struct xfer *x, struct xfer_dir *dir,
	    const struct xfer_found *found);
	/* Is called when a directory is whole and has its attributes. */
	void (*dir_whole)(struct xfer_dir *d);
	/* Something is to be made on this host under that name. */
	void (*make_way)(struct xfer *x, struct local_dir *at,
	    const char *name);
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
struct xfer_origin {
	const struct xfer_origin_ops *ops;
	/* The session with the host of the sources, if that is a second host;
	 * it is one of x->streams if sources and targets are on the same host.
	 * NULL: the sources are on this host. */
	struct xfer_stream *stream;
};

struct xfer {
	struct xfer_origin origin;
	const struct xfer_found_ops *found;
	struct xfer_ordered *orders; /* owned; NULL: none, or no more */
	struct xfer_settle *settle; /* owned; NULL: no names have to be on the
				     * disk */
	struct xfer_streams host; /* opens streams; ops NULL: none */
	struct xfer_opts opts;
	struct xfer_stream_list streams;
	unsigned stream_count;
	int err; /* of the last stream */
	bool stopped; /* nothing new is begun */
	bool over; /* xfer_free() runs: no answer is waited for */
	struct xfer_retry retry;
	struct xfer_grow grow;
	struct xfer_measured measured;
	struct xfer_limit limit;
	struct xfer_path_requests requests;
	struct xfer_file_lists files;
	struct xfer_dir_lists dirs;
	struct xfer_data data;
	struct xfer_digests *digests; /* owned; NULL: none yet */
	struct xfer_hashes *hashes;   /* owned; NULL: none yet */
	struct xfer_deltas *deltas; /* owned; NULL: none yet */
	struct xfer_hard_table *hards; /* owned */
	struct local_tree *local; /* owned */
	struct {
		bool no_digests, no_hard_links;
	} noted; /* these notes were given, once */
	struct {
		char *first; /* owned; path of the first such source; NULL:
			      * none */
		bool more;
	} extras; /* extended attributes and ACLs that are not copied */
	struct {
		unsigned long count;
		char *first; /* owned; a path at the server */
	} left; /* what has the name of a small file's part there, left alone */
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
	struct xfer_meet *meet; /* owned; of the named sources */
	struct xfer_planned *planned; /* owned; of the named sources' targets
				       * those that look like parts */
	struct {
		struct xfer_planned *names; /* owned */
		unsigned count;
		/* there are too many to note all, so any such name may be a
		 * target */
		bool many;
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

/* transfer-report.c */
void xfer_report(struct xfer *x, const char *path, const char *text);
/* As xfer_report(), with the thing that was tried: one of XFER_TRIED_*. */
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
/* Looks whether the source behind fd has extended attributes of its user, or an
 * ACL; the end of the run tells. */
void xfer_look_for_extras(struct xfer *x, int fd, const char *path);
/* transfer-state.c */
/* The first stream whose session is not over; NULL: there is none. */
struct xfer_stream *xfer_stream_first(struct xfer *x);
bool xfer_has(struct xfer *x, enum sftp_extension ext);
/* Are all directories listed that were found so far? */
bool xfer_listed(const struct xfer *x);
/* Which links on this host the way to a target may lead through: none if links
 * are copied, because a copied one could lead anywhere. */
enum local_links xfer_target_links(const struct xfer *x);
void xfer_queue_file(struct xfer_file *f);

#endif
