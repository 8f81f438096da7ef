/* SPDX-License-Identifier: ISC */
/*
 * Inside of the transfer engine: what the files xfer/transfer*.c share.
 * Nobody else includes it.
 *
 *	transfer.c		life, queue, loop
 *	transfer-file.c		the life of a file
 *	transfer-handles.c		its handles
 *	transfer-finish.c	when its data has moved
 *	transfer-part.c		where its data goes first
 *	transfer-owner.c	whose an old part is
 *	transfer-rename.c	when all of it is there
 *	transfer-times.c	times of sources
 *	transfer-small.c	files of one request
 *	transfer-data.c		blocks of data
 *	transfer-resume.c	what is there already; is it the same
 *	transfer-digest.c	digests of this end
 *	transfer-streams.c	sessions, requests about paths
 *	transfer-growth.c	how many sessions pay
 *	transfer-tree.c		directories
 *	transfer-list.c		what is in them
 *	transfer-links.c	symbolic and hard links
 *	transfer-sparse.c	holes
 *	transfer-why.c		what it waited for
 *
 * Callbacks of sessions change states only; files and directories are freed
 * by the loop alone, because a request may fail, and call back, while it is
 * being made. When a stream ends, each of its requests calls back with an
 * error; these only count down and give back what was not done, and the loop
 * has it done by another stream (xfer_streams_check).
 *
 * Threads: one at a time, and those of transfer-digest.c, which read files.
 */
#ifndef HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H
#define HPN_XFER_TRANSFER_TRANSFER_INTERNAL_H

#include <sys/queue.h>
#include <sys/stat.h>

#include <dirent.h>

#include "xfer/part-name.h"
#include "xfer/transfer/transfer.h"

