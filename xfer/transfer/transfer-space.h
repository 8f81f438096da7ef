/* SPDX-License-Identifier: ISC */
/* Room at the target, and what is kept where there was none. Threads: one at a
 * time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_SPACE_H
#define HPN_XFER_TRANSFER_TRANSFER_SPACE_H

#include "xfer/local/local-tree.h"
#include "xfer/transfer/transfer.h"
#include "xfer/transfer/transfer-limits.h"

struct xfer_space {
	enum {
		XFER_SPACE_NEW,
		XFER_SPACE_ASKED,
		XFER_SPACE_KNOWN,
		XFER_SPACE_UNKNOWN, /* nobody tells */
		XFER_SPACE_OFF,	    /* it is decided */
	} state;
	bool up;
	bool tree;	 /* there are directories: decided when all is listed */
	char *path;	 /* owned; the first target; NULL: none yet */
	struct local_dir *at; /* owned; that of a download is in there */
	uint64_t free;	 /* bytes */
	uint64_t needed; /* by all that was found */
	uint64_t begun;	 /* by those that have begun, less what they replace */
};

/* transfer-space.c */
/* A file was found; the root of a tree begins. */
void xfer_space_add(struct xfer_file *f);
void xfer_space_tree(struct xfer_dir *d);
/* Asks, and decides of a tree. */
void xfer_space_turn(struct xfer *x);
/* f, of whose target all is known, is about to move data. False: it does not
 * fit, which was reported, and the run ends. */
bool xfer_space_fits(struct xfer_file *f);
void xfer_space_free(struct xfer *x);
/* A server has refused to write: reports why, when that is known. */
void xfer_write_refused(struct xfer_file *f, const struct sftp_reply *reply);

/* transfer-kept.c */
/* f is over: counts what is kept of it. */
void xfer_file_keeps(struct xfer_file *f);
/* Before it begins anew: what of it is kept until then. */
void xfer_file_note_kept(struct xfer_file *f);

#endif
