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
	/* Identities of files at the target: of the target itself, and of the
	 * file in `dest` that it becomes a link to; ino 0: unknown. */
	struct sync_file_id is, becomes;
	const char *link; /* path of the name that the target is linked to when
			   * that is whole (-H); NULL: none */
	const char *basis; /* path of another file of the target that may have
			    * some of the data; NULL: none */
	uint64_t basis_size;
	uint32_t dest; /* number, from 1 on, of the further directory whose file
		        * is linked or copied; 0: none */
	bool silent;	    /* no item is told of it */
	bool kept;	    /* a delete that is not made: the name stays, and so
			     * do the directories above it */
	bool replaces_kind, remove_source, has_was;
	bool resume;	    /* the target has a part with which the copy goes
			     * on */
	uint32_t set;	    /* SFTP_A_*: what the target gets */
	uint32_t mode, uid, gid; /* with the kind of file */
	uint32_t xattrs; /* kinds of attributes of item that the target gets:
			  * enum xattrs_kind */
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
	bool attrs_differ, has_time; /* has_time: the time is right as long as
				      * no entry is changed */
	/* -m. pending: nothing of a source came into the directory yet.
	 * made_late: it is made with the first entry that comes. may_go: if
	 * none comes, the target's directory is deleted. */
	bool pending, made_late, may_go;
	struct {
		bool silent, has_was, replaces_kind;
		uint32_t set;
	} make; /* how the order that makes it differs from `attrs` */
	bool locked;	    /* its owner cannot write to it */
	uint8_t *xattrs;    /* owned: attributes of both records; NULL: none */
};

/* A group that is open, or of which a later group may be a child. */
struct sync_frame {
	char *path;
	struct sync_child *children; /* owned, in the order of names */
	size_t n, room, at;
	/* Owned: the spool with the directories before these, if there are
	 * many; NULL: there is none. */
	struct sync_spool *more;
	bool reading; /* all were added; from now on they are read */
	bool gone, counted; /* as of the child that it is */
	bool stays;	    /* the directory stays although it should be
			     * deleted, because something in it stays */
	bool unsure;	    /* as group_unsure */
	bool two_cases;	    /* the target tells names apart that differ in
			     * capitals */
	struct sync_child self; /* name is NULL of a top that has no child */
	bool has_self, has_group, touched;
	uint8_t *own_xattrs; /* owned: attributes of a top, which is no child;
			      * NULL: none */
	TAILQ_ENTRY(sync_frame) entry;
};
TAILQ_HEAD(sync_frames, sync_frame);

/* A scan, with the item that was read last. */
struct sync_cursor {
	struct sync_scan *scan;
	/* Reads the scan ahead, for a source with files of rules; else NULL. */
	struct sync_ahead *ahead;
	bool have, ended;
	struct walk_item item;
	struct walk_item top; /* item of the top of a further directory */
	/* For a scan that begins below the pair's top: that directory, which is
	 * put before the scan's paths; borrowed. path: owned; the result. */
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
	bool group_unsure; /* a source of this group cannot be read, or the
			    * target's directory is on another device than its
			    * top: nothing in it is deleted */
	struct strlist parts; /* names of the target's open group that look like
			       * parts */
	uint64_t entries, n_gone; /* of the sources; to be deleted */
	struct sync_held *held; /* owned; NULL: none yet */
	/* For a pair that is one directory with another name at the target: the
	 * two paths, owned; twin is NULL if the pair is a whole tree. The
	 * directory is compared as a pair of its own, with paths as in the
	 * source's pair. */
	char *twin, *twin_target;
	struct sync_child self; /* the directory itself */
	bool twin_mounted;	/* the directory is a mount point: nothing in it
				 * is deleted */
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
	struct buf xattrs; /* owned; the set of attributes that `order` points
			    * to */
	TAILQ_ENTRY(sync_ready) entry;
};
TAILQ_HEAD(sync_ready_list, sync_ready);

enum { SYNC_BUCKETS = 1024 };

enum sync_phase {
	SYNC_PHASE_MERGE,
	SYNC_PHASE_RENAMES, /* --detect-renames */
	SYNC_PHASE_FIRSTS, /* first names of sets of hard links */
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
	struct sync_spool pruned; /* -m: directories that are removed, inner
				   * ones first */
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
	bool alone; /* the name that is judged waits for no other name; a
		     * directory is made at once */
	uint64_t next_id;
	struct sync_counts counts;
};

/* sync-merge.c: goes on with the pair `now`. 1: orders may be ready; 0: the
 * pair is over; SYNC_SCAN_LATER; ERR_*. */
int sync_merge(struct sync_plan *p) must_check;
/* Frees the frames of a pair that was not merged to its end. */
void sync_plan_free_frames(struct sync_plan *p);
/* sync-children.c: the directories of a frame. sync_children_add() adds one
 * while the frame's group is open, in the order of names; all but the name of
 * the new element is zero. */
