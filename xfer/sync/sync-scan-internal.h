/* SPDX-License-Identifier: ISC */
/*
 * Inside of the scans: sync-scan.c begins one of three ways to learn what is in
 * a tree, and each way tells items by itself.
 *
 *	sync-scan-walk.c	walk@hpnssh.org
 *	sync-scan-list.c	directory by directory
 *	sync-scan-names.c	name by name
 *
 * A way lives until the last of its requests is answered, also when its scan
 * has been freed.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_SCAN_INTERNAL_H
#define HPN_XFER_SYNC_SYNC_SCAN_INTERNAL_H

#include "base/buf.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-scan.h"

struct scan_way {
	const struct scan_way_ops *ops;
};

struct scan_way_ops {
	/* As sync_scan_next(). ERR_UNSUPPORTED: the server does not have this
	 * way. */
	int (*next)(struct scan_way *w, struct walk_item *item);
	void (*end)(struct scan_way *w);
};

/* Each begins a way from the directory `top`; NULL: no memory. What o points
 * to, and top, are borrowed. */
struct scan_way *scan_walk_new(struct sftp *s, const char *top,
    const struct sync_scan_opts *o);
struct scan_way *scan_list_new(struct sftp *s, const char *top,
    const struct sync_scan_opts *o);
struct scan_way *scan_names_new(struct sftp *s, const char *top,
    const struct sync_scan_opts *o);

/* Sets what attributes tell. False: they do not tell the kind. */
bool scan_take_attrs(struct walk_item *item, const struct sftp_attrs *a);
/* Sets what stat-ns@hpnssh.org tells besides. */
void scan_take_ns(struct walk_item *item, const struct sftp_stat_ns *st);
/* True if a reply of a confined session says that the link leads out of the
 * session's root. */
bool scan_leads_out(const struct sftp *s, const struct sftp_reply *reply);
/* The kinds of extended attributes for which the scan has to ask, entry by
 * entry; 0: none, or the server does not tell them. */
uint32_t scan_xattr_kinds(const struct sftp *s, uint32_t want);
/* Takes the reply to that request: *set, owned by the caller. False: the
 * attributes cannot be read, which is noted in *item. */
bool scan_take_xattrs(struct walk_item *item, struct buf *set, uint32_t want,
    const struct sftp_reply *reply);
/* Clears what was not asked for, since a walk does not tell it either. */
void scan_leave_out_unasked(struct walk_item *item, uint32_t want);

/* sync-scan-window.c: the window of a scan with owners. Items wait in it until
 * the ids of their owners are known. */
struct scan_window;
struct scan_window_source {
	/* Reads the scan, as sync_scan_next(); the items have the source's
	 * ids. */
	int (*next)(struct sync_scan *c, struct walk_item *item);
	struct sync_scan *scan;
	struct sync_owners *owners;
	bool guess; /* as owners_guess */
};
struct scan_window *scan_window_new(const struct scan_window_source *from);
void scan_window_free(struct scan_window *w); /* NULL: nothing */
int scan_window_next(struct scan_window *w, struct walk_item *item);
void scan_window_fill(struct scan_window *w);
/* Maps the ids of one item to those of the target. 1: item has them;
 * SYNC_SCAN_LATER: the answer with them has not come yet; ERR_*. */
int scan_window_map(struct scan_window *w, struct walk_item *item);

#endif
