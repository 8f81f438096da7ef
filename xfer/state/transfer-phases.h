/* SPDX-License-Identifier: ISC */
/* What a file knows in each phase of its life. Its owners are named in
 * transfer-events.h. Threads: one at a time. */
#ifndef HPN_XFER_STATE_TRANSFER_PHASES_H
#define HPN_XFER_STATE_TRANSFER_PHASES_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "xfer/sftp/sftp-engine.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/state/transfer-limits.h"

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
	XFER_TAIL_LENGTH, /* FSTAT: has the file the size that was set? */
	XFER_TAIL_OWNER,
	XFER_TAIL_ATTRS,
	XFER_TAIL_TIMES,
	XFER_TAIL_SYNC,
	XFER_TAIL_LOOK, /* FSTAT: attributes of what was written */
	XFER_TAIL_CLOSE, /* unless it is closed with the rename */
	XFER_TAIL_SENT,
};

/* --- a file, by phases: xfer_file_restart() clears most of them --- */

/* What is read. It stays when the file is begun anew. */
struct xfer_source {
	struct sftp_attrs attrs;
	struct xfer_exact exact;
	uint64_t size;		 /* expected; 0: until it ends */
	bool symlink;		 /* a symbolic link, copied as such */
};

/* A source at a second host. */
struct xfer_far_source {
	struct sftp_handle *handle; /* owned; also while OPEN is under way;
				     * NULL: none */
	unsigned reads;		 /* under way there */
};

/* A file that is a link, or becomes one. It stays when the file is begun
 * anew. */
struct xfer_link {
	char *text;		 /* owned; what the link that is made says: of
				  * a symbolic one, or the first name of a
				  * hard one */
	struct xfer_hard *hard;	 /* of several names, this one is copied */
	bool copied;		 /* copied, though it could be a hard link */
};

/* What is at the target's name, and what of it is used. */
struct xfer_target {
	struct sftp_attrs attrs; /* flags 0: there is nothing */
	uint32_t nlink;		 /* 0: unknown */
	struct xfer_exact exact; /* known where the target may be the source,
				  * or equal to it */
	bool known;		 /* the requests before OPEN are answered */
	enum xfer_reuse reuse;
	bool same;		 /* with XFER_REUSE_WHOLE: it is complete, and
				  * needs attributes only */
	bool read_only;		 /* we may not write it */
	bool is_link;		 /* a link that is replaced; attrs.flags is 0 */
	uint64_t old_size;	 /* its size when it was opened in place; 0:
				  * unknown */
	bool set_mode;		 /* mode is to be set at the end */
	uint32_t mode;
};

/* The part that data goes to. docs/TRANSFERS.md has its states. */
struct xfer_part {
	char *name;		 /* owned; NULL: the target in place */
	bool there;		 /* a file bears that name already: the old
				  * part */
	struct sftp_attrs old;	 /* of the old part; flags 0: none of use */
	uint32_t old_nlink;	 /* 0: unknown */
	struct sftp_attrs made;	 /* what OPEN made, or opened */
	bool foreign;		 /* the old one is somebody else's */
	bool plan_asked, planned; /* a source has that name */
	bool unproven;		 /* the old one is open, and nothing of it has
				  * been found to be the source's yet: it is
				  * not written */
	bool refused;		 /* nothing was found: the next name is tried */
	bool cleared;		 /* the one that we had made was removed */
	bool remade;		 /* its first mode let others read it */
};

/* What this run has made under the part's name. It stays when the file is begun
 * anew; by then somebody may have replaced it. */
struct xfer_made {
	bool ours;		 /* this run has made the part, or has found
				  * that it is one of its source */
	bool lane_lost;		 /* a stream that had it open has ended */
	bool late;		 /* which may still write to it */
	bool numbered;		 /* OPEN told the number of this copy */
	uint64_t kept;		 /* bytes in it when its handles were lost */
	bool seen;		 /* on this host: dev and ino are known */
	dev_t dev;
	ino_t ino;
	struct sftp_attrs attrs; /* at a server: of the new, empty part, or as
				  * it was written; flags 0: unknown */
};

/* OPEN of the first handle, and of those that follow. */
struct xfer_opening {
	uint32_t status;	 /* of the first OPEN, if it was refused */
	char *words;		 /* owned; the server's text with it; or NULL */
	bool inspected;		 /* FSTAT of what OPEN made was sent */
	bool no_more;		 /* the server gives no further handle */
	unsigned gone;		 /* times that the part's name was free again
				  * after OPEN had found it taken */
	bool waits_for_fds;	 /* this host has no descriptor for it now */
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
	uint64_t moved;		 /* bytes that are at the target */
	uint64_t skipped;	 /* those of them that are holes */
	uint64_t received_until; /* highest offset received */
	uint64_t eof_at;	 /* lowest offset where the source ended */
	bool end_checked;	 /* it was asked what size the source has now */
	bool needs_size;	 /* what is written may be longer than the
				  * source, or shorter */
	bool write_failed;	 /* a write to the target failed */
	bool unstored;		 /* data that was written may be lost */
};
#define XFER_PROGRESS_START ((struct xfer_progress){ .eof_at = UINT64_MAX })

/* What of a part is marked as whole: docs/TRANSFERS.md. */
struct xfer_marks {
	uint32_t *left;		 /* owned: bytes of each chunk; NULL: no marks
				  * are made */
};

struct xfer_holes {
	bool sparse;		 /* the source has holes, or is searched for
				  * zeros */
	bool map_pending;	 /* the server is asked where the holes are */
	unsigned maps;		 /* answers to such requests */
	uint64_t occupied;	 /* before that offset the target held data,
				  * so that zeros are written too */
};

/* What is done when all data is sent. */
struct xfer_tail {
	enum xfer_tail_step step; /* the next one */
	bool size_set;		 /* the target was cut, or grown, to its size */
	uint32_t size_status;	 /* why that was refused; 0: it was not */
	bool verified;
	bool lost;		 /* the stream ended before it had answered */
	struct sftp_attrs written; /* what the handle is of; flags 0: unknown */
};

/* The part gets its target's name. */
struct xfer_renaming {
	struct sftp_attrs before, after; /* of the two names; flags 0: none */
	uint32_t status;
	char *words;		 /* owned; the server's text with it; or NULL */
	bool lost_now;		 /* this RENAME was not answered */
	bool lost;		 /* one before was not: it may have been done */
	unsigned tries;
	bool hidden; /* LSTAT of the part was refused */
	bool again; /* the file is written again, in place */
};

/* A link is made at the server. */
struct xfer_linking {
	int err; /* the answer to the first request */
	uint32_t status;
	unsigned number; /* of the name under which it is made first */
	bool cleared; /* what a killed run had left there was removed */
	unsigned tries;
};

/* A file that moves in a single request, or in one flight of them. */
struct xfer_small {
	bool refused;		 /* the file takes the ordinary steps instead */
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

#endif
