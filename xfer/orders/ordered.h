/* SPDX-License-Identifier: ISC */
/*
 * What a plan's orders (xfer/state/orders.h) ask for beside copies of files.
 * xfer/transfer/transfer-orders.c takes the orders from the plan.
 *
 *  order-ends.c    tells the plan how an order has ended
 *  order-places.c  paths below a root on this host
 *  order-away.c    removes a target, or renames it to a backup
 *  order-way.c     clears the way for a new target
 *  order-keep.c    copies a target to a backup before it is written in place
 *  order-delete.c  deletes, in the plan's order
 *  order-dirs.c    directories, and their attributes
 *  order-attrs.c   attributes of files on this host
 *  order-settle.c  names that are to be on the disk, also without orders
 *  order-source.c  removes sources whose targets are whole
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_ORDERS_ORDERED_H
#define HPN_XFER_ORDERS_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/state/orders.h"
#include "xfer/streams/transfer-stream.h"

/* ---- order-places.c ----------------------------------------------------- */

/* A path below a root. */
struct xfer_below {
	struct local_dir *root;
	enum local_links links;
	const char *path;
};

/* The way from a root to the directory that was asked for last. Orders follow
 * each other as in a walk of a tree, so most are in that directory or near. */
struct xfer_places {
	struct local_dir *root; /* holds a reference; NULL: no way yet */
	enum local_links links;
	bool makes; /* directories that are missing, for their owner alone */
	struct xfer_step *steps; /* owned; downwards from the root */
	size_t n, room;
};

void xfer_places_free(struct xfer_places *p);
/* The directory in which the path lies; *name is the path's last part, within
 * b->path. A path that is empty or "." is the root itself: then *name is ".".
 * The caller unrefs. NULL with errno; EINVAL: it is no path below a root. */
struct local_dir *xfer_place_of(struct xfer_places *p,
    const struct xfer_below *b, const char **name) must_check;
/* The directory that the path names. */
struct local_dir *xfer_place_dir(struct xfer_places *p,
    const struct xfer_below *b) must_check;
/* A name below the root is going to be another file, or none: the way does not
 * lead through it any more. */
void xfer_place_forget(struct xfer_places *p, const struct xfer_below *b);

/* ---- a plan that is followed -------------------------------------------- */

TAILQ_HEAD(xfer_deletions, xfer_deletion);
TAILQ_HEAD(xfer_keeps, xfer_keep);

struct xfer_ordered {
	const struct xfer_orders *from; /* borrowed */
	struct xfer_places places, backups, links;
	struct xfer_order next;
	bool taken; /* next holds an order that is not done yet */
	bool up, ended;
	/* Orders of one phase are done together, those of the next when all of
	 * them have ended. */
	enum xfer_orders_phase {
		XFER_ORDERS_MAKE, /* files, links, directories */
		XFER_ORDERS_LINK, /* links to files that were made */
		XFER_ORDERS_DELETE,
		XFER_ORDERS_FIX, /* attributes of directories */
	} phase;
	bool may_delete; /* deletes are allowed: nothing had failed when this
			  * phase began, or that does not matter */
	/* Numbers of orders whose requests are under way. */
	size_t dirs, fixes, sources, deletes;
	struct xfer_deletions deletions; /* in the order of their requests */
	struct xfer_deletion *unsent; /* the first deletion that was not sent */
	size_t delete_backups; /* number of deletions that make a backup */
	struct xfer_keeps keeps; /* backups that are being copied on this
				  * host */
	/* Numbers of the directories that were asked for, and of those, from
	 * the first on, that exist or have failed. */
	uint64_t dirs_asked, dirs_answered;
	char *far; /* owned; path with a slash of a directory at the server to
		    * which no part of xfer_opts.temp can be renamed; NULL: none
		    * is known */
	size_t slow_dirs; /* under way: something else had their name */
	TAILQ_HEAD(, xfer_order_dir) making;
};

/* ---- order-ends.c ------------------------------------------------------- */

void xfer_duty_free(struct xfer_duty *d); /* d may be NULL */
void xfer_order_ends(struct xfer *x, uint64_t id, bool ok, uint64_t bytes);
/* The order fails, because of an errno of this host. */
void xfer_order_fails(struct xfer *x, const struct xfer_order *o, int error);
/* The path that messages name: that of the target of o. */
const char *xfer_order_target(const struct xfer *x, const struct xfer_order *o);
struct xfer_below xfer_order_below(const struct xfer_order *o);
/* The directory on this host in which the order's path lies, and the name
 * there. The caller unrefs. NULL with errno. */
struct local_dir *xfer_order_place(struct xfer *x, const struct xfer_order *o,
    const char **name) must_check;

/* ---- order-away.c ------------------------------------------------------- */

enum xfer_away_end {
	XFER_AWAY_DONE,
	XFER_AWAY_GONE,	   /* it was not there any more */
	XFER_AWAY_CHANGED, /* it is not what it was: left alone */
	XFER_AWAY_KEPT,	   /* a directory that is not empty */
	XFER_AWAY_FAILED,  /* error, or words */
};

