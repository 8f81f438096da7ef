/* SPDX-License-Identifier: ISC */
/* Directories: their targets, and how they are listed. Threads: one at a
 * time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_DIR_H
#define HPN_XFER_TRANSFER_TRANSFER_DIR_H

#include <dirent.h>

#include "xfer/local/local-tree.h"
#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-exact.h"
#include "xfer/transfer/transfer-limits.h"

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
	bool no_early_close;	 /* for this one, which is large */
	unsigned large;		 /* names in an answer that was dropped */
	unsigned tries;		 /* of MKDIR */
	unsigned refusals;	 /* of OPENDIR so far */
	unsigned depth, links;	 /* above it; those that links led to */
	char *local, *remote;	 /* owned */
	struct local_dir *at;	 /* owned; NULL: it is not on this host, or
				  * not there */
	struct sftp_attrs attrs; /* of the source */
	struct xfer_exact exact;
	DIR *dirp;		 /* upload: NULL until listed */
	struct xfer_listing listing; /* download */
	struct xfer_there *there; /* owned: what the target had in it, when it
				   * was found; NULL: not known */
	struct xfer_names *names;  /* hashes of the names found so far */
	struct xfer_files held;	   /* upload: until it is there */
	/* in x->dirs: waiting, walking, listing or fixing */
	TAILQ_ENTRY(xfer_dir) entry;
	TAILQ_ENTRY(xfer_dir) turn; /* ready, or looking */
	TAILQ_ENTRY(xfer_dir) all;
};

/* Can it be filled? */
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
	bool any;	   /* there was one */
	size_t walking_max; /* open in the midst of being read */
	size_t names_max;  /* known, then larger answers are dropped */
	unsigned readdirs; /* in flight */
	unsigned expected; /* names expected from these, and from those that
			    * follow OPENDIRs in flight */
	/* By depth: names, and directories among them, in the first answer. */
	unsigned usual[XFER_USUAL_DEPTHS], usual_dirs[XFER_USUAL_DEPTHS];
	unsigned no_early_close; /* so many directories */
};

/* transfer-local.c */
/* Reads directories of this host. True if more could be done at once. */
bool xfer_walk(struct xfer *x);
void xfer_walk_ends(struct xfer_dir *d);

/* transfer-tree.c */
/* A source that was found. */
struct xfer_found {
	bool up;
	bool by_link;	      /* a server's link led to it, or may have */
	char *local, *remote; /* NULL: no memory */
	struct local_dir *at; /* of one on this host; else NULL */
	const struct sftp_attrs *attrs;
	const struct xfer_exact *exact; /* NULL: unknown */
};
/* Owns both names and `at` from then on. */
int xfer_add_dir(struct xfer *x, struct xfer_dir *parent,
    const struct xfer_found *found) must_check;
void xfer_dir_unref(struct xfer_dir *d);
void xfer_dirs_free(struct xfer *x);
/* An upload's directory was there before: its files may be copied now. */
void xfer_dir_found(struct xfer_dir *d);
/* Sets the times of directories that are complete, as handles are free. */
void xfer_dirs_fix(struct xfer *x);

/* transfer-there.c */
/* d was there before. True: its names are listed, then xfer_dir_found(). */
bool xfer_there_begin(struct xfer_dir *d);
/* Lists more targets, as handles are free. */
void xfer_there_issue(struct xfer *x);
void xfer_there_free(struct xfer_dir *d);
/* Is it known that neither f's target nor its part were there? */
bool xfer_there_lacks(const struct xfer_file *f);
/* True: f->target says what was there; its part was not. */
bool xfer_there_find(struct xfer_file *f);

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

#endif
