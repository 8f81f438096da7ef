/* SPDX-License-Identifier: ISC */
/* A file that is copied: what is known of it, and its states. Threads: one at a
 * time. */
#ifndef HPN_XFER_STATE_FILE_STATE_H
#define HPN_XFER_STATE_FILE_STATE_H

#include "xfer/local/local-tree.h"
#include "xfer/part-name.h"
#include "xfer/progress.h"
#include "xfer/state/compare-state.h"
#include "xfer/state/orders.h"
#include "xfer/state/transfer-events.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/state/transfer-limits.h"
#include "xfer/state/transfer-phases.h"

/* The states of a file. file-events.c has the table of allowed changes. */
enum xfer_state {
	XFER_QUEUED,
	XFER_STATING_SOURCE, /* requests about the source are under way */
	XFER_COPYING_PART,   /* at the server: transfer-late.c */
	XFER_STATING_TARGET, /* requests about target and part are under way */
	XFER_LINKING,	     /* a link is made: transfer-links.c */
	XFER_OPENING,	     /* the first OPEN is under way */
	XFER_MOVING,	     /* data moves, through handles */
	XFER_MOVING_SMALL,   /* data moves in one flight of requests */
	XFER_COMPARING,	     /* both ends of the file are compared */
	XFER_CLOSING,	     /* attributes and CLOSE are under way */
	XFER_RENAMING,	     /* the part gets the target's name */
	XFER_DONE,	     /* the loop frees it */
};

struct xfer_file {
	struct xfer *x;
	/* the directory of the tree that the file was found in, with a
	 * reference; NULL: none */
	struct xfer_dir *dir;
	char *local, *remote; /* owned */
	/* owned; directory on this host that has the file; or NULL */
	struct local_dir *at;
	const char *name;     /* name in the directory `at`; a part of local */
	enum local_links links; /* what a link of that name may lead to */
	enum xfer_state state;
	bool up, failed;
	bool resume;	      /* an old part or target may be used */
	bool only_attrs;      /* the target has the data: none moves */
	/* Set if the part of an upload was whole when its stream was lost, so
	 * that its marks may have been cut off. size, mtime: those of the
	 * source at that time. */
	struct {
		bool known;
		uint64_t size;
		uint32_t mtime;
	} whole;
	/* A stream that fell silent may still write the file's part, so the
	 * file waits (transfer-late.c). */
	struct {
		enum {
			XFER_LATE_NO,
			XFER_LATE_DOUBT, /* do other streams answer? */
			XFER_LATE_SURE,	 /* that is known: the file gets
					  * another part */
		} state;
		struct xfer_late_copy *copy; /* owned; of XFER_COPYING_PART */
	} late;
	/* number in the name of the part (xfer/part-name.h), from 1 */
	unsigned part_number;
	struct xfer_made made;
	bool in_place;	      /* the server refused to rename its part */
	bool part_noted;      /* the user was told of a part left alone */
	int fd;		      /* owned; the file on this host; -1: closed */
	struct xfer_handles handles;
	unsigned blocks;      /* blocks of data under way */
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
	struct xfer_duty *duty; /* owned; of a plan's order; NULL: no plan */
	struct progress_item item;
	struct {
		bool is; /* in x->files.touched */
		TAILQ_ENTRY(xfer_file) entry;
	} touched;
	TAILQ_ENTRY(xfer_file) entry;
};

/* Does the part, or target, that is opened hold data that is used? */
static inline bool
xfer_keeps_data(const struct xfer_file *f)
{
	return f->target.reuse == XFER_REUSE_CHECKED ||
	    f->target.reuse == XFER_REUSE_TRUSTED;
}

/* The delta of f, for data that it has in common with an old target; NULL: f is
 * sent whole. */
static inline struct xfer_delta *
xfer_delta_of(const struct xfer_file *f)
{
	return f->duty != NULL ? f->duty->delta : NULL;
}

/* True if f's part is in the directory of parts (xfer_opts.temp). */
static inline bool
xfer_in_temp(const struct xfer_file *f)
{
	return f->duty != NULL && f->duty->in_temp;
}

/* file-source.c */
/* Which attributes the target gets, SFTP_A_*; and the bits of the mode. */
uint32_t xfer_sets(const struct xfer_file *f);
/* The extended attributes that f gets; kinds 0: its own stay. */
struct xattrs xfer_xattrs(const struct xfer_file *f);
uint32_t xfer_mode_bits(const struct xfer_file *f);

struct xfer_file_lists {
	struct xfer_files queue, active, done, comparing;
	struct xfer_files touched; /* see xfer_file_touch() */
	bool settling;		   /* xfer_files_settle() runs */
	size_t queued, active_count;
	/* files that wait for their directory, or for another name of the same
	 * source */
	size_t held;
	size_t renaming; /* files in XFER_RENAMING, which have no handle */
	/* files in XFER_MOVING_SMALL, which have none either */
	size_t small;
	size_t crowded;	 /* files whose first OPEN is to be sent again */
	size_t max;	 /* most files with handles at a time */
};

/* file-events.c */
/* Changes the state, by the table of allowed changes in file-events.c. */
void xfer_file_enter(struct xfer_file *f, enum xfer_state state);
void xfer_file_fail(struct xfer_file *f);
/* Notes that something has happened to f: the loop takes its next step, if f
 * waits for nothing any more. */
void xfer_file_touch(struct xfer_file *f);
void xfer_file_untouch(struct xfer_file *f);
/* A path request of f was answered: touches f, unless the transfer is being
 * freed. */
void xfer_path_answered(struct xfer_file *f, const struct sftp_reply *reply);

#endif
