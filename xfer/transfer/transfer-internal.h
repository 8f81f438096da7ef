/* SPDX-License-Identifier: ISC */
/*
 * Inside of the transfer engine: what the files xfer/transfer/transfer*.c
 * share.
 *
 *	transfer.c		life of a transfer, its queue and its loop
 *	transfer-file.c		life of a file, and its states
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
 *	transfer-resume.c	comparisons of both ends, and marks
 *	transfer-digest.c	digests of this end
 *	transfer-streams.c	streams, path requests; -growth.c: how many
 *	transfer-tree.c		beginning and end of a directory
 *	transfer-list.c		listing of directories
 *	transfer-links.c	symbolic and hard links
 *	transfer-why.c		what the time was spent on
 *
 * Callbacks of requests change states only; files and directories are freed
 * by the loop alone, because a request may fail, and call back, while it is
 * being made. When a stream ends, each of its requests calls back with an
 * error. These callbacks only count down and give ranges back; the loop then
 * has the work done by another stream (xfer_streams_check).
 *
 * Threads: one at a time, and those of transfer-digest.c, which read files.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H
#define HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H

#include <sys/queue.h>
#include <sys/stat.h>

#include <dirent.h>

#include "xfer/local/local-tree.h"
#include "xfer/part-name.h"
#include "xfer/target-plan.h"
#include "xfer/transfer/transfer.h"

enum {
	XFER_DEPTH_MAX = 64,	 /* directories below each other */
	XFER_QUEUE_MAX = 2048,	 /* files found but not started */
	XFER_DIRS_MAX = 1000000, /* directories found but not done */
	XFER_LISTINGS_MAX = 1024, /* handles of directories */
	XFER_NAMES_FIRST = 8,	 /* expected in a directory, at first */
	XFER_NAMES_ROOM = 16384, /* known, then larger answers are dropped */
	XFER_OUTPUT_MAX = 512 * 1024, /* buffered bytes, then requests wait */
	XFER_STREAMS_MAX = 32,
	XFER_MODE_COPIED = 0777,
	XFER_MODE_PRESERVED = 01777, /* the copy's owner is another */
	XFER_MODE_KEPT = 07777, /* of a target that is replaced */
	XFER_MODE_PART = 0600, /* a part is to be opened again */
	/* Whole pages; with its header it fits in one of the large packets that
	 * our own client and server exchange. */
	XFER_BLOCK_MAX = 248 * 1024,
	XFER_CHUNK_MIN = 1024 * 1024,
	XFER_CHUNK_MAX = 32 * 1024 * 1024,
	XFER_DIGEST_BYTES = 32, /* SHA-256 */
	XFER_DIGESTS_MAX = 1024, /* blocks being compared */
};

struct xfer_pending;
struct xfer_digests;
struct xfer_names;
TAILQ_HEAD(xfer_pending_list, xfer_pending);
TAILQ_HEAD(xfer_files, xfer_file);
TAILQ_HEAD(xfer_dirs, xfer_dir);
TAILQ_HEAD(xfer_handles, xfer_handle);
TAILQ_HEAD(xfer_stream_list, xfer_stream);

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
	TAILQ_ENTRY(xfer_stream) entry;
};

/* A request that names files by their paths: any stream may make it, and
 * another stream repeats it if the first one is lost. */
struct xfer_path_request {
	enum sftp_type type; /* LSTAT, STAT, REMOVE, MKDIR, SETSTAT, RENAME,
			      * READLINK, SYMLINK, EXTENDED */
	enum sftp_extension ext; /* POSIX_RENAME, HARDLINK, STAT_NS,
				  * LSETSTAT */
	bool follow; /* STAT_NS: links */
	const char *path, *second;
	const struct sftp_attrs *attrs;
	bool origin; /* to the second host that the sources are on */
	/* It must not be repeated, because a second time it might do something
	 * else. Its callback gets the error of the lost session. */
	bool once;
};

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

