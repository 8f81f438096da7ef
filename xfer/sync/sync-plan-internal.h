/* SPDX-License-Identifier: ISC */
/* The plan: its state, and what its files know of each other. */
#ifndef HPN_XFER_SYNC_SYNC_PLAN_INTERNAL_H
#define HPN_XFER_SYNC_SYNC_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "compat/queue.h"
#include "xfer/state/transfer-exact.h"
#include "xfer/sync/sync-ahead.h"
#include "xfer/sync/sync-held.h"
#include "xfer/sync/sync-plan.h"
#include "xfer/sync/sync-spool.h"

struct sync_file_id {
	uint64_t dev, ino;
};

/* An order in its bare form, as it is kept until it is given out. */
struct sync_record {
	enum xfer_order_kind kind;
	uint32_t pair, source;
	/* The file that the target is, and the one of dest that it becomes a
	 * name of; ino 0: unknown. */
	struct sync_file_id is, becomes;
	const char *link; /* path of the name that it is linked to, when that
			   * is whole (-H); NULL: none */
	const char *basis; /* path of another file of the target that may have
			    * some of the data; NULL: none */
	uint64_t basis_size;
	uint32_t dest; /* 1 and up: it is linked to that one's; 0: to none */
	bool silent;	    /* no item is told of it */
	bool kept;	    /* of a delete: it is none; the name stays, and with
			     * it the directories that it is in */
	bool replaces_kind, remove_source, has_was;
	bool resume;	    /* there is a part to go on with */
	uint32_t set;	    /* SFTP_A_*: what the target gets */
	uint32_t mode, uid, gid; /* with the kind of file */
	uint32_t xattrs; /* enum xattrs_kind: those of item that it gets */
	struct sftp_attrs was;
	char letters[SYNC_ITEM_LEN + 1];
	struct walk_item item; /* of the source; only what an item tells */
	const char *path;      /* below the pair's top */
	const char *text;      /* of a link; or "" */
};

/* A directory that is in the group that was read last, or in one above. */
struct sync_child {
	char *name; /* owned */
	bool gone;  /* it is to be deleted, and so is what is in it */
	bool counted; /* among the deletes */
	struct sync_record attrs; /* XFER_ORDER_DIR_ATTRS; without path */
	bool attrs_differ, has_time; /* the time is right, unless touched */
	/* -m: it does not count until something of a source is in it: then it
	 * is made, if it is to be. A target's that never counts is deleted. */
	bool pending, made_late, may_go;
	struct {
		bool silent, has_was, replaces_kind;
		uint32_t set;
	} make; /* how: what differs from attrs */
	bool locked;	    /* its owner cannot write to it */
	uint8_t *xattrs;    /* owned: those of both records; NULL: none */
};

/* A group that is open, or of which a later group may be a child. */
struct sync_frame {
	char *path;
	struct sync_child *children; /* owned, in the order of names */
	size_t n, room, at;
	/* Owned: those before them, if they are many; NULL: there are none. */
	struct sync_spool *more;
	bool reading; /* all were added; from now on they are taken */
	bool gone, counted; /* as of the child that it is */
	bool stays;	    /* though it goes: something in it does not */
	bool unsure;	    /* as group_unsure */
	bool two_cases;	    /* names that differ in their capitals are two */
	struct sync_child self; /* name is NULL of a top that has no child */
	bool has_self, has_group, touched;
	uint8_t *own_xattrs; /* owned: those of a top that has no child */
	TAILQ_ENTRY(sync_frame) entry;
};
TAILQ_HEAD(sync_frames, sync_frame);

/* A scan, with the item that was read last. */
struct sync_cursor {
	struct sync_scan *scan;
	/* Reads it, of a source with files of rules; else NULL. */
	struct sync_ahead *ahead;
	bool have, ended;
	struct walk_item item;
	struct walk_item top; /* of a further directory of the target */
	/* Of a scan that begins below the pair's top: that directory, which
	 * stands before the paths; borrowed; and a path with it, owned. */
	const char *below;
	char *path;
	bool in_group; /* the open group is also this scan's */
	bool skips;    /* entries up to the next group do not count */
};

