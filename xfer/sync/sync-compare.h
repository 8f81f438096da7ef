/* SPDX-License-Identifier: ISC */
/*
 * What has to be done for one name: a pure decision from the source's and the
 * target's entry. Also the eleven letters with which rsync's -i says it.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_SYNC_SYNC_COMPARE_H
#define HPN_XFER_SYNC_SYNC_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xfer/sftp/walk-reader.h"
#include "xfer/sync/sync-opts.h"

enum sync_action {
	SYNC_NOTHING,	/* equal, or left alone by an option */
	SYNC_ATTRS,	/* only attributes differ */
	SYNC_COPY,	/* data of a file */
	SYNC_MAKE_DIR,
	SYNC_MAKE_LINK,
	/* This kind of file cannot be made through SFTP, or is not asked for:
	 * "skipping non-regular file". */
	SYNC_SKIP,
};

/* What differs, in the order of rsync's letters. */
enum sync_differs {
	SYNC_DIFFERS_DIGEST = 1,
	SYNC_DIFFERS_SIZE = 2,
	SYNC_DIFFERS_TIME = 4,
	SYNC_DIFFERS_MODE = 8,
	SYNC_DIFFERS_OWNER = 16,
	SYNC_DIFFERS_GROUP = 32,
	SYNC_DIFFERS_TEXT = 64, /* of a link */
	/* The target gets the time at which it is written. */
	SYNC_DIFFERS_NOW = 128,
	SYNC_DIFFERS_ACL = 256,
	SYNC_DIFFERS_XATTRS = 512,
};

struct sync_decision {
	enum sync_action action;
	bool is_new;	      /* there is no target, or none of this kind */
	bool replaces_kind;   /* a target of another kind is removed */
	unsigned differs;     /* of enum sync_differs; 0 of what is new */
	uint32_t mode;	      /* that the target shall have, without the kind */
	bool left_alone;      /* an option keeps the target as it is */
	/* Its owner and group, if these are asked for and can be set. */
	bool sets_owner, sets_group;
	uint32_t uid, gid;
	uint32_t xattrs; /* kinds of attributes that are set: enum
			  * xattrs_kind */
};

/* What the ends can tell and do. */
struct sync_ends {
	bool ns;	    /* both tell nanoseconds */
	bool target_is_root; /* owners can be set */
	/* Groups that a user who is not root can give files to. */
	const uint32_t *groups;
	size_t n_groups;
	uint32_t umask_target; /* of new files without -p */
};

/* target NULL: there is none. */
struct sync_decision sync_decide(const struct sync_opts *o,
    const struct sync_ends *ends, const struct walk_item *source,
    const struct walk_item *target);

/* The kinds of extended attributes that a target of the given kind should
 * have. */
uint32_t sync_xattr_kinds(const struct sync_opts *o,
    const struct sync_ends *ends, enum walk_kind kind);
/* Should a target of the given kind have the source's time? */
bool sync_keeps_time(const struct sync_opts *o, enum walk_kind kind);
/* True if two times, in seconds, are equal within --modify-window; false
 * without that option. */
bool sync_time_is_near(const struct sync_opts *o, int64_t a, int64_t b);

enum { SYNC_ITEM_LEN = 11 };
/* Writes the letters of -i for a decision, such as ">f.st......", or for an
 * upload "<f.st......". SYNC_NOTHING has letters, too. */
void sync_itemise(const struct sync_decision *d, bool up,
    const struct walk_item *source, char out[SYNC_ITEM_LEN + 1]);

#endif