/* What is used of what is at the target already. */
enum xfer_reuse {
	XFER_REUSE_NOTHING,
	XFER_REUSE_CHECKED, /* the data of the part, or of the target, that
			     * digests or marks say is the source's */
	XFER_REUSE_TRUSTED, /* the target's data: the rest is appended */
	XFER_REUSE_WHOLE,   /* the target may be complete: only compared */
};

/* What is done to an upload's handle when all data is sent, in this order. */
enum xfer_tail_step {
	XFER_TAIL_SIZE,
	XFER_TAIL_LENGTH, /* was it cut? */
	XFER_TAIL_ATTRS,
	XFER_TAIL_TIMES,
	XFER_TAIL_SYNC,
	XFER_TAIL_CLOSE,
	XFER_TAIL_SENT,
};

/* A comparison of both ends by digests, or by reading back. */
struct xfer_compare {
	enum {
		XFER_COMPARE_NONE,
		XFER_COMPARE_PART,   /* what differs is moved */
		XFER_COMPARE_TARGET, /* is it complete? */
		XFER_COMPARE_VERIFY, /* has all arrived? */
	} why;
	bool differs;
	bool listed; /* in x->files.comparing */
	int status; /* the server's reason why it gave no digests */
	uint64_t next, size;
	unsigned pending;
	TAILQ_ENTRY(xfer_file) entry; /* in x->files.comparing */
};

/* What the attributes of SFTP 3 have no place for. */
struct xfer_exact {
	bool known;
	struct timespec times[2]; /* atime, mtime */
	uint32_t nlink;
	uint64_t dev, ino, blocks;
};

/* One pass over a remote directory, from OPENDIR to CLOSE. */
struct xfer_listing {
	struct xfer_stream *stream;	 /* of the handle, or OPENDIR */
	struct sftp_handle *handle; /* owned; NULL: none yet */
	bool alone;		 /* OPENDIR: no other handle was in use */
	unsigned number;	 /* OPENDIR: how many the stream had sent */
	bool guessed;		 /* READDIRs were sent along with OPENDIR */
	bool ready;		 /* in x->dirs.ready */
	bool ended;		 /* no more READDIRs are to be sent */
	bool closed;		 /* CLOSE was sent, or the stream is gone */
	bool dropped;		 /* names were dropped: list it again */
	unsigned reads;		 /* READDIRs and OPENDIR in flight */
	unsigned reads_max;
	unsigned reserved;	 /* names expected of the first answer */
	unsigned batch;		 /* names in the last answer; 0: none yet */
	unsigned expected;	 /* names expected from those in flight */
};

struct xfer_dir {
	struct xfer *x;
	struct xfer_dir *parent; /* holds a reference; NULL: a root */
	unsigned refs;		 /* children, and itself while listed */
	bool up;
	enum xfer_dir_state {
		XFER_DIR_WANTED,
		XFER_DIR_FOUND,	 /* it was there before */
		XFER_DIR_MADE,	 /* by us just now, so it is empty */
		XFER_DIR_FAILED, /* what is in it fails as well */
	} state; /* of the target */
	bool fix;		 /* attributes are set at the end */
	bool no_early_close;	 /* for this one, which is large */
	unsigned large;		 /* names in an answer that was dropped */
	unsigned tries;		 /* of MKDIR */
	unsigned refusals;	 /* of OPENDIR so far */
	int depth;
	char *local, *remote;	 /* owned */
	struct local_dir *at;	 /* owned; NULL: it is not on this host, or
				  * not there */
	struct sftp_attrs attrs; /* of the source */
	struct xfer_exact exact;
	DIR *dirp;		 /* upload: NULL until listed */
	struct xfer_listing listing; /* download */
	struct xfer_names *names;  /* hashes of the names found so far */
	struct xfer_files held;	   /* upload: until it is there */
	/* in x->dirs: waiting, walking, listing or fixing */
	TAILQ_ENTRY(xfer_dir) entry;
	TAILQ_ENTRY(xfer_dir) turn; /* ready */
	TAILQ_ENTRY(xfer_dir) all;
};

/* --- a file, by phases: xfer_file_restart() clears most of them --- */