struct sync_pair_state {
	struct sync_pair pair;
	uint32_t number;
	struct sync_cursor *sources, *dests, target;
	bool begun, open, target_has_it;
	char *group; /* path of the open group */
	bool group_gone;
	bool group_unsure; /* a source of it cannot be read, or the target's is
			    * on another device than its top: nothing in it is
			    * deleted */
	struct strlist parts; /* of the group: the names of the target that
			       * look like parts */
	uint64_t entries, n_gone; /* of the sources; to be deleted */
	struct sync_held *held; /* owned; NULL: none yet */
	/* Of a directory that has another name at the target: these two, owned;
	 * NULL: it is a whole tree. What is in it is compared as a pair of its
	 * own, whose paths are those of the source's pair. */
	char *twin, *twin_target;
	struct sync_child self; /* the directory itself */
	bool twin_mounted;	/* nothing in it is deleted */
	TAILQ_ENTRY(sync_pair_state) entry;
};

/* An order that waits to be given out, or to end. */
struct sync_ready {
	struct xfer_order order;
	struct sync_record record;
	struct sftp_attrs attrs, was;
	struct xfer_exact exact;
	char *local, *remote, *backup, *link, *path, *text; /* owned */
	char *basis;					     /* owned */
	struct buf xattrs; /* the set that order has */
	TAILQ_ENTRY(sync_ready) entry;
};
TAILQ_HEAD(sync_ready_list, sync_ready);

enum { SYNC_BUCKETS = 1024 };

enum sync_phase {
	SYNC_PHASE_MERGE,
	SYNC_PHASE_RENAMES, /* --detect-renames */
	SYNC_PHASE_FIRSTS, /* of sets of hard links */
	SYNC_PHASE_LINKS,
	SYNC_PHASE_DELETE,
	SYNC_PHASE_LATE,
	SYNC_PHASE_DIRS,
	SYNC_PHASE_END,
};

struct sync_plan {
	struct sync_plan_params p;
	TAILQ_HEAD(sync_pair_states, sync_pair_state) pairs;
	struct sync_pair_state *now;
	uint32_t n_pairs;
	const char *rule_files[SYNC_AHEAD_FILES]; /* in directories */
	size_t n_rule_files;
	struct sync_frames frames; /* of the pair `now`, downwards */
	enum sync_phase phase;
	bool not_whole;
	bool emptied; /* a source is empty, and its target is not */
	enum sync_deletes deletes;
	struct sync_spool pruned; /* -m: directories, those within first */
	struct sync_spool firsts, links, to_delete, late, dirs;
	struct sync_sets *sets; /* owned; NULL: none yet */
	struct sync_bases *bases; /* owned; NULL: none yet */
	uint64_t n_deletes;    /* without those that are kept */
	struct strlist kept;   /* directories that stay for what is in them */
	struct strlist in_way; /* of them: those that a file should replace */
	struct sync_ready_list ready;	 /* to be given out */
	struct sync_ready *given;	 /* the last one that was */
	struct sync_ready_list under_way[SYNC_BUCKETS];
	uint64_t n_given; /* under way */
	bool order_failed; /* one or more */
	bool alone; /* the name that is judged waits for no other names, and
		     * is made at once if it is */
	uint64_t next_id;
	struct sync_counts counts;
};

/* sync-merge.c: goes on with the pair `now`. 1: orders may be ready; 0: the
 * pair is over; SYNC_SCAN_LATER; ERR_*. */
int sync_merge(struct sync_plan *p) must_check;
/* Frees the frames of a pair that was not merged to its end. */
void sync_plan_free_frames(struct sync_plan *p);
/* sync-children.c: directories of a frame. They are added while its group is
 * open, in the order of their names; the new one is zero but for its name. */
struct sync_child *sync_children_add(struct sync_frame *f, const char *path);
/* Keeps those of the open group few in memory. They have to be in order. */
void sync_children_limit(struct sync_plan *p);
/* The next one, f->children[f->at], valid until the next call that finds
 * another; NULL: there is none. */
const struct sync_child *sync_children_next(struct sync_plan *p,
    struct sync_frame *f);
void sync_children_free(struct sync_frame *f);
/* sync-dest.c: goes on with the further directories, which follow the sources:
 * 1; SYNC_SCAN_LATER. */
int sync_dests_fill(struct sync_pair_state *s);
/* Learns what their tops are: as sync_dests_fill(). */
int sync_dests_top(struct sync_pair_state *s);
/* True if one was moved on, so that there is something to read. */
bool sync_dests_follow(struct sync_pair_state *s, const char *group,
    const char *name);
