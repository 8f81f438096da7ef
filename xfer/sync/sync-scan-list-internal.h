/* SPDX-License-Identifier: ISC */
/*
 * Inside of the scan by listings: sync-scan-list.c has the order of the
 * directories and their READDIRs, sync-scan-look.c what has to be asked of an
 * entry besides.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_SCAN_LIST_INTERNAL_H
#define HPN_XFER_SYNC_SYNC_SCAN_LIST_INTERNAL_H

#include "base/buf.h"
#include "base/tree.h"
#include "compat/queue.h"
#include "xfer/sync/sync-scan-group.h"
#include "xfer/sync/sync-scan-internal.h"

struct filter;

enum list_state {
	LIST_WAITS,   /* to be opened */
	LIST_OPENING,
	LIST_READING, /* or its entries are looked at */
	LIST_WHOLE,   /* sorted; to be told, or told */
};

struct list_dir {
	struct tree_node order;	  /* in scan_list.order until it is told */
	struct tree_node waiting; /* in scan_list.waiting while LIST_WAITS */
	TAILQ_ENTRY(list_dir) all;
	TAILQ_ENTRY(list_dir) active; /* while opening or reading */
	struct scan_list *list;
	struct list_dir *parent; /* NULL: this is the top */
	unsigned refs; /* requests, directories below it, and the order */
	enum list_state state;
	uint32_t status; /* why it cannot be read */
	struct sftp_handle *handle; /* owned; NULL: none */
	bool is_open, at_end, group_told;
	bool mounted; /* the directory is on another device than the top; with
		       * WALK_MOUNTS */
	unsigned reads, looks; /* requests without an answer */
	unsigned width;	       /* READDIRs that may be under way */
	struct scan_group group;
	size_t next_look; /* entries before it need no more looks, or have
			   * been asked for */
	/* Directories below, whose groups are still to come: of each the name,
	 * the real path if a link leads to it, and "m" if it is a mount point,
	 * each with a zero byte. */
	struct buf below;
	/* Real path, if a link leads here; "" otherwise. */
	char *real;
	char path[]; /* from the top */
};

TAILQ_HEAD(list_dirs, list_dir);

struct scan_list {
	struct scan_way way;
	struct sftp *s;
	struct sync_scan_opts opts;
	const char *top;
	struct filter *filter; /* owned; NULL: no rules */
	bool dead;
	bool exact; /* READDIR tells what stat-ns does */
	int err;
	unsigned under_way; /* requests without an answer */
	unsigned open;	    /* handles that are there, or asked for */
	bool stalled;	    /* a directory could not ask for all */
	struct tree_node *order, *waiting;
	struct list_dirs all, active;
	struct list_dir *head; /* is told next; NULL: not chosen */
	uint32_t ranks;	       /* state of random numbers */
	size_t bytes;	       /* memory of the groups */
	struct scan_file file; /* of groups that do not fit there */
	unsigned ahead;	       /* directories that were not told */
	size_t below_bytes;
	size_t reply_bytes; /* what answers to READDIR take, on average */
	unsigned reads;	    /* READDIRs without an answer, of all directories */
	uint64_t device; /* device of the top, if want has one of
			  * LIST_DEVICES */
	char *real;	 /* path of the top, if links are followed; owned */
	struct buf path; /* of the last request */
};

/* The path of a name in a directory, as a request names it; name NULL: of the
 * directory. Good until the next call. NULL: no memory, and the scan is
 * over. */
const char *list_path(struct scan_list *l, const struct list_dir *d,
    const char *name);
void list_fail(struct scan_list *l, int err);
/* Count a request that is made for a directory, and its answer. After
 * list_answered() the directory may be freed, and the scan with it. */
void list_asked(struct list_dir *d);
void list_answered(struct list_dir *d);
/* What may be asked for, or done, now that something about d has changed. */
void list_go_on(struct list_dir *d);
bool list_is_excluded(const struct scan_list *l, const struct list_dir *d,
    const char *name, bool is_dir);

bool list_follows(const struct scan_list *l); /* links, at least some */
/* Asks what the listing does not tell of entries of d, of as many as may be
 * asked for. */
void list_look(struct list_dir *d);
/* What has to be known of the top before its entries are. */
void list_look_at_top(struct list_dir *d);
bool list_looks_done(const struct list_dir *d);

enum {
	LIST_ASKED_MAX = 3072, /* requests under way */
	/* the wants for which devices of directories have to be known */
	LIST_DEVICES = WALK_ONE_DEVICE | WALK_MOUNTS,
};

#endif
