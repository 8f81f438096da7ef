/* SPDX-License-Identifier: ISC */
/*
 * The filter rules of a sync: what --include, --exclude, --filter, -F and the
 * files that these name say (rsync(1), FILTER RULES). Each pattern is matched
 * by xfer/filter.h; here is which rules hold in which directory, and for which
 * side.
 *
 * A file of rules that the user names is opened by the rule of
 * base/open-named.h. Files of rules in the directories of a source (dir-merge)
 * are given by whoever reads the tree; they cannot name further files.
 *
 * Not supported, and refused by name: the modifiers "/" (paths of the whole
 * file system), "C" but for ":C" and "-C", and "x"; file names with a slash
 * within, of dir-merge.
 *
 * Functions that can fail return 0; ERR_SYNTAX, ERR_UNSUPPORTED, ERR_LIMIT,
 * ERR_NOMEM, or ERR_SYSTEM of a file: then *why says what is wrong, and where,
 * but never shows text of a file. It is borrowed until the next call.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_RULES_H
#define HPN_XFER_SYNC_SYNC_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct sync_rules;

enum sync_side {
	SYNC_SENDER,   /* hides names of the source */
	SYNC_RECEIVER, /* protects names of the target */
	/* As SYNC_RECEIVER, in a directory that is being deleted, where
	 * perishable rules do not hold. */
	SYNC_RECEIVER_GONE,
};

enum {
	SYNC_RULES_MAX = 4096, /* rules that hold at a time */
	SYNC_RULES_BYTES_MAX = 64 * 1024, /* of their patterns */
	SYNC_RULES_FILE_MAX = 1024 * 1024, /* bytes of a file of rules */
};

struct sync_rules *sync_rules_new(void) must_check;
void sync_rules_free(struct sync_rules *r); /* NULL: nothing */
/* From now on, names in files of rules end with zero bytes (--from0). */
void sync_rules_zero_ends(struct sync_rules *r);
/* Rules that do not say a side are the sender's only (--delete-excluded). */
void sync_rules_sender_only(struct sync_rules *r);

/* A rule as in --filter. */
int sync_rules_add(struct sync_rules *r, const char *rule,
    const char **why) must_check;
/* The value of --exclude or --include: a pattern, "- " or "+ " and a pattern,
 * or "!". */
int sync_rules_add_pattern(struct sync_rules *r, bool exclude,
    const char *pattern, const char **why) must_check;
/* A file of such values: of --exclude-from, --include-from. "-": standard
 * input. */
int sync_rules_add_file(struct sync_rules *r, bool exclude, const char *path,
    const char **why) must_check;

/* Names of the files with rules for one directory, such as ".rsync-filter"; i
 * from 0; NULL: no more. */
const char *sync_rules_dir_file(const struct sync_rules *r, size_t i);
/* Enters a directory, after all directories that it is not in have been left.
 * texts[i] is the content of the i-th file, or NULL; texts NULL: there are
 * none. */
int sync_rules_enter(struct sync_rules *r, const char *path,
    const char *const *texts, const size_t *lens,
    const char **why) must_check;
/* Adds the rules of another source for the directory that was entered with
 * those of source 0: first of source 1, then 2 and so on. Names of a target are
 * protected by the rules of the first source that has a file of them. */
int sync_rules_enter_too(struct sync_rules *r, unsigned source,
    const char *path, const char *const *texts, const size_t *lens,
    const char **why) must_check;

/* True if a name is excluded (side sender, for source 0), or protected from
 * deletion (side receiver). path: its path in the transfer, in the directory
 * that was entered last or below it. */
bool sync_rules_excludes(const struct sync_rules *r, enum sync_side side,
    const char *path, bool is_dir);
/* True if that source's rules exclude the name. */
bool sync_rules_hides(const struct sync_rules *r, unsigned source,
    const char *path, bool is_dir);
/* The rules that a server can apply to a walk of a source whose top is the
 * transfer's, in the form of walk@hpnssh.org. They leave out only what is
 * excluded, and not all of that: the reader of the walk applies all rules.
 * Borrowed until the rules change. NULL with *len 0: there are none. */
const void *sync_rules_wire(struct sync_rules *r, size_t *len);

#endif
