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
	bool by_link;	 /* a server's link led to it, or may have */
	bool only_attrs; /* a file whose target has its data already */
	enum local_links links; /* of a file: see struct xfer_file */
	char *local, *remote; /* NULL: no memory */
	/* Of one on this host: of a directory it is that, of a file where it
	 * is; NULL: where the path says. */
	struct local_dir *at;
	const struct sftp_attrs *attrs; /* NULL: unknown; of files only */
	const struct xfer_exact *exact; /* NULL: unknown */
	struct xfer_duty *duty; /* owned; of a plan's order; NULL: no plan */
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
	bool read_out;		 /* the server said that it ends */
	bool any;		 /* there was a name, be it "." */
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
	bool no_early_close;	 /* its CLOSE was sent early once: not again */
	unsigned large;		 /* names in an answer that was dropped */
	unsigned tries;		 /* of MKDIR */
	unsigned refusals;	 /* of OPENDIR so far */
	unsigned depth, links;	 /* directories above it; those of them that
				  * a server's links led to */
	char *local, *remote;	 /* owned */
	struct local_dir *at;	 /* owned; NULL: it is not on this host, or
				  * not there */
	struct sftp_attrs attrs; /* of the source */
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
	TAILQ_ENTRY(xfer_dir) turn; /* ready, or looking */
	TAILQ_ENTRY(xfer_dir) all;
};

/* Does the target directory exist, so that files can be put into it? */
static inline bool
xfer_dir_is_there(const struct xfer_dir *d)
{
	return d->state == XFER_DIR_FOUND || d->state == XFER_DIR_MADE;
}

struct xfer_dir_lists {
	/* Waiting to be listed, newest first; uploads that are being read;
	 * downloads with a handle or an OPENDIR in flight; of these, the ones
	 * that READDIRs may be sent for; uploads that wait for a handle to
	 * have their times set; uploads whose targets are to be listed; and
	 * all there are. */
	struct xfer_dirs waiting, walking, listing, ready, fixing, looking;
	struct xfer_dirs all;
	size_t names_there; /* in all d->there */
	size_t count, waiting_count, walking_count, listing_count;
	bool any;	   /* the transfer has had a directory */
	size_t walking_max; /* directories of an upload that may be open, half
			     * read */
	size_t names_max;  /* names that are known; with more of them, answers
			    * that are larger than expected are dropped */
	unsigned readdirs; /* in flight */
	unsigned expected; /* names expected from these, and from those that
			    * follow OPENDIRs in flight */
	/* By depth: names, and directories among them, in the first answer. */
	unsigned usual[XFER_USUAL_DEPTHS], usual_dirs[XFER_USUAL_DEPTHS];
	unsigned no_early_close; /* CLOSE is not sent early for so many
				  * directories from here on */
};

#endif
