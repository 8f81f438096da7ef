/* SPDX-License-Identifier: ISC */
/* What a file knows in each phase of its life. Its owners are named in
 * transfer-events.h. Threads: one at a time. */
#ifndef HPN_XFER_STATE_TRANSFER_PHASES_H
#define HPN_XFER_STATE_TRANSFER_PHASES_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "xfer/sftp/sftp-engine.h"
#include "xfer/state/link-state.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/state/transfer-limits.h"

/* How much of the existing target or part is used. */
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
	XFER_TAIL_XATTRS,
	XFER_TAIL_ATTRS,
	XFER_TAIL_TIMES,
	XFER_TAIL_SYNC,
	XFER_TAIL_LOOK, /* FSTAT: attributes of what was written */
	XFER_TAIL_CLOSE, /* unless it is closed with the rename */
	XFER_TAIL_SENT,
};

/* --- a file, by phases: xfer_file_restart() clears most of them --- */

/* The source of a file. The struct stays when the file is begun anew. */
struct xfer_source {
	struct sftp_attrs attrs;
	struct xfer_exact exact;
	/* bytes that are expected; 0: all until the source ends */
	uint64_t size;
	bool symlink;		 /* a symbolic link, copied as such */
};

/* A source at a second host. */
struct xfer_far_source {
	struct sftp_handle *handle; /* owned; also while OPEN is under way;
				     * NULL: none */
	unsigned reads;		 /* READs under way at the second host */
};

/* What is at the target's name, and what of it is used. */
struct xfer_target {
	struct sftp_attrs attrs; /* flags 0: there is nothing */
	uint32_t nlink;		 /* 0: unknown */
	struct xfer_exact exact; /* known where the target may be the source,
				  * or equal to it */
	bool known;		 /* the requests before OPEN are answered */
	enum xfer_reuse reuse;
	/* with XFER_REUSE_WHOLE: the target is complete, and needs attributes
	 * only */
	bool same;
	bool read_only;		 /* this user may not write the target */
	bool is_link;		 /* a link that is replaced; attrs.flags is 0 */
	/* size of the target when it was opened in place; 0: unknown */
	uint64_t old_size;
	bool set_mode;		 /* mode is to be set at the end */
	uint32_t mode;
};

/* The part that data goes to. docs/TRANSFERS.md has its states. */
struct xfer_part {
	char *name;		 /* owned; NULL: the target in place */
	bool there;		 /* a file bears that name already: the old
				  * part */
	/* attributes of the old part; flags 0: there is none that can be
	 * used */
	struct sftp_attrs old;
	uint32_t old_nlink;	 /* 0: unknown */
	struct sftp_attrs made;	 /* attributes of what OPEN made, or opened */
	bool foreign;		 /* the old part is somebody else's */
	bool plan_asked, planned; /* a source has that name */
	/* the old part is open, but nothing in it was found to be the source's
	 * so far: it must not be written */
	bool unproven;
	/* nothing in the old part is the source's: the next name is tried */
	bool refused;
	bool cleared;		 /* our own part was removed */
	/* the part is made again, as its first mode let others read it */
	bool remade;
};

/* What this run has made under the part's name. It stays when the file is begun
 * anew; by then somebody may have replaced it. */
struct xfer_made {
	bool ours;		 /* this run has made the part, or has found
				  * that it is one of its source */
	bool lane_lost;		 /* a stream that had it open has ended */
	bool late;		 /* which may still write to it */
	bool numbered;		 /* OPEN told the number of this copy */
	/* bytes in the part when its handles were lost */
	uint64_t kept;
	/* the part is on this host, and dev and ino are known */
	bool seen;
	dev_t dev;
	ino_t ino;
	/* attributes of a part at a server: when it was made, or after writing;
	 * flags 0: unknown */
	struct sftp_attrs attrs;
};

