/* SPDX-License-Identifier: ISC */
/*
 * Inside of the transfer engine: what transfer.c (queue, loop, files),
 * transfer-data.c (blocks of data) and transfer-tree.c (directories) share.
 * Nobody else includes it.
 *
 * Callbacks of the session change states only; files and directories are
 * freed by the loop alone, because a request may fail, and call back, while
 * it is being made.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_TRANSFER_INT_H
#define HPN_XFER_TRANSFER_INT_H

#include <sys/queue.h>
#include <sys/stat.h>

#include <dirent.h>

#include "xfer/transfer.h"

enum {
	XFER_DEPTH_MAX = 64,	 /* directories below each other */
	XFER_QUEUE_MAX = 2048,	 /* files found but not started */
	XFER_DIRS_MAX = 1000000, /* directories found but not done */
	XFER_DIRS_CROWD = 20000, /* then the newest come first */
	XFER_LISTINGS_MAX = 8,	 /* remote directories read at a time */
	XFER_OUTPUT_MAX = 512 * 1024, /* bytes, then requests wait */
};

/* A request for data. */
struct xfer_block {
	struct xfer_file *file;
	uint64_t offset;
	uint32_t len, got;
	struct xfer_block *next_free;
};

enum xfer_state {
	XFER_QUEUED,
	XFER_OPENING, /* OPEN is under way */
	XFER_MOVING,  /* more data is to be asked for or sent */
	XFER_WAITING, /* for the last answers */
	XFER_CLOSING, /* CLOSE is under way */
	XFER_DONE,    /* the loop frees it */
};

struct xfer_dir {
	struct xfer *x;
	struct xfer_dir *parent; /* holds a reference; NULL: a root */
	unsigned refs;		 /* children, and itself while listed */
	bool up, failed;
	bool fix;		 /* attributes are set at the end */
	int depth;
	char *local, *remote;	 /* owned */
	struct sftp_attrs attrs; /* of the source */
	DIR *stream;		 /* upload: NULL until listed */
	struct sftp_handle handle; /* download */
	bool handle_open, ended;
	unsigned reads, reads_max; /* READDIR under way */
	unsigned pending;	   /* other requests under way */
	bool listing;		   /* in x->listing, else in x->waiting */
	TAILQ_ENTRY(xfer_dir) entry;
	TAILQ_ENTRY(xfer_dir) all;
};

struct xfer_file {
	struct xfer *x;
	struct xfer_dir *dir; /* holds a reference; may be NULL */
	bool up, failed, handle_open;
	enum xfer_state state;
	char *local, *remote; /* owned */
	int fd;		      /* owned; -1 */
	struct sftp_handle handle;
	struct sftp_attrs attrs; /* of the source */
	uint64_t size;		 /* expected; 0: until it ends */
	uint64_t next;		 /* offset to send or ask for next */
	uint64_t eof_at;	 /* lowest offset where the server ended */
	uint64_t top;		 /* highest offset received */
	unsigned pending;	 /* requests under way */
	struct progress_item item;
	TAILQ_ENTRY(xfer_file) entry;
};
TAILQ_HEAD(xfer_files, xfer_file);
TAILQ_HEAD(xfer_dirs, xfer_dir);

struct xfer {
	struct sftp *s;
	struct xfer_opts opts;
	struct xfer_files queue, active, done;
	size_t queued, active_count, files_max;
	struct xfer_dirs waiting, listing, all_dirs;
	size_t dirs, listings;
	struct xfer_block *free_blocks;
	size_t in_flight, window; /* bytes of data */
	unsigned blocks;	  /* requests of data under way */
	/* Rate limit: bytes that may be asked for now. */
	double tokens;
	uint64_t tokens_ms;
	unsigned long failures;
	mode_t umask;
};

/* transfer.c */
void xfer_report(struct xfer *x, const char *path, const char *text);
void xfer_report_errno(struct xfer *x, const char *path, int error);
/* Reports a reply that is no success, unless the session ended: that is
 * told once, by the caller of xfer_run(). */
void xfer_report_reply(struct xfer *x, const char *path,
    const struct sftp_reply *reply);
/* Takes both names (also when it fails). */
int xfer_add_file(struct xfer *x, struct xfer_dir *dir, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs) must_check;
void xfer_file_fail(struct xfer_file *f);
/* After an answer: moves the file on if nothing is under way any more. */
void xfer_file_settle(struct xfer_file *f);

/* transfer-data.c: asks for, or sends, as much as may be under way. True if
 * more could be done at once after the next send. */
bool xfer_issue(struct xfer *x);
/* Milliseconds until the rate limit lets data move; 0: it does not wait. */
int xfer_rate_wait_ms(struct xfer *x);
void xfer_blocks_free(struct xfer *x);

/* transfer-tree.c */
int xfer_add_dir(struct xfer *x, struct xfer_dir *parent, bool up,
    char *local, char *remote, const struct sftp_attrs *attrs) must_check;
/* Lists more, up to XFER_QUEUE_MAX. True if more could be done at once. */
bool xfer_list(struct xfer *x);
void xfer_dir_unref(struct xfer_dir *d);
void xfer_dirs_free(struct xfer *x);
/* "dir/name"; NULL when out of memory. */
char *xfer_join(const char *dir, const char *name);

#endif