/* What is read. It stays when the file is begun anew. */
struct xfer_source {
	struct sftp_attrs attrs;
	struct xfer_exact exact;
	uint64_t size;		 /* expected; 0: until it ends */
	struct sftp_handle *handle; /* owned; at a second host, also while
				     * OPEN is under way; NULL: none */
	unsigned reads;		 /* under way there */
	bool symlink;		 /* it is one, and copied as such */
	char *link;		 /* owned; what the link that is made says: the
				  * text of a symbolic one, the first name of
				  * a hard one */
	struct xfer_hard *hard;	 /* this is the name that is copied */
	bool copied;		 /* although it could be a hard link */
};

/* What is at the target's name, and what of it is used. */
struct xfer_target {
	struct sftp_attrs attrs; /* flags 0: there is nothing */
	uint32_t nlink;		 /* 0: unknown */
	struct xfer_exact exact; /* where it may be the source */
	bool known;		 /* the requests before OPEN are answered */
	enum xfer_reuse reuse;
	bool read_only;		 /* we were refused to write it */
	bool is_link;		 /* one that is replaced, counted as nothing */
	uint64_t old_size;	 /* when it was opened in place; 0: unknown */
	bool set_mode;		 /* mode is to be set at the end */
	uint32_t mode;
};

/* The part that data goes to. */
struct xfer_part {
	char *name;		 /* owned; NULL: the target in place */
	struct sftp_attrs old;	 /* what was there; flags 0: nothing of use */
	uint32_t old_nlink;	 /* 0: unknown */
	struct sftp_attrs made;	 /* what OPEN made, or opened */
	bool foreign;		 /* the old one is somebody else's */
	bool cleared;		 /* the old one was removed */
	bool remade;		 /* its first mode let others read it */
};

/* OPEN of the first handle, and of those that follow. */
struct xfer_opening {
	uint32_t status;	 /* of the first, if it was refused */
	bool inspected;		 /* FSTAT of what it made was sent */
	bool no_more;		 /* the server gives no further handle */
	char *probe;		 /* owned; what is opened is a file that shows
				  * who we are: see transfer-owner.c */
};

/* Which data has moved, and which has not. */
struct xfer_progress {
	bool begun;		 /* what follows is set: go on with it */
	bool all_taken;		 /* nothing behind next is to be taken */
	uint64_t next;		 /* offset of the next range */
	struct xfer_range *todo; /* owned; before next */
	uint64_t chunk;		 /* bytes of a range */
	uint32_t *chunk_left;	 /* owned: bytes; NULL: no marks are made */
	uint64_t moved;		 /* bytes that are at the target */
	uint64_t received_until; /* highest offset received */
	uint64_t eof_at;	 /* lowest offset where the source ended */
	bool end_checked;	 /* FSTAT has told its size by then */
	bool needs_size;	 /* what is written may be longer than the
				  * source, or shorter */
	bool write_failed;	 /* at the target */
	bool unstored;		 /* what was written may be lost */
	bool sparse;		 /* it has holes, or is read for zeros */
	bool map_pending;	 /* the server is asked where its holes are */
	unsigned maps;		 /* answers to that */
	uint64_t occupied;	 /* before that offset the target held data,
				  * so that zeros are written too */
};
#define XFER_PROGRESS_START ((struct xfer_progress){ .eof_at = UINT64_MAX })

/* What is done when all data is sent. */
struct xfer_tail {
	enum xfer_tail_step step; /* the next one */
	bool size_set;		 /* the target was cut, or grown, to its size */
	uint32_t size_status;	 /* why that was refused; 0: it was not */
	bool verified;
	bool lost;		 /* the stream ended before it had answered */
	unsigned renames;	 /* tries */
};

/* The answer to the first request for a link. */
struct xfer_first_link {
	int err;
	uint32_t status;
};