void sync_dests_join(struct sync_pair_state *s, const char *path);
/* What one of them has by the name that is judged, of the open group; NULL: it
 * has no such name. A top has an empty name. */
const struct walk_item *sync_dest_item(const struct sync_pair_state *s,
    unsigned dest, const char *name);
/* Changes a decision, and what is told of it, by what the further directories
 * (--link-dest and the like) have under that name. */
void sync_dests_apply(const struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r, const struct walk_item *t);
/* sync-hard.c: has a set of hard links taken the record, to be emitted when all
 * its names are known? */
bool sync_set_takes(struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r);
/* Makes a record of a set a hard link to the first name of that set. False: the
 * file is copied. */
bool sync_set_links(struct sync_plan *p, struct sync_record *r);
void sync_sets_free(struct sync_sets *t);
/* sync-basis.c: note a file of the target by which a new one may be found to be
 * similar: one in the open group, or one that is to be deleted, before its
 * record is put on the list of deletes. */
void sync_basis_seen(struct sync_plan *p, const char *path,
    const struct walk_item *t);
void sync_basis_goes(struct sync_plan *p, const struct walk_item *t);
/* Does the record of a new file wait for a basis? */
bool sync_basis_takes(struct sync_plan *p, const struct sync_record *r);
/* All names of the open group are known: those that wait for them are emitted.
 * 0; ERR_*. */
int sync_bases_group_ends(struct sync_plan *p) must_check;
/* Emits the next one that waits for both trees. 1; 0: there is none; ERR_*. */
int sync_bases_next(struct sync_plan *p) must_check;
void sync_bases_free(struct sync_bases *b); /* NULL: nothing */
/* sync-merge.c: as sync_scan_next(), but 1 also at
 * the end. */
int sync_cursor_fill(struct sync_cursor *c);
/* sync-merge.c: the name of the open group that is next: what it is at its
 * source and at the target; NULL: it is not there. */
void sync_handle(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t);
/* sync-held.c: begins the scans of a directory that has two names, whose pair
 * is the one that is merged. 0; ERR_*. */
int sync_twin_begin(struct sync_plan *p) must_check;
/* Notes that another file system is mounted at a group of the target that a
 * pair compares under the source's form of its name, not under its own. */
void sync_twin_passes(struct sync_plan *p, const struct walk_item *group);
/* sync-decide.c: what is to be done for one name of the open group. */
void sync_one(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t);
void sync_top(struct sync_plan *p, const struct walk_item *s,
    const struct walk_item *t);
/* A name that the source does not have. */
void sync_gone(struct sync_plan *p, const char *path,
    const struct walk_item *t);
/* A name in a directory that goes stays, and so does the directory. */
void sync_keep(struct sync_plan *p, const char *path);
/* The directory of the frame gets its attributes at the end, if it needs to. */
void sync_frame_end(struct sync_plan *p, struct sync_frame *f);
/* sync-emit.c: puts a record's order behind those that are ready; without one
 * (dry_run) its item is told. */
void sync_emit(struct sync_plan *p, const struct sync_record *r);
void sync_ready_free(struct sync_ready *r);
/* A copy that was decided counts as one to be done, if it is of data. */
void sync_count_copy(struct sync_plan *p, const struct sync_record *r);
void sync_tell(struct sync_plan *p, const struct sync_record *r);
/* The target's path, as an order names it. The caller frees it. */
char *sync_target_path(const struct sync_plan *p, const struct sync_record *r);
char *sync_record_shown(const struct sync_plan *p,
    const struct sync_record *r);
char *sync_shown(const struct sync_pair *pair, const char *path, bool is_dir);
void sync_record_put(struct sync_plan *p, struct sync_spool *s,
    const struct sync_record *r);
/* Its bytes, as a list has them. */
void sync_record_encode(struct buf *b, const struct sync_record *r);
/* False: the record's bytes are none. */
bool sync_record_get(struct sync_record *r, const uint8_t *bytes, size_t len);
/* sync-plan-delete.c: decides whether to delete, once all pairs are merged. */
void sync_deletes_decide(struct sync_plan *p);
/* Is the record's directory there still, in the way of a file? */
bool sync_is_in_way(const struct sync_plan *p, const struct sync_record *r);
/* The next delete: 1, an order may be ready; 0: there is none; ERR_*. */
int sync_deletes_next(struct sync_plan *p) must_check;

#endif
