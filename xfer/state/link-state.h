/* SPDX-License-Identifier: ISC */
/*
 * The state of a file that is a link, or becomes one. transfer-events.h names
 * the owners.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_STATE_LINK_STATE_H
#define HPN_XFER_STATE_LINK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "xfer/sftp/sftp-engine.h"

/* A file that is a link, or becomes one. It stays when the file is begun
 * anew. */
struct xfer_link {
	/* owned; target of the symbolic link, or the first name of the hard
	 * link, that is made */
	char *text;
	/* set for the name that is copied, if the source has several names */
	struct xfer_hard *hard;
	/* the data is copied, though it could be a hard link */
	bool copied;
};

/* Steps at the server by which a link is made, or a file moved in place of one;
 * file-linking.c has their order. */
enum xfer_link_step {
	XFER_LINK_NOTHING,
	XFER_LINK_READ,		 /* READLINK for the source, and stat-ns */
	XFER_LINK_MAKE,		 /* makes the link under the target's name */
	XFER_LINK_LOOK,		 /* LSTAT of the target's name: what has it? */
	XFER_LINK_WAY,		 /* clears the way at the target: order-way.c */
	XFER_LINK_CLEAR,	 /* REMOVE of the target */
	XFER_LINK_MAKE_AGAIN,	 /* the link, after that */
	XFER_LINK_BESIDE,	 /* makes the link under a temporary name */
	XFER_LINK_BESIDE_LOOK,	 /* LSTAT of the temporary name: what has it? */
	XFER_LINK_BESIDE_REMOVE, /* removes what a killed run has left under the
				  * temporary name */
	XFER_LINK_RENAME,	 /* to the target's name */
	XFER_LINK_TIDY,		 /* REMOVE of the temporary name */
	XFER_LINK_MOVE_LOOK,	 /* LSTAT of the target, for a file that moves
				  * there: what has the name? */
	XFER_LINK_MOVE_WAY,	 /* clears the way at the target */
	XFER_LINK_MOVE_THERE,	 /* LSTAT of the file: is it there? */
	XFER_LINK_MOVE_CLEAR,	 /* REMOVE of the target */
	XFER_LINK_MOVE,		 /* renames the file to the target's name */
	XFER_LINK_MOVE_SOURCE,	 /* LSTAT of its old name: was it renamed? */
	XFER_LINK_ATTRS,	 /* lsetstat */
	XFER_LINK_XATTRS,	 /* set-xattrs */
};

/* The making of a link at the server, or the reading of one. */
struct xfer_linking {
	enum xfer_link_step step; /* the step that was begun last */
	bool waits; /* the answer to that step was not taken yet */
	int err;    /* of the last answer */
	uint32_t status;
	/* owned; the server's text with the status; or NULL */
	char *words;
	struct sftp_attrs found; /* attributes in the last answer; flags 0:
				  * none */
	/* status with which the link under the temporary name was refused */
	uint32_t refused;
	/* number of the temporary name (xfer_link_name()) */
	unsigned number;
	bool cleared; /* what a killed run had left there was removed */
	unsigned tries;
};

#endif