/* One that moves in a single request, or in one flight of them. */
struct xfer_small {
	bool refused;		 /* it takes the ordinary steps instead */
	struct xfer_stream *stream;
	enum {
		XFER_GUESS_RIGHT, /* so far */
		XFER_GUESS_WRONG, /* or something else was refused */
		XFER_GUESS_LOST,  /* the session is over */
	} outcome;
	struct sftp_handle guess, handle;
	bool opened;		 /* handle is what the server has given */
	bool guess_closed;	 /* guess, which may be another handle */
	uint8_t *data;		 /* owned: of a download */
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
	unsigned part_number; /* from 1 on: see xfer/part-name.h */
	bool part_ours;	      /* this run has made it, for all it knows */
	int fd;		      /* owned; -1 */
	struct xfer_handles handles;
	unsigned blocks;      /* of data, under way */
	unsigned pending;     /* other requests under way */
	struct xfer_source source;
	struct xfer_target target;
	struct xfer_part part;
	struct xfer_opening opening;
	struct xfer_progress progress;
	struct xfer_tail tail;
	struct xfer_small small;
	struct xfer_first_link first_link;
	struct xfer_compare compare;
	struct progress_item item;
	TAILQ_ENTRY(xfer_file) entry;
};

/* Does what is opened hold data that is used? */
static inline bool
xfer_keeps_data(const struct xfer_file *f)
{
	return f->target.reuse == XFER_REUSE_CHECKED ||
	    f->target.reuse == XFER_REUSE_TRUSTED;
}

/* Can it be filled? */
static inline bool
xfer_dir_is_there(const struct xfer_dir *d)
{
	return d->state == XFER_DIR_FOUND || d->state == XFER_DIR_MADE;
}

/* --- the transfer --- */

/* What was learnt about more connections. */
struct xfer_growth {
	bool stopped;	    /* no more */
	unsigned had;	    /* connections, before the last ones were opened */
	unsigned wanted;    /* connections, with these */
	double before;	    /* best rate with `had`, bytes a second */
	double best;	    /* of all samples */
	uint64_t since_ms;  /* when the last of them had moved data */
};
struct xfer_sample {
	uint64_t now_ms, rtt_ms;
	double rate;	    /* bytes a second, all streams */
	double seconds_left; /* of work, at that rate */
	uint64_t bulk_left;  /* bytes, of the files that move */
	unsigned connections; /* that have moved data */
	unsigned max;	    /* 0: as it pays */
};

/* What all streams show together. */
struct xfer_streams_view {
	uint64_t rtt_ms;  /* the longest */
	uint64_t rate;	  /* bytes a second */
	uint64_t windows; /* of the peer's channels, bytes */
	uint64_t stalled_ms, bulk_left;
	unsigned connections; /* that have moved data */
	bool fixed; /* the windows do not follow the path by themselves */
	bool held;  /* they hold an upload back */
};

/* Where the time went, microseconds of one clock. */
struct xfer_spent {
	uint64_t all, disk, limit, waiting;
};

/* Streams that were opened, and whether more are. */
struct xfer_grow {
	struct xfer_growth connections;
	unsigned to_open;      /* connections */
	unsigned channels;     /* the first included */
	bool channels_stopped;
};

/* When all streams were lost. */
struct xfer_retry {
	unsigned used;
	uint64_t at_ms; /* no stream is opened before */
	bool answered;	/* a server did, once */
};

struct xfer_path_requests {
	struct xfer_pending_list unsent; /* those under way are in no list */
	size_t count; /* both */
};

struct xfer_file_lists {
	struct xfer_files queue, active, done, comparing;
	size_t queued, active_count;
	size_t held;	 /* wait for their directory, or for another name */
	size_t renaming; /* in that state: they have no handle */
	size_t small;	 /* moving as small files: they have none either */
	size_t max;	 /* with handles, at a time */
};

