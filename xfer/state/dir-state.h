/* SPDX-License-Identifier: ISC */
/* Directories: what is known of them. Threads: one at a time. */
#ifndef HPN_XFER_STATE_DIR_STATE_H
#define HPN_XFER_STATE_DIR_STATE_H

#include <dirent.h>

#include "xfer/local/local-tree.h"
#include "xfer/state/orders.h"
#include "xfer/state/stream-state.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/state/transfer-limits.h"

/* A source that was found. */
struct xfer_found {
	bool up;
	/* a link at the server led to the source, or may have */
	bool by_link;
	bool only_attrs; /* a file whose target has its data already */
	bool resume;	 /* go on with the file's part */
	/* links of struct xfer_file, if this is a file */
	enum local_links links;
	char *local, *remote; /* NULL: no memory */
	/* The directory itself, or the directory of a file, if the source is on
	 * this host. NULL: it is where its path says. */
	struct local_dir *at;
	const struct sftp_attrs *attrs; /* of files only; NULL: unknown */
	const struct xfer_exact *exact; /* NULL: unknown */
	struct xfer_duty *duty; /* owned; of a plan's order; NULL: no plan */
	bool target_is_new; /* the server was just asked: xfer_put_new() */
};

/* One pass over a remote directory, from OPENDIR to CLOSE. */
struct xfer_listing {
	/* stream of the handle, or of OPENDIR */
	struct xfer_stream *stream;
	struct sftp_handle *handle; /* owned; NULL: none yet */
	bool alone;		 /* OPENDIR: no other handle was in use */
	/* how many OPENDIRs the stream had sent before */
	unsigned number;
	bool guessed;		 /* READDIRs were sent along with OPENDIR */
	bool ready;		 /* in x->dirs.ready */
	bool ended;		 /* no more READDIRs are to be sent */
	bool closed;		 /* CLOSE was sent, or the stream is gone */
	bool dropped;		 /* names were dropped: list it again */
	/* the server said that there are no more names */
	bool read_out;
	bool any;		 /* a name has come, perhaps only "." */
	unsigned reads;		 /* READDIRs and OPENDIR in flight */
	unsigned reads_max;
	unsigned reserved;	 /* names expected of the first answer */
	unsigned batch;		 /* names in the last answer; 0: none yet */
	unsigned expected;	 /* names expected from those in flight */
};

struct xfer_dir {
	struct xfer *x;
	struct xfer_dir *parent; /* holds a reference; NULL: a root */
	/* directories in it, and one more while it is listed */
	unsigned refs;
	bool up;
	enum xfer_dir_state {
		XFER_DIR_WANTED,
		XFER_DIR_FOUND,	 /* the directory was there before */
		XFER_DIR_MADE,	 /* we have made it just now, so it is empty */
		XFER_DIR_FAILED, /* what is in it fails as well */
	} state; /* state of the target directory */
	bool fix;		 /* attributes are set at the end */
	bool no_early_close;	 /* its CLOSE was sent early once: not again */
	/* names in the answer that was dropped as too large */
	unsigned large;
	unsigned tries;		 /* MKDIRs sent so far */
	unsigned refusals;	 /* OPENDIRs that were refused so far */
	/* number of directories above it, and of those among them that a link
	 * at the server led to */
	unsigned depth, links;
	char *local, *remote;	 /* owned */
	struct local_dir *at;	 /* owned; NULL: it is not on this host, or
				  * not there */
	struct sftp_attrs attrs; /* attributes of the source */
	struct xfer_exact exact;
	DIR *dirp;		 /* upload: NULL until listed */
	struct xfer_listing listing; /* download */
	struct xfer_there *there; /* owned: names that the target held before
				   * this run; NULL: not known */
	struct xfer_names *names;  /* hashes of the names found so far */
	struct xfer_meet *meet;	   /* owned; NULL: no names to ask about */
	struct xfer_files held;	   /* upload: files that wait until the target
				    * exists */
	/* in x->dirs: waiting, walking, listing or fixing */
	TAILQ_ENTRY(xfer_dir) entry;
	TAILQ_ENTRY(xfer_dir) turn; /* in x->dirs: ready, or looking */
	TAILQ_ENTRY(xfer_dir) all;
};

/* Does the target directory exist, so that files can be put into it? */
static inline bool
xfer_dir_is_there(const struct xfer_dir *d)
{
	return d->state == XFER_DIR_FOUND || d->state == XFER_DIR_MADE;
}

struct xfer_dir_lists {
	/* waiting: to be listed, the newest first. walking: uploads that are
	 * being read. listing: downloads with a handle or an OPENDIR in flight.
	 * ready: those of listing for which READDIRs may be sent. fixing:
	 * uploads that wait for a handle to have their times set. looking:
	 * uploads whose target is to be listed. all: all directories. */
	struct xfer_dirs waiting, walking, listing, ready, fixing, looking;
	struct xfer_dirs all;
	size_t names_there; /* names in the `there` of all directories */
	size_t count, waiting_count, walking_count, listing_count;
	bool any;	   /* the transfer has had a directory */
	size_t walking_max; /* directories of an upload that may be open, half
			     * read */
	/* limit for names that are known: above it, answers larger than
	 * expected are dropped */
	size_t names_max;
	unsigned readdirs; /* READDIRs in flight */
	/* names expected from the READDIRs in flight, and from those that will
	 * follow OPENDIRs in flight */
	unsigned expected;
	/* What first answers have had so far, by depth of the directory: names,
	 * and directories among them. */
	unsigned usual[XFER_USUAL_DEPTHS], usual_dirs[XFER_USUAL_DEPTHS];
	unsigned no_early_close; /* CLOSE is not sent early for so many
				  * directories from here on */
};

#endif