/* OPEN of the first handle, and of those that follow. */
struct xfer_opening {
	/* status of the first OPEN, if it was refused */
	uint32_t status;
	/* owned; the server's text with the status; or NULL */
	char *words;
	/* FSTAT was sent for what OPEN made, or is not needed */
	bool inspected;
	bool no_more;		 /* the server gives no further handle */
	/* The first OPEN was refused, perhaps only because other handles were
	 * open: it is to be sent again. And how often that has happened. */
	bool crowded;
	unsigned crowds;
	unsigned gone;		 /* times that the part's name was free again
				  * after OPEN had found it taken */
	/* this host has no free descriptor for the file now */
	bool waits_for_fds;
	/* owned; name of a probe, which is opened to see by its owner who we
	 * are there (transfer-owner.c) */
	char *probe;
};

/* Which data has moved, and which has not. */
struct xfer_progress {
	/* the fields below are valid, and moving goes on with them */
	bool begun;
	bool all_taken;		 /* all ranges from next on are taken */
	uint64_t next;		 /* offset of the next range */
	/* owned; ranges before next that are still to be moved */
	struct xfer_range *todo;
	uint64_t chunk;		 /* bytes of a range */
	uint64_t moved;		 /* bytes that are at the target */
	uint64_t skipped;	 /* bytes of moved that are holes */
	uint64_t received_until; /* highest offset received */
	uint64_t eof_at;	 /* lowest offset where the source ended */
	/* the present size of the source was asked for */
	bool end_checked;
	bool needs_size;	 /* what is written may be longer than the
				  * source, or shorter */
	bool write_failed;	 /* a write to the target failed */
	bool unstored;		 /* data that was written may be lost */
};
#define XFER_PROGRESS_START ((struct xfer_progress){ .eof_at = UINT64_MAX })

/* The marks of a part: which of its chunks are whole (docs/TRANSFERS.md). */
struct xfer_marks {
	/* owned; bytes that each chunk still lacks; NULL: no marks are made */
	uint32_t *left;
};

struct xfer_holes {
	bool sparse;		 /* the source has holes, or is searched for
				  * zeros */
	bool map_pending;	 /* the server is asked where the holes are */
	unsigned maps;		 /* how often the server has told holes */
	/* the target held data before that offset, so zeros are written there
	 * as well */
	uint64_t occupied;
};

/* The steps when all data is sent. */
struct xfer_tail {
	enum xfer_tail_step step; /* the next step */
	bool size_set;		 /* the target was cut, or grown, to its size */
	bool early;		 /* `written` was asked for while other streams
				  * had data under way */
	/* status by which the server refused to set the size; 0: it did not */
	uint32_t size_status;
	bool verified;
	/* the stream ended before the step was answered */
	bool lost;
	/* attributes of the file that was written; flags 0: unknown */
	struct sftp_attrs written;
};

/* The part gets its target's name. */
struct xfer_renaming {
	/* What was asked of the server, and is looked at once all of it is
	 * answered. */
	enum {
		XFER_RENAME_NOTHING, /* no request, or it was looked at */
		XFER_RENAME_NAME,    /* LSTAT, RENAME, LSTAT: by names */
		XFER_RENAME_HANDLE,  /* to rename what the handle is of */
		XFER_RENAME_REMOVE,  /* to remove the target, before RENAME */
		XFER_RENAME_LINK,    /* to link the target to the part */
	} step;
	int err; /* of the answer, but for XFER_RENAME_NAME */
	struct sftp_attrs before, after; /* of the two names; flags 0: none */
	uint32_t status;
	/* owned; the server's text with the status; or NULL */
	char *words;
	/* the stream ended before this RENAME was answered */
	bool lost_now;
	/* an earlier RENAME was not answered, and may have been done */
	bool lost;
	unsigned tries;
	bool hidden; /* LSTAT of the part was refused */
	bool again; /* the file is written again, in place */
};

/* A file that moves in a single request, or in one flight of them. */
struct xfer_small {
	bool refused;		 /* the file takes the ordinary steps instead */
	/* The server has just said that nothing has the target's name; for the
	 * first try only. */
	bool target_is_new;
	struct xfer_stream *stream;
	enum {
		XFER_GUESS_RIGHT, /* so far */
		/* the guess was wrong, or something else was refused */
		XFER_GUESS_WRONG,
		XFER_GUESS_LOST,  /* the session is over */
	} outcome;
	struct sftp_handle guess, handle;
	bool opened;		 /* handle is what the server has given */
	bool guess_closed;	 /* the server has closed guess */
	uint8_t *data;		 /* owned; data of a download */
};

#endif