struct xfer_dir_lists {
	/* Waiting to be listed, newest first; uploads that are being read;
	 * downloads with a handle or an OPENDIR in flight; of these, the ones
	 * that READDIRs may be sent for; uploads that wait for a handle to
	 * have their times set; and all there are. */
	struct xfer_dirs waiting, walking, listing, ready, fixing, all;
	size_t count, waiting_count, listing_count;
	bool any;	   /* there was one */
	size_t names_max;  /* known, then larger answers are dropped */
	unsigned readdirs; /* in flight */
	unsigned expected; /* names expected from these, and from those that
			    * follow OPENDIRs in flight */
	/* By depth: names, and directories among them, in the first answer. */
	unsigned usual[XFER_DEPTH_MAX + 1], usual_dirs[XFER_DEPTH_MAX + 1];
	unsigned no_early_close; /* so many directories */
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
	unsigned long failures;
	struct xfer_spent spent;
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
void xfer_note(struct xfer *x, const char *path, const char *text);
/* Links on this host, in the way of what is written: those that are copied are
 * never gone through. */
enum local_links xfer_target_links(const struct xfer *x);
/* Owns both names from then on, also when it fails. */
int xfer_add_file(struct xfer *x, struct xfer_dir *dir, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs,
    enum local_links links) must_check;
void xfer_queue_file(struct xfer_file *f);

/* transfer-file.c */
void xfer_file_enter(struct xfer_file *f, enum xfer_state state);
void xfer_file_start(struct xfer_file *f);
void xfer_file_fail(struct xfer_file *f);
/* After an answer: moves the file on if it waits for nothing any more. */
void xfer_file_settle(struct xfer_file *f);
/* The stream is over, and with it the file's handle on it. */
void xfer_file_lost(struct xfer_file *f, struct xfer_stream *stream);
/* What is at the target is known: decides how much of it is used, and opens. */
void xfer_file_choose_reuse(struct xfer_file *f);
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

/* transfer-finish.c */
/* All data is sent, or requested: takes the next step towards CLOSE. */
void xfer_file_sent(struct xfer_file *f);
/* Sends the next step of the tail, or all that are left. */
void xfer_tail_continue(struct xfer_file *f);
/* A comparison of the target, or to verify, has ended. */
void xfer_file_compared(struct xfer_file *f, int why);
/* The data of a small file is at its target or (download) in f->fd; or the
 * file has failed. */
void xfer_file_arrived(struct xfer_file *f);

/* transfer-times.c */
/* Times of the source, for the kernel. */
void xfer_times(const struct sftp_attrs *a, const struct xfer_exact *e,
    struct timespec out[2]);
void xfer_exact_from_stat(struct xfer_exact *e, const struct stat *st);
bool xfer_exact_from_reply(struct xfer_exact *e,
    const struct sftp_reply *reply);
/* Do they need times-ns, and does the server have it? */
bool xfer_wants_times_ns(struct xfer *x, const struct xfer_exact *e);

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

/* transfer-part.c */
/* The part of a download, where the file is. */
const char *xfer_part_local(const struct xfer_file *f);
/* By what is known of the target, and of the part if that is made. */
enum target_plan xfer_plan(const struct xfer_file *f);
/* What is at the target and is replaced without a question (a link, a further
 * name) counts as not there. */
void xfer_target_skip_replaced(struct xfer_file *f);
/* Learns what a download's target and old part are. */
void xfer_part_stat(struct xfer_file *f);
bool xfer_part_open(struct xfer_file *f);
/* Decides the target's final mode. */
void xfer_part_mode(struct xfer_file *f);
/* The mode that a part, or a target, is made with. */
uint32_t xfer_part_first_mode(const struct xfer_file *f);
/* May others do with the part what they may not do with the target? */
bool xfer_part_is_lax(const struct xfer_file *f);

/* transfer-target.c: answers settle the file. */
/* Is the target written from its beginning, without having been cut? */
bool xfer_overwrites(const struct xfer_file *f);
/* May a target that is replaced be written? Only its server knows. */
void xfer_target_ask(struct xfer_file *f, struct xfer_stream *stream);
/* How much old content is there? False: it does not matter, or is known. */
bool xfer_target_inspect(struct xfer_file *f, struct xfer_handle *e);

/* transfer-owner.c: whose is the old part of an upload? */
/* made: attributes of a file that the server has just made for us. */
void xfer_owner_learn(struct xfer *x, const struct sftp_attrs *made);
/* Has the part another owner than that? An unknown owner does not differ. */
bool xfer_owner_differs(const struct xfer_file *f,
    const struct sftp_attrs *part);
/* True: it must be found out first; then xfer_file_choose_reuse() is called
 * again. */
bool xfer_owner_probe(struct xfer_file *f);
/* The probe was opened, or inspected. False: it failed, or was lost. */
bool xfer_owner_probe_opened(struct xfer_file *f);
void xfer_owner_probe_drop(struct xfer_file *f);
/* Gives a download's part its name, while lock holds it. False: reported. */
bool xfer_part_rename(struct xfer_file *f, int lock);
/* What was written may not be stored: removes what would let a later run take
 * it for whole (the part, or the target's time). lock: a descriptor of what a
 * download has written. */
void xfer_part_withdraw(struct xfer_file *f, int lock);

/* transfer-rename.c */
/* To a path request: settles the file, unless all is being freed. */
void xfer_path_answered(struct xfer_file *f, const struct sftp_reply *reply);
/* Removes the part; done may be NULL. If its stream is lost, the part may
 * stay. */
void xfer_part_remove(struct xfer_file *f, sftp_done_fn done);
/* Removes the part whatever streams are lost. The caller makes no part of that
 * name, and does not end the file, before f->pending says that it is done. */
void xfer_part_remove_surely(struct xfer_file *f);
/* Its part is whole, and closed. */
void xfer_file_rename(struct xfer_file *f);

/* transfer-small.c */
/* True: it is being moved as a small file. */
bool xfer_small_start(struct xfer_file *f);
/* True: it may be moved so later, but enough is under way now, or it is not
 * known yet what the server can do. */
bool xfer_small_waits(struct xfer *x, const struct xfer_file *f);

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
/* These bytes are still to be moved. */
void xfer_range_add(struct xfer_file *f, uint64_t offset, uint64_t len);
void xfer_ranges_free(struct xfer_file *f);
/* Blocks are reused, so that none is allocated per request. NULL: no memory. */
struct xfer_block *xfer_block_new(struct xfer_handle *e, uint64_t offset,
    uint32_t len);
void xfer_block_free(struct xfer *x, struct xfer_block *b);
/* Milliseconds until the rate limit lets data move; 0: it does not wait. */
int xfer_rate_wait_ms(struct xfer *x);
void xfer_blocks_free(struct xfer *x);

/* transfer-local.c */
/* Reads directories of this host. True if more could be done at once. */
bool xfer_walk(struct xfer *x);
void xfer_walk_ends(struct xfer_dir *d);

/* transfer-between.c: all of it does nothing if there is no second host. */
/* ERR_*: one of the two sessions is over, and both are now, so that no request
 * refers to the transfer any more. */
int xfer_between_check(struct xfer *x) must_check;
/* How many files may be open at a time. */
size_t xfer_between_files(const struct xfer *x);
/* Is the target the source? Only where both are on one machine, which tells. */
bool xfer_between_same(const struct xfer_file *f);
void xfer_between_free(struct xfer *x);

/* transfer-resume.c */
/* Compares the first size bytes of both ends; settles the file at the
 * end. */
void xfer_compare_start(struct xfer_file *f, int why, uint64_t size);
void xfer_compare_stop(struct xfer_file *f);
void xfer_compare_issue(struct xfer *x);
/* Bytes of the request b are the same at both ends, or not. */
void xfer_compared(struct xfer_block *b, uint64_t offset, uint32_t len,
    bool same);
/* Marks of what is whole, behind the data of a part, for servers that have
 * no digests. */
void xfer_marks_start(struct xfer_file *f);
void xfer_marks_moved(struct xfer_block *b, uint32_t len);
/* Reads what an earlier run left; then the data may move. */
void xfer_marks_read(struct xfer_file *f);

/* transfer-digest.c */
/* Compares what is at offset with their digest; the result goes to
 * xfer_compared(). False: no memory, or XFER_DIGESTS_MAX are waiting. */
bool xfer_digest_post(struct xfer_block *b, uint64_t offset, uint32_t len,
    const uint8_t *theirs) must_check;
/* Wakes the threads, after one or more were posted. */
void xfer_digest_kick(struct xfer *x);
/* Passes on what is ready, without waiting; drain waits for all. */
void xfer_digest_collect(struct xfer *x);
void xfer_digest_drain(struct xfer *x);
/* Milliseconds until there may be something to collect; -1: nothing waits. */
int xfer_digest_wait_ms(const struct xfer *x);
void xfer_digest_free(struct xfer *x);

/* transfer-streams.c */
int xfer_stream_add(struct xfer *x, struct sftp *s, enum xfer_stream_kind kind,
    bool borrowed) must_check;
void xfer_streams_free(struct xfer *x);
/* Gives the work of ended streams to others; opens streams anew when all are
 * lost. ERR_*: no stream is left. */
int xfer_streams_check(struct xfer *x) must_check;
/* Measures, and opens more streams if that pays. */
void xfer_streams_grow(struct xfer *x);
/* Lets idle streams help with large files. */
void xfer_streams_spread(struct xfer *x);
int xfer_streams_turn(struct xfer *x, bool more, int timeout_ms) must_check;
/* The stream for one more file; NULL: no handle is free. */
struct xfer_stream *xfer_stream_pick(struct xfer *x);
/* The first whose session is not over; NULL: there is none. */
struct xfer_stream *xfer_stream_first(struct xfer *x);
bool xfer_has(struct xfer *x, enum sftp_extension ext);
/* done gets the server's answer, or ERR_NOMEM, or in xfer_free()
 * ERR_CANCELLED; the error of a lost session only if q->once. NULL: the
 * answer is ignored. */
void xfer_request_path(struct xfer *x, const struct xfer_path_request *q,
    sftp_done_fn done, void *arg);
void xfer_path_requests_send(struct xfer *x);
void xfer_path_requests_free(struct xfer *x);

/* transfer-tree.c */
/* Owns both names and `at` from then on. at: of a source on this host; else
 * NULL. exact: NULL: unknown. */
int xfer_add_dir(struct xfer *x, struct xfer_dir *parent, bool up,
    struct local_dir *at, char *local, char *remote,
    const struct sftp_attrs *attrs,
    const struct xfer_exact *exact) must_check;
void xfer_dir_unref(struct xfer_dir *d);
void xfer_dirs_free(struct xfer *x);
/* Sets the times of directories that are complete, as handles are free. */
void xfer_dirs_fix(struct xfer *x);

/* transfer-list.c */
/* It may be listed, as soon as its turn comes. */
void xfer_dir_wait(struct xfer_dir *d);
/* Frees what only a listing needs. */
void xfer_dir_unlist(struct xfer_dir *d);
void xfer_dir_stop_waiting(struct xfer_dir *d);
/* Is it read here, and not over a stream? */
bool xfer_dir_is_local(const struct xfer_dir *d);
/* Is there room for more names? */
bool xfer_may_find_more(struct xfer *x);
/* Lists more, up to XFER_QUEUE_MAX. True if more could be done at once. */
bool xfer_list(struct xfer *x);
/* Is all listed that was found so far? */
bool xfer_listed(const struct xfer *x);
void xfer_dirs_lost(struct xfer *x, const struct xfer_stream *stream);
/* No more is listed; requests under way are waited for. */
void xfer_dirs_stop(struct xfer *x);
/* How many more OPENDIRs may be sent now. */
size_t xfer_opendirs_left(const struct xfer_stream *l);
/* Sends OPENDIR. done must call xfer_opendir_answered() first of all. */
void xfer_opendir_send(struct xfer_dir *d, struct xfer_stream *l,
    const char *path, sftp_done_fn done);
/* True: refused, but perhaps for now only; send it again later. */
bool xfer_opendir_answered(struct xfer_dir *d, struct xfer_stream *l,
    const struct sftp_reply *reply);
/* Sends CLOSE; the answer is ignored. */
void xfer_closedir_send(struct xfer_stream *l, const struct sftp_handle *h);

#include "xfer/transfer/transfer-growth.h"

#endif