struct sync_child *sync_children_add(struct sync_frame *f, const char *path);
/* Writes the directories of the open group to a spool if there are many. They
 * have to be in order. */
void sync_children_limit(struct sync_plan *p);
/* The next directory, f->children[f->at]; valid until the next call that finds
 * another one. NULL: there is no more. */
const struct sync_child *sync_children_next(struct sync_plan *p,
    struct sync_frame *f);
void sync_children_free(struct sync_frame *f);
/* sync-dest.c: fills the cursors of the further directories, which follow those
 * of the sources. 1; SYNC_SCAN_LATER. */
int sync_dests_fill(struct sync_pair_state *s);
/* Reads the items of the further directories' tops. Returns as
 * sync_dests_fill(). */
int sync_dests_top(struct sync_pair_state *s);
/* Moves the further directories on to a name of a group. True: one has moved,
 * and has to be filled. */
bool sync_dests_follow(struct sync_pair_state *s, const char *group,
    const char *name);
void sync_dests_join(struct sync_pair_state *s, const char *path);
/* The entry that a further directory has for the name that is judged, in the
 * open group; NULL: none. The name of a top is empty. */
const struct walk_item *sync_dest_item(const struct sync_pair_state *s,
    unsigned dest, const char *name);
/* Changes a decision, and what is told of it, by what the further directories
 * (--link-dest and the like) have under that name. */
void sync_dests_apply(const struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r, const struct walk_item *t);
/* sync-hard.c: true if the record belongs to a set of hard links, which keeps
 * it until all names of the set are known. */
bool sync_set_takes(struct sync_plan *p, struct sync_decision *d,
    struct sync_record *r);
/* Makes a record of a set a hard link to the first name of that set. False: the
 * file is copied. */
bool sync_set_links(struct sync_plan *p, struct sync_record *r);
void sync_sets_free(struct sync_sets *t);
/* sync-basis.c: notes a file of the target as a possible basis.
 * sync_basis_seen() takes one of the open group; sync_basis_goes() one that is
 * to be deleted, before its record is added to the list of deletes. */
void sync_basis_seen(struct sync_plan *p, const char *path,
    const struct walk_item *t);
void sync_basis_goes(struct sync_plan *p, const struct walk_item *t);
/* True if the record of a new file is kept until a basis can be chosen. */
bool sync_basis_takes(struct sync_plan *p, const struct sync_record *r);
/* Emits the new files that have waited for all names of the open group. 0;
 * ERR_*. */
int sync_bases_group_ends(struct sync_plan *p) must_check;
/* Emits the next new file that has waited for both trees. 1; 0: there is none;
 * ERR_*. */
int sync_bases_next(struct sync_plan *p) must_check;
void sync_bases_free(struct sync_bases *b); /* NULL: nothing */
/* sync-merge.c: reads the cursor's next item. Returns as sync_scan_next(), but
 * 1 also at the end. */
int sync_cursor_fill(struct sync_cursor *c);
/* sync-merge.c: decides about a name of the open group. s: its entry at source
 * number `source`; t: at the target; NULL: it is missing there. */
void sync_handle(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t);
/* sync-held.c: begins the scans for the pair `now`, a directory that has two
 * names. 0; ERR_*. */
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
/* Notes a name that stays in a directory which is to be deleted: so the
 * directory stays, too. */
void sync_keep(struct sync_plan *p, const char *path);
/* The directory of the frame gets its attributes at the end, if it needs to. */
void sync_frame_end(struct sync_plan *p, struct sync_frame *f);
/* sync-emit.c: puts a record's order behind those that are ready; without one
 * (dry_run) its item is told. */
void sync_emit(struct sync_plan *p, const struct sync_record *r);
void sync_ready_free(struct sync_ready *r);
/* Counts a copy that was decided on, if it is of a file's data. */
void sync_count_copy(struct sync_plan *p, const struct sync_record *r);
void sync_tell(struct sync_plan *p, const struct sync_record *r);
/* The path of the record's target as in orders. The caller frees it. */
char *sync_target_path(const struct sync_plan *p, const struct sync_record *r);
char *sync_record_shown(const struct sync_plan *p,
    const struct sync_record *r);
char *sync_shown(const struct sync_pair *pair, const char *path, bool is_dir);
void sync_record_put(struct sync_plan *p, struct sync_spool *s,
    const struct sync_record *r);
/* Appends the record's bytes as they stand in a spool. */
void sync_record_encode(struct buf *b, const struct sync_record *r);
/* Reads a record from its bytes. False: they are malformed. */
bool sync_record_get(struct sync_record *r, const uint8_t *bytes, size_t len);
/* sync-plan-delete.c: decides whether to delete, once all pairs are merged. */
void sync_deletes_decide(struct sync_plan *p);
/* Is the record's directory there still, in the way of a file? */
bool sync_is_in_way(const struct sync_plan *p, const struct sync_record *r);
/* Emits the next delete. 1: an order may be ready; 0: there is no more;
 * ERR_*. */
int sync_deletes_next(struct sync_plan *p) must_check;

#endif
