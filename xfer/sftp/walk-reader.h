/* SPDX-License-Identifier: ISC */
/*
 * Reads the records of walk@hpnssh.org (docs/SFTP.md), reply by reply. It does
 * no input or output, keeps one path and one name, and trusts nothing. Groups
 * must come in ascending order, and so must the names in each: so there are no
 * cycles, and nothing comes twice. No name leads out of its directory, numbers
 * are in their ranges, and there is nothing that was not asked for.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SFTP_WALK_READER_H
#define HPN_XFER_SFTP_WALK_READER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "xfer/sftp/walk-format.h"

/* A group or an entry. Pointers are valid until the next call. */
struct walk_item {
	bool is_group;
	uint32_t status; /* SFTP status: why the group or entry cannot be read;
			  * 0: it can */
	/* Of a group: */
	const char *path; /* from the top of the walk, which is "" */
	bool mounted;	  /* the directory is on another device than the top */
	/* Of an entry of the last group: */
	const char *name;
	enum walk_kind kind;
	bool not_entered;
	bool away; /* a file whose data are elsewhere, as on a tape */
	const uint8_t *digest; /* or NULL */
	uint32_t mode; /* permissions, without the kind */
	uint32_t uid, gid;
	uint64_t size;
	int64_t mtime;
	uint32_t nsec, nlink;
	uint64_t dev, ino; /* 0 if the file has only one name */
	uint64_t blocks;
	uint32_t major, minor;
	const char *text; /* target of a link; "" if it could not be read */
	/* The set of extended attributes (xfer/xattrs.h) of a file, a directory
	 * or a link. */
	struct span xattrs;
	bool xattrs_unread; /* they cannot be read */
};

struct walk_reader {
	uint32_t want;
	struct rd in; /* the unread rest of the reply */
	bool in_group, any;
	char path[WALK_PATH_MAX + 1], before[WALK_PATH_MAX + 1];
	char name[WALK_NAME_MAX + 1];
	char text[WALK_PATH_MAX + 1];
	uint32_t mode, uid, gid;
	int64_t mtime;
	struct buf xattrs; /* the set of the last entry that had one */
};

void walk_reader_init(struct walk_reader *r, uint32_t want);
/* Needed with WALK_XATTRS only. */
void walk_reader_clear(struct walk_reader *r);
/* Gives the reader the next reply's records, borrowed until the reply after
 * it. */
void walk_reader_reply(struct walk_reader *r, struct span records);
/* Reads the next item. 1; 0: the reply has no more; ERR_FORMAT, ERR_LIMIT: the
 * walk is over, and nothing of it may be trusted. */
int walk_reader_next(struct walk_reader *r, struct walk_item *item) must_check;
/* Compares two paths in the order of groups: a directory comes before all that
 * is in it. Result as of strcmp(). */
int walk_path_cmp(const char *a, const char *b);
/* Compares two paths in the order in which a walk tells them: by the group of
 * their directory, then by the last part. Returns as strcmp(). */
int walk_name_cmp(const char *a, const char *b);

#endif