/* A file or directory that is to be removed, or renamed to be a backup. */
struct xfer_away {
	struct xfer *x;
	char *path, *backup; /* owned; backup NULL: it is removed */
	bool dir;
	bool only_looks; /* on this host: nothing is removed */
	bool knows; /* `was` is known */
	struct sftp_attrs was;
	/* The outcome, and the server's or the system's text (owned; NULL:
	 * the session ended). */
	enum xfer_away_end end;
	char *words;
	/* Is called when the name was looked at. end tells whether the file is
	 * still the one that the plan knows; the owner then calls
	 * xfer_away_go(), or leaves the file. */
	void (*looked)(struct xfer_away *a);
	void (*done)(struct xfer_away *a);
	size_t parents; /* length of the part of the backup's path whose
			 * directories were made */
	unsigned pending; /* requests that make these directories */
	bool has_parents, cleared; /* the backup's parents; what had its name */
};

/* Fills *a for a name that is to go. False: no memory. */
bool xfer_away_init(struct xfer_away *a, struct xfer *x, const char *path,
    const struct sftp_attrs *was, const char *backup) must_check;
void xfer_away_clear(struct xfer_away *a);
/* At a server: look asks for the attributes of the name and calls looked(), go
 * removes the name or makes it the backup and calls done(). */
void xfer_away_look(struct xfer_away *a);
void xfer_away_go(struct xfer_away *a);
/* Does both on this host, at once; a->end and a->words have the outcome. */
void xfer_away_here(struct xfer_away *a, const struct xfer_below *backup,
    struct local_dir *at, const char *name);
/* Reports a failure, or that the name has changed. */
void xfer_away_report(const struct xfer_away *a);

/* ---- order-way.c -------------------------------------------------------- */

/* At a server: may f be renamed to its target? False: it is asked first, and
 * then touched. If nothing can be done, f has failed. */
bool xfer_way_is_clear(struct xfer_file *f);
/* Makes the name of the target of f free, on this host and at once. False: f
 * fails, which was reported. */
bool xfer_way_clear_here(struct xfer_file *f);
/* f was not renamed: a backup that was made gets its name back, unless
 * something else has that. */
void xfer_way_back(struct xfer_file *f);

/* ---- order-keep.c ------------------------------------------------------- */

/* True if the backup of f is a copy, because the target is written in place. */
bool xfer_keeps_copy(const struct xfer_file *f);
/* Makes the backup of a target that is open and about to be written in place;
 * e: its handle at a server, or NULL for f->fd on this host. True: data has to
 * wait. f is touched when the backup is whole, and the caller then calls this
 * again; or when f has failed. */
bool xfer_keep_first(struct xfer_file *f, const struct xfer_handle *e);
/* Copies a slice of a backup on this host. False: there is no backup to
 * copy. */
bool xfer_keep_turn(struct xfer *x);
/* Ends the backup of f, which has ended; whole: its target has become the
 * source's copy. */
void xfer_keep_free(struct xfer_file *f, bool whole);

/* ---- order-delete.c ----------------------------------------------------- */

/* Deletes begin, if nothing has failed; else the user is told. */
void xfer_order_may_delete(struct xfer *x, const struct xfer_order *o);
/* Begins the deletion o. False: too many are under way, so o has to wait. */
bool xfer_order_delete(struct xfer *x, const struct xfer_order *o);
bool xfer_order_is_delete(const struct xfer_order *o);

/* ---- order-dirs.c ------------------------------------------------------- */

/* Begin what o orders for a directory: to make it, or to set its attributes.
 * False: too much is under way, so o has to wait. */
bool xfer_order_make_dir(struct xfer *x, const struct xfer_order *o);
bool xfer_order_fix_dir(struct xfer *x, const struct xfer_order *o);

/* ---- order-attrs.c ------------------------------------------------------ */

/* Sets the attributes of a file of this host. False: it is no such order, or
 * the file cannot be read, so it is copied. */
bool xfer_order_fix_file(struct xfer *x, const struct xfer_order *o);

/* ---- order-source.c ----------------------------------------------------- */

/* Keeps what is needed to remove the source of f, whose target is whole. NULL:
 * no memory. */
struct xfer_source_end *xfer_source_end_new(const struct xfer_file *f,
    uint64_t bytes) must_check;
/* xfer_source_goes() removes the source if it still is the file that was read;
 * xfer_source_stays() leaves it. The order, of so many bytes, ends then. Both
 * free s. */
void xfer_source_goes(struct xfer_source_end *s);
void xfer_source_stays(struct xfer_source_end *s);

/* ---- order-settle.c ----------------------------------------------------- */

/* True if the order of f ends only when the file is on the disk. */
bool xfer_settles(const struct xfer_file *f);
/* Takes a file that is whole at the target. Its order, of so many bytes, ends
 * once file and name are on the disk; with --remove-source-files the source is
 * removed then. */
void xfer_settle_file(struct xfer_file *f, uint64_t bytes);
/* Take a file or directory of a copy without orders (--fsync): the run ends
 * once they are on the disk. A failure is reported. */
void xfer_settle_plain(const struct xfer_file *f);
void xfer_settle_tree(struct xfer_dir *d);
/* Notes a new name in a directory: that of a path at a server, or (at not NULL)
 * one on this host. */
void xfer_settle_dir(struct xfer *x, const char *path, struct local_dir *at);
/* Goes on with syncs. True: something has ended. */
bool xfer_settle_turn(struct xfer *x);
/* Number of files whose orders wait until they are on the disk. */
size_t xfer_settle_files(const struct xfer *x);
/* True if nothing has to be brought to the disk any more. */
bool xfer_settled(const struct xfer *x);
void xfer_settle_free(struct xfer_settle *s); /* s may be NULL */

#endif
