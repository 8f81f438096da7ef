/* SPDX-License-Identifier: ISC */
/*
 * Compares source trees with target trees, as scans tell them (sync-scan.h),
 * and says what is to be done, as orders for a transfer
 * (xfer/transfer/transfer-orders.h). It keeps one group of each side, what it
 * must know of the directories above, and the list of what is to be deleted,
 * which goes to an unnamed file when it is long.
 *
 * Copies come first, then deletes, then copies that had to wait for deletes,
 * then attributes of directories. Nothing is deleted unless the plan is whole:
 * docs/SYNC.md has the rules.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_PLAN_H
#define HPN_XFER_SYNC_SYNC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/state/orders.h"
#include "xfer/sync/sync-compare.h"
#include "xfer/sync/sync-opts.h"
#include "xfer/sync/sync-scan.h"

struct local_dir;
struct sftp;
struct strlist;
struct sync_plan;
struct sync_rules;

/* A target tree and the sources that are to be in it. */
struct sync_pair {
	/* In the order in which they count for a name that several have; the
	 * paths are as the session names them. */
	struct sync_scan *const *sources;
	const char *const *source_roots;
	struct sftp *source_session; /* the session that reads files of rules */
	unsigned n_sources;
	struct sync_scan *target;
	const char *target_root;
	/* The session that is asked which names are the same file at the
	 * target; NULL: none is asked. */
	struct sftp *target_session;
	/* Begins a scan of a directory below the top of the source (if source
	 * is true) or of the target; NULL: that cannot be done. */
	int (*scan_below)(void *arg, const struct sync_pair *pair, bool source,
	    const char *path, struct sync_scan **out);
	void *scan_arg;
	/* Scans of the further directories that may have files which are
	 * missing at the target (opts->one_file.dest), the first counting most;
	 * their tops, as paths of the target's session, and as held directories
	 * if they are local. */
	struct sync_scan *const *dests;
	const char *const *dest_roots;
	struct local_dir *const *dest_locals;
	unsigned n_dests;
	/* Where the target is below the one that the user has named: "" or
	 * "dir". It stands before the paths in messages, and for rules. */
	const char *shown;
	/* The tops of the local side, held: those of the sources, or the one
	 * that the user has named as the target. */
	struct local_dir *const *locals;
	bool names_only; /* the scans are of given names: nothing is deleted */
	/* With one name: what that file is called at the target; NULL: the
	 * same. */
	const char *as;
	bool target_made; /* the target's top was made just now */
};

/* What there is to tell, for --stats and the summary. */
struct sync_counts {
	uint64_t entries, files, dirs, links, specials; /* of the sources */
	uint64_t made_files, made_dirs, made_links, deleted;
	uint64_t bytes, copied_files, copied_bytes;
	uint64_t target_entries;
	/* Numbers of what is to be done, known when all is compared. */
	uint64_t to_copy, to_copy_bytes, to_delete;
};

struct sync_plan_hooks {
	/* A line of -i: letters are of sync_itemise(), or "*deleting  ". With
	 * dry_run it is called when decided, else when done. path ends in a
	 * slash if it is a directory's. source is NULL of a delete. */
	void (*item)(void *arg, const char *letters, const char *path,
	    const struct walk_item *source);
	/* What is no failure, and what is one (exit status 23), and what was
	 * gone when it was to be read (24). */
	void (*note)(void *arg, const char *path, const char *text);
	void (*fail)(void *arg, const char *path, const char *text);
	void (*vanished)(void *arg, const char *path);
	/* Is called when all is compared; some of the orders may be done by
	 * then. NULL: not called. */
	void (*compared)(void *arg, const struct sync_counts *counts);
	void *arg;
};

struct sync_plan_params {
	const struct sync_opts *opts;
	struct sync_rules *rules;
	const struct sync_ends *ends;
	/* Further directories of the pairs that are below the user's target, as
	 * paths from there: they are not deleted. NULL: none. */
	const struct strlist *dests;
	bool up;	 /* the local side is the source */
	bool here;	 /* both are on this machine: letters are ">" */
	bool tell_equal; /* items of what is equal, too */
	bool every_file; /* equal files get an order, too */
	unsigned children_max; /* for tests: limit of a group's directories in
			        * memory; 0: the default */
	struct sync_plan_hooks hooks;
};

/* What params and pairs point to is borrowed until the plan is freed; scans of
 * a pair are the plan's from sync_plan_add() on. */
int sync_plan_new(struct sync_plan **out,
    const struct sync_plan_params *params) must_check;
void sync_plan_free(struct sync_plan *p); /* NULL: nothing */
/* Adds a pair behind the others. */
int sync_plan_add(struct sync_plan *p, const struct sync_pair *pair) must_check;
/* For xfer_follow(): arg is the plan. With dry_run there are no orders. */
int sync_plan_next(void *plan, struct xfer_order *out) must_check;
void sync_plan_done(void *plan, uint64_t id, bool ok, uint64_t bytes);
/* What became of the deletes. */
enum sync_deletes {
	SYNC_DELETE_DONE,      /* or there were none */
	SYNC_DELETE_TOO_MANY,  /* exit status 25 */
	SYNC_DELETE_NOT_WHOLE, /* not all of the sources could be read */
};
enum sync_deletes sync_plan_deletes(const struct sync_plan *p);
const struct sync_counts *sync_plan_counts(const struct sync_plan *p);

#endif
