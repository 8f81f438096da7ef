/* SPDX-License-Identifier: ISC */
/*
 * Orders of a plan that comes from elsewhere, of one who has compared two trees
 * by itself. xfer/transfer/transfer-orders.h has what is done with them.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_STATE_ORDERS_H
#define HPN_XFER_STATE_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "xfer/local/local-tree.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/xattrs.h"

struct xfer_delta;
struct xfer_keep;
struct xfer_exact;

enum xfer_order_kind {
	/* A file's data, or a link (attrs say which). */
	XFER_ORDER_COPY,
	/* The target has the source's data: it gets the attributes that attrs
	 * and exact name. A target that cannot be read is copied anew. */
	XFER_ORDER_ATTRS,
	/* A directory is made, or is there (then `was` should say so); what is
	 * in it comes behind. It is writable for its owner until its
	 * XFER_ORDER_DIR_ATTRS, which is done when all that was ordered before
	 * has ended, deletes too; those of directories below it come before.
	 */
	XFER_ORDER_MAKE_DIR,
	XFER_ORDER_DIR_ATTRS,
	/* A name of the target, which is no directory; an empty directory,
	 * behind what is in it. They are done when all that was ordered before
	 * has ended, and what follows them waits for their end. What is gone
	 * already is no failure. */
	XFER_ORDER_DELETE,
	XFER_ORDER_DELETE_DIR,
};

struct xfer_order {
	enum xfer_order_kind kind;
	const char *local, *remote; /* a delete has only one of the two */
	/* The root that the local path is below, which then begins with a name
	 * of this directory. Each component is opened by itself, from held
	 * descriptors, and no link is followed unless `links` allows it.
	 * Borrowed; NULL: local is a path that the user has named. */
	struct local_dir *at;
	enum local_links links; /* of components below `at` */
	/* The source's root, as its session names it, for who carries data by
	 * another way (xfer_opts.unread). NULL for a delete. */
	const char *top;
	/* Mode, times and owner of the target. Those in attrs->flags are set;
	 * an id of UINT32_MAX leaves that owner or group as it is. attrs->mode
	 * counts even without its flag: it has the kind of file, and the
	 * permissions with which a new file or directory is made, less the
	 * umask. NULL for a delete. */
	const struct sftp_attrs *attrs;
	const struct xfer_exact *exact; /* NULL: unknown */
	struct xattrs xattrs; /* attributes that the target gets; for a file, a
			       * link, and XFER_ORDER_DIR_ATTRS only */
	/* target of a symbolic link; NULL: it has to be read */
	const char *text;
	/* Path to which the old target is renamed before it is replaced or
	 * deleted, unless that is a directory. A local path is below `at`.
	 * Missing directories above it are made, with access for their owner
	 * only. NULL: no backup is made. */
	const char *backup;
	/* The target as it was when the plan was made; a name that is another
	 * one by now is not deleted, nor replaced by another kind. NULL:
	 * unknown. */
	const struct sftp_attrs *was;
	/* A file of the target's side with the source's data and attributes:
	 * the target becomes a link to it, or, where that cannot be, a copy of
	 * the source. Below link_at if local. NULL: none. */
	const char *link;
	struct local_dir *link_at; /* borrowed */
	/* Nobody needs that file by its name: at a server it is renamed to the
	 * target's name, for which no hard links are needed. */
	bool link_moves;
	/* Another file of the target's side that may have some of the data,
	 * to be used in place of the old target, and its size. Below `at` if
	 * local. Its data are proven as those of an old target are. NULL:
	 * none. */
	const char *basis;
	uint64_t basis_size;
	bool dir_links; /* at the server a link to a directory counts as one */
	bool waits; /* the order waits for the end of all orders before it */
	bool replaces_kind; /* the target is of another kind, and is removed
			     * first */
	bool remove_source; /* remove the source when the target is whole */
	bool resume; /* the target may have a part with which the copy goes
		      * on */
	uint64_t id;	    /* number of the order, for done() */
};

struct xfer_orders {
	/* 1: the next one, good until the next call. XFER_ORDERS_LATER: it is
	 * not known yet; the run goes on, and asks again after each turn. 0:
	 * there are no more. ERR_*: the plan is not whole; what it has had is
	 * done, but nothing is deleted. */
	int (*next)(void *arg, struct xfer_order *out);
	/* An order has ended: bytes that its data had, and whether it did.
	 * Failures were reported. May be NULL. */
	void (*done)(void *arg, uint64_t id, bool ok, uint64_t bytes);
	void *arg;
};

enum { XFER_ORDERS_LATER = 2 };

/* What is kept of the order that a file is copied by. */
struct xfer_duty {
	uint64_t id;
	uint32_t sets; /* SFTP_A_*: the attributes that the target gets */
	uint32_t mode, uid, gid;
	uint32_t xattr_kinds; /* the kinds (enum xattrs_kind) of xattr_set,
			       * which is owned */
	struct buf xattr_set;
	uint64_t after; /* so many directories had been ordered before */
	char *text;	/* owned; of a link; NULL: to be read */
	/* The name to which the old target is moved before it is replaced. */
	char *backup;	/* owned; NULL: the old target is removed */
	struct local_dir *root; /* owned; of the backup's path; NULL: none */
	enum local_links links;
	bool knows;	/* `was` is known: what the target was */
	char *link;	/* owned; as in struct xfer_order; NULL: none */
	struct local_dir *link_root; /* owned; NULL: link is a path at the
				      * server */
	bool link_moves; /* as in struct xfer_order */
	bool linked;	/* the target is a link to that file now, or will be */
	struct sftp_attrs was;
	bool replaces_kind, remove_source;
	/* The basis: a path at the server, or a name in basis_at; see struct
	 * xfer_order. NULL: the old target. */
	char *basis;		    /* owned */
	struct local_dir *basis_at; /* owned */
	uint64_t basis_size;
	struct xfer_delta *delta; /* owned; NULL: the file is sent whole */
	bool whole; /* the data of the basis was not the source's: the file is
		     * sent whole */
	bool in_temp; /* its part is, or will be, in xfer_opts.temp */
	bool beside;  /* xfer_opts.temp was of no use: the part is beside the
		       * target */
	bool way_clear; /* what had the target's name has gone */
	bool set_aside; /* the old target is the backup now */
	struct xfer_keep *keep; /* owned; the backup that the old target is
				 * copied to; NULL: no copy has begun */
};

#endif
