/* SPDX-License-Identifier: ISC */
/* What a file knows that is a link, or becomes one. Its owners are named in
 * transfer-events.h. Threads: one at a time. */
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

/* What is asked of the server so that a link is made; file-linking.c has the
 * order. */
enum xfer_link_step {
	XFER_LINK_NOTHING,
	XFER_LINK_READ,		 /* READLINK of the source, and stat-ns */
	XFER_LINK_MAKE,		 /* the link, at the target's name */
	XFER_LINK_LOOK,		 /* LSTAT: what has the target's name? */
	XFER_LINK_WAY,		 /* what has it makes way: order-way.c */
	XFER_LINK_CLEAR,	 /* REMOVE of the target */
	XFER_LINK_MAKE_AGAIN,	 /* the link, after that */
	XFER_LINK_BESIDE,	 /* the link, under a name of our own */
	XFER_LINK_BESIDE_LOOK,	 /* LSTAT: what has that name? */
	XFER_LINK_BESIDE_REMOVE, /* what a killed run has left there */
	XFER_LINK_RENAME,	 /* to the target's name */
	XFER_LINK_TIDY,		 /* REMOVE of the name of our own */
	XFER_LINK_ATTRS,	 /* lsetstat */
	XFER_LINK_XATTRS,	 /* set-xattrs */
};

/* A link is made at the server, or read there. */
struct xfer_linking {
	enum xfer_link_step step; /* the last one that was begun */
	bool waits; /* its answer was not looked at yet */
	int err;    /* of the last answer */
	uint32_t status;
	/* owned; the server's text with the status; or NULL */
	char *words;
	struct sftp_attrs found; /* of the last answer; flags 0: it has none */
	/* the status by which the link under a name of our own was refused */
	uint32_t refused;
	/* number of that name (xfer_link_name()) */
	unsigned number;
	bool cleared; /* what a killed run had left there was removed */
	unsigned tries;
};

#endif
