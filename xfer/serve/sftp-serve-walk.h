/* SPDX-License-Identifier: ISC */
/*
 * walk@hpnssh.org inside of the server, in three parts:
 *
 *	sftp-serve-walk.c	the requests, and when a reply is full
 *	sftp-serve-walk-dirs.c	which directory is next, and what is in it
 *	sftp-serve-walk-put.c	records
 *
 * Memory: the names of one directory, and those of the directories that are
 * still to come along the way to it; together they have a limit.
 *
 * Threads: one at a time for a walk; a worker, mostly.
 */
#ifndef HPN_XFER_SERVE_SFTP_SERVE_WALK_H
#define HPN_XFER_SERVE_SFTP_SERVE_WALK_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "xfer/filter.h"
#include "xfer/local/local-tree.h"
#include "xfer/sftp/walk-format.h"

/* ---- records ------------------------------------------------------------ */

/* What the record before said, for those that follow. */
struct walk_put {
	uint32_t want;
	char path[WALK_PATH_MAX + 1], name[WALK_NAME_MAX + 1];
	uint32_t mode, uid, gid;
	int64_t mtime;
};

/* A group with an error (an errno) or a number of parts has no entries. */
void walk_put_group(struct walk_put *p, struct buf *b, const char *path,
    int error, uint32_t parts);
void walk_put_unknown(struct walk_put *p, struct buf *b, const char *name,
    int error);
/* text: of a link; digest: NULL: none. */
void walk_put_entry(struct walk_put *p, struct buf *b, const char *name,
    const struct stat *st, bool not_entered, const char *text,
    const uint8_t *digest);

/* ---- directories -------------------------------------------------------- */

struct walk_level;

struct walk_dirs {
	struct local_tree *tree;
	struct walk_level *levels; /* owned: the way to where we are */
	size_t count, cap;
	char path[WALK_PATH_MAX + 1]; /* of the last level */
	size_t held, held_max; /* bytes of names; 0: the usual number */
	uint32_t part, parts;  /* of the top: names whose hash is this part */
	char start[WALK_PATH_MAX + 1];
	bool skipping; /* until start was passed */
	/* The names of the last level, sorted. */
	struct buf bytes;
	const char **names; /* owned; into bytes */
	size_t names_count, next;
	bool begun;
	/* Names before this one are passed over, and none is told: this
	 * directory was known before. */
	bool silent;
	char after[WALK_NAME_MAX + 1];
};

/* Of a zeroed struct with held_max, part, parts, start and skipping. Takes top
 * over. 0 or -1 with errno. */
int walk_dirs_begin(struct walk_dirs *w, int top) must_check;
void walk_dirs_clear(struct walk_dirs *w);
/* Goes to the next directory. 1; 0: there is none; or -1: no memory.
 * *error is an errno if its names cannot be told, and *parts is not 0 if they
 * are too many. */
int walk_dirs_next(struct walk_dirs *w, int *error, uint32_t *parts) must_check;
/* The next name there, or NULL. */
const char *walk_dirs_name(struct walk_dirs *w);
struct local_dir *walk_dirs_here(const struct walk_dirs *w);
/* This one, which has that name there, is to be gone to. 0; -1: no memory, or
 * ENAMETOOLONG. */
int walk_dirs_enter(struct walk_dirs *w, const char *name,
    const struct stat *found) must_check;

#endif