enum {
	XFER_DEPTH_MAX = 64,	 /* directories below each other */
	XFER_QUEUE_MAX = 2048,	 /* files found but not started */
	XFER_DIRS_MAX = 1000000, /* directories found but not done */
	XFER_LISTINGS_MAX = 1024, /* handles of directories */
	XFER_NAMES_FIRST = 8,	 /* expected of a directory, at first */
	XFER_NAMES_ROOM = 16384, /* known, then larger answers are dropped */
	XFER_OUTPUT_MAX = 512 * 1024, /* bytes, then requests wait */
	XFER_STREAMS_MAX = 32,
	XFER_MODE_COPIED = 0777,
	XFER_MODE_PRESERVED = 07777,
	XFER_MODE_PART = 0600, /* a part is to be opened again */
	/* Whole pages; with its head it is a packet between our own ends. */
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

/* A request for data. */
struct xfer_block {
	struct xfer_handle *end;
	uint64_t offset;
	uint32_t len, got;
	struct xfer_block *next_free;
};

/* Bytes that an end has given back, or that a comparison found missing. */
struct xfer_range {
	uint64_t offset, len;
	struct xfer_range *next;
};

/* A handle of a file on a stream. The first end of a file makes the target,
 * and closes last. */
struct xfer_handle {
	struct xfer_file *file;
	struct xfer_stream *stream;
	struct sftp_handle handle;
	bool open;	 /* the handle is there */
	bool counted;	 /* among the stream's */
	bool closed;	 /* CLOSE is under way, or answered */
	uint64_t asked_ms;
	bool moving;	 /* in stream->moving */
	uint64_t next, until; /* the range in hand */
	uint64_t data_until; /* no hole before that offset; 0: unknown */
	unsigned pending;     /* requests under way, of any kind */
	unsigned blocks;      /* of data, among them */
	TAILQ_ENTRY(xfer_handle) entry; /* in file->ends */
	TAILQ_ENTRY(xfer_handle) turn;  /* in stream->moving */
};
struct xfer_stream {
	struct xfer *x;
	struct sftp *s;
	enum xfer_stream_kind kind; /* what it was opened as */
	bool borrowed;	      /* the caller's session */
	bool gone;	      /* ended; freed by the loop */
	bool proved;	      /* has moved data */
	struct xfer_handles moving;
	unsigned ends, blocks;
	/* Handles of directories, counted from OPENDIR to CLOSE, both when
	 * they are sent. */
	unsigned listed;
	unsigned listed_max;   /* limit learnt from refusals; 0: none yet */
	unsigned listed_was;   /* how many there were at the last refusal */
	unsigned listed_given; /* successes since the limit was changed */
	unsigned opens;	       /* OPENDIRs sent so far */
	unsigned opens_cut;    /* its value when the limit was halved */
	size_t in_flight, window; /* bytes of data */
	uint64_t rtt_ms, acked, sample_acked, sample_ms;
	uint64_t rate;	      /* bytes a second, in the last round trips */
	TAILQ_ENTRY(xfer_stream) entry;
};

/* A request about paths, which any stream may make, again if need be. */
struct xfer_path_request {
	enum sftp_type type; /* LSTAT, STAT, REMOVE, MKDIR, SETSTAT, RENAME,
			      * READLINK, SYMLINK, EXTENDED */
	enum sftp_extension ext; /* POSIX_RENAME, HARDLINK, STAT_NS,
				  * LSETSTAT */
	bool follow; /* STAT_NS: links */
	const char *path, *second;
	const struct sftp_attrs *attrs;
	/* Not again by another stream: what it would do then is not what was
	 * meant. Done gets the end of the session as well. */
	bool once;
};

enum xfer_state {
	XFER_QUEUED,
	XFER_LOOKING,	/* at the source */
	XFER_LINKING,	/* transfer-links.c does it all */
	XFER_ASKING,	/* what is there already */
	XFER_OPENING,	/* the first OPEN is under way */
	XFER_MOVING,	/* data */
	XFER_COMPARING, /* are both ends the same */
	XFER_CLOSING,	/* attributes and CLOSE are under way */
	XFER_RENAMING,
	XFER_SMALL,	/* its one request is under way */
	XFER_DONE,	/* the loop frees it */
};

/* What is done to an upload's handle when all data is sent, in this order. */
enum xfer_tail {
	XFER_TAIL_SIZE,
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
	bool differs, listed;
	int status; /* of the server's, why it could not be told */
	uint64_t next, size;
	unsigned pending;
	TAILQ_ENTRY(xfer_file) entry; /* in x->comparing */
};

/* What attributes of SFTP 3 leave out. */
struct xfer_exact {
	bool known;
	struct timespec times[2]; /* atime, mtime */
	uint32_t nlink;
	uint64_t dev, ino, blocks;
};

struct xfer_dir {
	struct xfer *x;
	struct xfer_dir *parent; /* holds a reference; NULL: a root */
	unsigned refs;		 /* children, and itself while listed */
	bool up, failed;
	bool made;		 /* by us just now, so it is empty */
	bool there;		 /* it can be filled */
	bool fix;		 /* attributes are set at the end */
	unsigned tries;
	int depth;
	char *local, *remote;	 /* owned */
	struct sftp_attrs attrs; /* of the source */
	struct xfer_exact exact;
	DIR *dirp;		 /* upload: NULL until listed */
	struct xfer_stream *stream;	 /* of the handle, or OPENDIR */
	struct sftp_handle *handle; /* owned; download: NULL until listed */
	bool alone;		 /* OPENDIR: no other handle was in use */
	unsigned opening;	 /* OPENDIR: its number on the stream */
	unsigned refused;	 /* OPENDIRs refused so far */
	bool guessed;		 /* READDIRs were sent along with OPENDIR */
	bool ready;		 /* in x->ready */
	bool ended;		 /* no more READDIRs are to be sent */
	bool closed;		 /* CLOSE was sent, or the stream is gone */
	bool dropped;		 /* names were dropped: list it again */
	bool whole;		 /* no early CLOSE for this one */
	unsigned reads;		 /* READDIRs and OPENDIR in flight */
	unsigned reads_max;
	unsigned batch;		 /* names in the last answer; 0: none yet */
	unsigned expected;	 /* names expected from those in flight */
	struct xfer_names *names;  /* hashes of the names found so far */
	struct xfer_files held;	   /* upload: until it is there */
	/* waiting, walking, listing or fixing */
	TAILQ_ENTRY(xfer_dir) entry;
	TAILQ_ENTRY(xfer_dir) turn; /* ready */
	TAILQ_ENTRY(xfer_dir) all;
};

struct xfer_file {
	struct xfer *x;
	struct xfer_dir *dir; /* holds a reference; may be NULL */
	bool up, failed;
	bool resume;	/* what is there already may be used */
	bool asked;	/* what is there is known */
	bool keep;	/* what is opened holds data that is used */
	bool appends;	/* behind what is there, which is not compared */
	bool begun;	/* next, todo are what is left to be done */
	bool whole;	/* the target seems complete */
	bool cleared;	/* an old part was removed */
	bool cut;	/* what is written may be longer than the source */
	bool ended;	/* the source ended: nothing behind next */
	bool end_seen;	/* its size was asked for, then */
	bool looked;	/* at what OPEN made */
	bool crowded;	/* the server gives no further handle */
	bool symlink;	/* it is one, and copied as such */
	bool copies;	/* what could be a hard link */
	bool sparse;	/* it has holes, or is read for zeros */
	bool mapping;	/* the server is telling where they are */
	bool sized;	/* the target was cut, or grown, to its size */
	bool verified;
	enum xfer_tail tail; /* the next step */
	bool tail_lost;	/* of attributes and CLOSE: the stream ended first */
	bool refused;	/* as a small one */
	bool part_ours;	/* this run has made it, for all that is known */
	bool remade;	/* the part, for its first mode let others read it */
	char *probe;	/* owned; a file that is made to see whose it is */
	bool foreign;	/* the old part is somebody else's */
	bool write_failed; /* at the target */
	bool unstored;	/* what was written may be lost */
	struct {
		struct xfer_stream *stream;
		bool wrong, lost, open, closed;
		struct sftp_handle guess, handle;
		uint8_t *data; /* owned: of a download */
	} small;
	enum xfer_state state;
	char *local, *remote; /* owned */
	char *part;	      /* owned; NULL: in place */
	int fd;		      /* owned; -1 */
	uint32_t status;      /* of a refused OPEN */
	unsigned renames;     /* tries */
	struct xfer_handles ends;
	struct sftp_attrs attrs; /* of the source */
	struct xfer_exact exact;
	struct xfer_hard *hard; /* this is the name that is copied */
	char *text;		 /* owned; where a symbolic link leads to */
	uint64_t solid;		 /* before that offset, holes are written */
	unsigned maps;		 /* answers with extents */
	struct sftp_attrs target, old_part, made; /* flags 0: not there */
	uint32_t nlink;		 /* of the target; 0: unknown */
	uint32_t part_nlink;	 /* of an old part; 0: unknown */
	unsigned part_number;	 /* from 1 on: see xfer/part-name.h */
	bool set_mode;		 /* mode is to be set at the end */
	uint32_t mode;
	uint64_t size;		 /* expected; 0: until it ends */
	uint64_t next;		 /* offset of the next range */
	uint64_t chunk;		 /* bytes of a range */
	uint64_t eof_at;	 /* lowest offset where the server ended */
	uint64_t top;		 /* highest offset received */
	uint64_t moved;		 /* bytes that are at the target */
	struct xfer_range *todo; /* owned; before next */
	uint32_t *chunk_left;	 /* owned: bytes; NULL: no marks are made */
	unsigned blocks;	 /* of data, under way */
	unsigned pending;	 /* other requests under way */
	struct xfer_compare compare;
	struct progress_item item;
	TAILQ_ENTRY(xfer_file) entry;
};
/* What was learnt about more connections. */
struct xfer_growth {
	bool stopped;	    /* no more */
	unsigned had;	    /* connections, when the last ones were asked for */
	unsigned wanted;    /* and since */
	double before;	    /* bytes a second with those it had, at best */
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

/* What a look at all streams shows. */
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

struct xfer {
	struct xfer_streams source; /* ops NULL: none */
	struct xfer_opts opts;
	struct xfer_stream_list streams;
	unsigned stream_count;
	int err; /* of the last stream */
	unsigned retries_used;
	uint64_t retry_ms; /* no stream is opened before */
	struct xfer_pending_list
	    asks;              /* to be sent; those under way are in none */
	size_t asking;	       /* both */
	struct xfer_growth growth;
	unsigned to_open; /* connections */
	struct xfer_files queue, active, done, comparing;
	size_t queued, held, active_count, renaming, files_max;
	bool stopped; /* nothing new is begun */
	bool over; /* nor is an answer awaited */
	/* Directories: waiting to be listed, newest first; uploads that are
	 * being read; downloads with a handle or an OPENDIR in flight; of
	 * these, the ones that READDIRs may be sent for; uploads that wait for
	 * a handle to have their times set. */
	struct xfer_dirs waiting, walking, listing, ready, fixing, all_dirs;
	size_t dirs, waits, listings, names_room;
	unsigned readdirs; /* in flight */
	unsigned expected; /* names expected from these */
	unsigned usual;	   /* names in the first answer of a directory */
	unsigned no_early_close; /* so many directories */
	struct xfer_block *free_blocks;
	size_t in_flight; /* bytes of data */
	unsigned blocks;  /* requests of data under way */
	uint8_t *small_data; /* owned */
	size_t small;	     /* files in XFER_SMALL: they hold no handle */
	uint8_t *scratch; /* owned; for reading back */
	struct xfer_digests *digests; /* owned; NULL: none yet */
	size_t compare_blocks; /* asked for, and not compared */
	struct xfer_hard_table *hards; /* owned */
	/* Rate limit: bytes that may be asked for now. */
	double tokens;
	uint64_t tokens_ms;
	unsigned long failures;
	bool told_no_digests, told_no_hard_links;
	bool owner_known;
	struct sftp_attrs owner; /* of what the server makes for us */
	bool spoke; /* a server answered once */
	bool trees; /* directories were found */
	uint64_t thought_ms, sample_ms, sample_acked, acked;
	uint64_t stalled_ms;   /* window_stall_ms of all streams, then */
	struct xfer_stream *fastest; /* NULL: there is no choice */
	uint64_t left_ms, rtt_ms;  /* of the files that move; the longest */
	unsigned channels;     /* asked for, the first included */
	bool channels_stopped;
	struct xfer_spent spent;
	mode_t umask;
};

/* transfer.c */
void xfer_report(struct xfer *x, const char *path, const char *text);
void xfer_report_errno(struct xfer *x, const char *path, int error);
/* Reports a reply that is no success, unless the session ended: that is
 * told once, by the caller of xfer_run(). */
void xfer_report_reply(struct xfer *x, const char *path,
    const struct sftp_reply *reply);
void xfer_note(struct xfer *x, const char *path, const char *text);
/* Takes both names (also when it fails). */
int xfer_add_file(struct xfer *x, struct xfer_dir *dir, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs) must_check;
void xfer_queue_file(struct xfer_file *f);

/* transfer-file.c */
void xfer_file_start(struct xfer_file *f);
void xfer_file_fail(struct xfer_file *f);
/* After an answer: moves the file on if it waits for nothing any more. */
void xfer_file_settle(struct xfer_file *f);
/* Its ends on stream are no more. */
void xfer_file_lost(struct xfer_file *f, struct xfer_stream *stream);
/* What is at the target is known: how much of it can be used? */
void xfer_file_asked(struct xfer_file *f);
/* Begins anew, moving all (or what -Z would). */
void xfer_file_restart(struct xfer_file *f, bool resume);
void xfer_file_free(struct xfer_file *f);
/* Ends early, as soon as its answers are there. */
void xfer_file_stop(struct xfer_file *f);
/* No request is under way any more. */
void xfer_file_done(struct xfer_file *f);
/* The source is known as well as it will be. */
void xfer_file_begin(struct xfer_file *f);
/* What is at the target is known: opens what data goes to. */
void xfer_file_open(struct xfer_file *f);

/* transfer-handles.c */
void xfer_handle_open(struct xfer_file *f, struct xfer_stream *stream,
    const char *path, uint32_t flags);
/* Nothing of it is under way any more. */
void xfer_handle_free(struct xfer_handle *e);
/* done, with the end, may be NULL. */
void xfer_handle_close(struct xfer_handle *e, sftp_done_fn done);
/* The end that closes last; NULL: it is lost. */
struct xfer_handle *xfer_main_handle(struct xfer_file *f);
/* Gives up what is open, without waiting. */
void xfer_handles_drop(struct xfer_file *f);
/* What a further end opens, and how. */
const char *xfer_open_name(const struct xfer_file *f);
uint32_t xfer_open_flags(const struct xfer_file *f);
/* One more, on another stream. */
void xfer_file_spread(struct xfer_file *f, struct xfer_stream *stream);

/* transfer-finish.c */
/* All data is sent, or asked for: the first step, or the next. */
void xfer_file_sent(struct xfer_file *f);
/* The next step of the tail, or all that are left. */
void xfer_tail_go_on(struct xfer_file *f);
/* A comparison, but of a part, has ended. */
void xfer_file_compared(struct xfer_file *f, int why);
/* A small one is at its target or (download) in f->fd, or has failed. */
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
/* Those that waited for f may go on. */
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
/* May a file with these attributes be replaced by one like made? */
bool xfer_may_replace(const struct sftp_attrs *target, uint32_t nlink,
    const struct sftp_attrs *made);
/* What is there already, and is to be replaced, counts as not there. */
void xfer_target_known(struct xfer_file *f);
/* Looks at a download's target and part. */
void xfer_part_look(struct xfer_file *f);
bool xfer_part_open(struct xfer_file *f);
/* What mode the target shall have, if the part was made for `wanted`. */
void xfer_part_mode(struct xfer_file *f, uint32_t wanted);
/* The mode that a part, or a target, is made with. */
uint32_t xfer_part_first_mode(const struct xfer_file *f);
/* Do others have a use of the part that they have not of the target? */
bool xfer_part_is_lax(const struct xfer_file *f);

/* transfer-owner.c: whose is the old part of an upload? */
/* These are the attributes of what the server has made for us. */
void xfer_owner_learn(struct xfer *x, const struct sftp_attrs *made);
/* Has it another owner than that? What is not told does not differ. */
bool xfer_owner_differs(const struct xfer_file *f,
    const struct sftp_attrs *part);
/* True: first that is asked, and xfer_file_asked() called again. */
bool xfer_owner_ask(struct xfer_file *f);
/* The answers; false if there are none to wait for. */
bool xfer_owner_opened(struct xfer_file *f);
void xfer_owner_forget(struct xfer_file *f);
/* Gives a download's part its name, while lock holds it. False: reported. */
bool xfer_part_rename(struct xfer_file *f, int lock);
/* What was written is perhaps not stored: no part, and no time, shall say
 * that it is. lock: of a download. */
void xfer_part_withdraw(struct xfer_file *f, int lock);

/* transfer-rename.c */
/* After the answer to a question: settles the file, if not all is over. */
void xfer_answered(struct xfer_file *f, const struct sftp_reply *reply);
/* A part that nobody needs; done may be NULL. */
void xfer_part_remove(struct xfer_file *f, sftp_done_fn done);
/* Its part is whole, and closed. */
void xfer_file_rename(struct xfer_file *f);

/* transfer-small.c */
/* True: it is moved by one request. */
bool xfer_small_start(struct xfer_file *f);
/* It may be, but there is enough under way, or the server unknown. */
bool xfer_small_waits(struct xfer *x, const struct xfer_file *f);

/* transfer-data.c: asks for, or sends, as much as may be under way. */
void xfer_issue(struct xfer *x);
/* Does data wait for requests before it to be sent? */
bool xfer_output_full(const struct xfer *x);
/* May more data be under way on l? */
bool xfer_may_issue(const struct xfer_stream *l, bool up);
/* Puts an end among those that move, if there is something for it. */
void xfer_handle_wake(struct xfer_handle *e);
/* Bytes of the source that need not be moved. */
void xfer_data_skipped(struct xfer_handle *e, uint64_t offset, uint64_t len);
bool xfer_write_local(struct xfer_file *f, const uint8_t *p, size_t len,
    uint64_t offset); /* false: errno */
/* All is sent, or asked for, and compared. */
bool xfer_data_sent(const struct xfer_file *f);
/* Bytes that are to be moved; given back, or missing. */
void xfer_range_add(struct xfer_file *f, uint64_t offset, uint64_t len);
void xfer_ranges_free(struct xfer_file *f);
/* Places for requests; NULL when out of memory. */
struct xfer_block *xfer_block_new(struct xfer_handle *e, uint64_t offset,
    uint32_t len);
void xfer_block_free(struct xfer *x, struct xfer_block *b);
/* Milliseconds until the rate limit lets data move; 0: it does not wait. */
int xfer_rate_wait_ms(struct xfer *x);
void xfer_blocks_free(struct xfer *x);

/* transfer-resume.c */
/* Compares the first size bytes of both ends; settles the file at the
 * end. */
void xfer_compare_start(struct xfer_file *f, int why, uint64_t size);
void xfer_compare_stop(struct xfer_file *f);
void xfer_compare_issue(struct xfer *x);
/* A block of a request is the same, or not. */
void xfer_compared(struct xfer_block *b, uint64_t offset, uint32_t len,
    bool same);
/* Marks of what is whole, behind the data of a part, for servers that have
 * no digests. */
void xfer_marks_start(struct xfer_file *f);
void xfer_marks_moved(struct xfer_block *b, uint32_t len);
/* Reads what an earlier run left; then the data may move. */
void xfer_marks_read(struct xfer_file *f);

/* transfer-digest.c */
/* Compares what is at offset with their digest; xfer_compared() tells. False:
 * no memory, or no place (there are XFER_DIGESTS_MAX). */
bool xfer_digest_post(struct xfer_block *b, uint64_t offset, uint32_t len,
    const uint8_t *theirs) must_check;
/* After posting. */
void xfer_digest_kick(struct xfer *x);
/* Tells what is known, without waiting; and waits for all. */
void xfer_digest_collect(struct xfer *x);
void xfer_digest_drain(struct xfer *x);
/* Until there may be something to collect; -1: nothing will be. */
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
/* The first that lives; NULL: none does. */
struct xfer_stream *xfer_stream_first(struct xfer *x);
bool xfer_has(struct xfer *x, enum sftp_extension ext);
/* done gets an answer of the server, or ERR_NOMEM; not the end of a session,
 * unless it is asked once, but ERR_CANCELLED in xfer_free(). NULL: nobody
 * cares. */
void xfer_request_path(struct xfer *x, const struct xfer_path_request *q,
    sftp_done_fn done, void *arg);
void xfer_path_requests_send(struct xfer *x);
void xfer_path_requests_free(struct xfer *x);

/* transfer-growth.c: decisions of numbers only. */
/* Does a slow start of so many bytes take longer than another login does? */
bool xfer_login_pays(uint64_t rtt_ms, uint64_t bytes);
/* How many connections to open now. */
unsigned xfer_growth_next(struct xfer_growth *g, const struct xfer_sample *s);
/* How many channels, if there are so many. */
unsigned xfer_channels_next(unsigned have, const struct xfer_streams_view *s);
/* Would len bytes more on l take longer than all that is left should? */
bool xfer_stream_lags(const struct xfer_stream *l, uint32_t len);
/* How large its blocks are, how many bytes it may have under way, and how
 * many may wait to be sent. */
uint32_t xfer_stream_block(const struct xfer_stream *l);
size_t xfer_stream_room(const struct xfer_stream *l, bool up);
size_t xfer_stream_queue(const struct xfer_stream *l);

/* transfer-tree.c */
int xfer_add_dir(struct xfer *x, struct xfer_dir *parent, bool up,
    char *local, char *remote, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact) must_check; /* NULL: unknown */
void xfer_dir_unref(struct xfer_dir *d);
void xfer_dirs_free(struct xfer *x);
/* Sets what is to be set of those that ended, as handles are free. */
void xfer_dirs_fix(struct xfer *x);

/* transfer-list.c */
/* It may be listed, as soon as its turn comes. */
void xfer_dir_wait(struct xfer_dir *d);
/* Frees what only a listing needs. */
void xfer_dir_unlist(struct xfer_dir *d);
/* Lists more, up to XFER_QUEUE_MAX. True if more could be done at once. */
bool xfer_list(struct xfer *x);
/* All that was found so far. */
bool xfer_listed(const struct xfer *x);
void xfer_dirs_lost(struct xfer *x, const struct xfer_stream *stream);
/* No more is listed; what is under way ends by itself. */
void xfer_dirs_stop(struct xfer *x);
/* Handles of directories: how many more OPENDIRs may be sent now. */
size_t xfer_opendirs_left(const struct xfer_stream *l);
/* Sends OPENDIR. done must call xfer_opendir_answered() first of all. */
void xfer_opendir_send(struct xfer_dir *d, struct xfer_stream *l,
    sftp_done_fn done);
/* True: refused, but perhaps for now only; send it again later. */
bool xfer_opendir_answered(struct xfer_dir *d, struct xfer_stream *l,
    const struct sftp_reply *reply);
/* Sends CLOSE; the answer is ignored. */
void xfer_closedir_send(struct xfer_stream *l, const struct sftp_handle *h);

#endif
