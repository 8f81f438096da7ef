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

/* Facts, or'ed. What is not known is not set. */
enum target_fact {
	TARGET_THERE = 1,	 /* something bears the name */
	TARGET_REGULAR = 2,	 /* it is a regular file */
	TARGET_NAMES = 4,	 /* it has several names */
	TARGET_OTHER_OWNER = 8,	 /* its owner or group is not that of a file
				  * that is made beside it */
	TARGET_READ_ONLY = 16,	 /* we were refused to write it */
	TARGET_NO_PART = 32,	 /* none can be made, or none is wanted */
	TARGET_IS_SOURCE = 64,	 /* by numbers that one machine gave for both */
	TARGET_FACTS = 128,	 /* all of them are below that */
};

enum target_plan {
	TARGET_RENAME,	 /* a part is written, and renamed to the target */
	TARGET_IN_PLACE, /* opened without being cut; cut at the end */
	TARGET_KEEP,	 /* it is the source: nothing is touched */
	TARGET_REFUSE,	 /* nothing is touched, and the copy fails */
};

enum target_plan target_plan(unsigned facts);

/* May nothing but a question to the kernel (or the server) tell whether the
 * target can be written? If its mode lets its owner write, no: another's is
 * written in place, where the open tells. */
static inline bool
target_asks_writable(mode_t mode)
{
	return S_ISREG(mode) && (mode & S_IWUSR) == 0;
}

/* Does the kernel say that this user may not write the file of that name below
 * the directory `at`, which has that mode? */
bool target_is_read_only(int at, const char *path, mode_t mode);

#endif
