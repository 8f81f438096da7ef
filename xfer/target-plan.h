/* SPDX-License-Identifier: ISC */
/*
 * What happens to the file that bears a target's name: one decision, made of
 * facts that are gathered before anything is touched. The client asks it for
 * its own targets and for those at a server, our server for put-file.
 *
 * A target may be its own source: by a hard link, a symbolic link, a bind
 * mount, a home directory that two hosts share, or because "host" is this
 * host. Across a connection nobody can tell: numbers of devices and files are
 * equal on clones of one image, and differ for one file of NFS. So whatever is
 * planned, nothing of the old content goes before the new content is there: a
 * part is renamed when it is whole, and what is written in place is opened
 * without being cut, written from its beginning, and cut to its length at the
 * end. Blocks that come from the file itself are then written where they were
 * read.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_TARGET_PLAN_H
#define HPN_XFER_TARGET_PLAN_H

#include <sys/stat.h>

#include <stdbool.h>

/* Facts, or'ed. A fact that is not known is not set. */
enum target_fact {
	TARGET_THERE = 1,	 /* something bears the target's name */
	TARGET_REGULAR = 2,	 /* the target is a regular file */
	TARGET_NAMES = 4,	 /* the target has several names */
	TARGET_OTHER_OWNER = 8,	 /* its owner or group is not what a file made
				  * beside it would have */
	TARGET_READ_ONLY = 16,	 /* we may not write it */
	TARGET_NO_PART = 32,	 /* no part can be made, or none is wanted */
	TARGET_IS_SOURCE = 64,	 /* the target is its source, by file numbers
				  * that one machine gave for both */
	TARGET_FACTS = 128,	 /* all facts are below that */
};

enum target_plan {
	TARGET_RENAME,	 /* a part is written, and renamed to the target */
	TARGET_IN_PLACE, /* the target is opened without being cut, written, and
			  * cut at the end */
	TARGET_KEEP,	 /* the target is its source: nothing is touched */
	TARGET_REFUSE,	 /* nothing is touched, and the copy fails */
};

enum target_plan target_plan(unsigned facts);

/* Must the kernel (or the server) be asked whether a target of that mode may be
 * written? Not if the mode lets its owner write: another user's file is written
 * in place, where the open tells. */
static inline bool
target_asks_writable(mode_t mode)
{
	return S_ISREG(mode) && (mode & S_IWUSR) == 0;
}

/* Does the kernel say that this user may not write the file `path`, below the
 * directory `at`, which has that mode? */
bool target_is_read_only(int at, const char *path, mode_t mode);

#endif
