/* SPDX-License-Identifier: ISC */
/*
 * The trees of this host that a copy reads or fills. All work below a path that
 * the user has named is done here, with descriptors of directories and single
 * names, never with paths. So a user who can write to the tree cannot lead a
 * copy out of it by putting a link, or another directory, in the place of a
 * directory.
 *
 * A directory (struct local_dir) has a parent, a name there, and the device and
 * inode number that it had when it was found or made; each time it is opened
 * they are compared. The first directory of a tree is a root, reached by the
 * path that the user has typed. Only few directories have an open descriptor at
 * a time, those that were used last. A directory that has none is opened again
 * from the nearest directory above it that has one.
 *
 * What a symbolic link may lead to is decided by local_links_follow() alone,
 * from one of three rules (enum local_links).
 *
 * Functions that can fail return -1 with errno (NULL: no memory). ESTALE: a
 * directory is no longer the one that it was. ENOLINK: a link belongs to
 * another user, and LOCAL_LINKS_OWN forbids to follow it. local_error_text()
 * has texts for these. A name is one component of a path; only that of
 * local_place() may have slashes behind it.
 *
 * Threads: one at a time for a tree.
 */
#ifndef HPN_XFER_LOCAL_LOCAL_TREE_H
#define HPN_XFER_LOCAL_LOCAL_TREE_H

#include <sys/stat.h>
#include <sys/types.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct buf;
struct xattrs;
struct local_tree; /* a set of trees that share a limit of descriptors */
struct local_dir;

enum local_links {
	/* No link is followed: it is refused, or handled as a link. */
	LOCAL_LINKS_NONE,
	/* Links of root and of this user are followed: for targets. So another
	 * user who may write to a directory cannot choose what is written. */
	LOCAL_LINKS_OWN,
	/* All links are followed: for sources of which the files behind links
	 * are copied. */
	LOCAL_LINKS_ALL,
};

/* May this link be followed? */
bool local_links_follow(const struct stat *link, enum local_links rule);
/* Text of an errno for the user. Borrowed. */
const char *local_error_text(int error);

/* ---- directories -------------------------------------------------------- */

/* fds_max: most descriptors of directories at a time; 0: a share of this
 * process's limit. The tree must be freed after all its directories. */
struct local_tree *local_tree_new(unsigned fds_max);
void local_tree_free(struct local_tree *t);
/* For tests: how many descriptors of directories are open now. */
unsigned local_tree_fds(const struct local_tree *t);

/* A root at a path that the user has named, so links on the way to it are
 * followed, and a link at its end if the rule allows. The directory is first
 * opened when it is used; from then on it must be the same one (ESTALE). */
struct local_dir *local_root(struct local_tree *t, const char *path,
    enum local_links rule) must_check;
/* A root that is open already. Takes over the descriptor, which stays open as
 * long as the root; if the function fails, fd is closed. */
struct local_dir *local_root_held(struct local_tree *t, int fd) must_check;
/* The directory in which the file of that path lies, as a root; *name is its
 * name there, within path. If the path is "/", or its last part is "." or "..",
 * the root is the directory that the path names, and *name is ".". */
struct local_dir *local_place(struct local_tree *t, const char *path,
    enum local_links rule, const char **name) must_check;
/* The last part of a path, with the slashes behind it. Borrowed from path. */
const char *local_last_name(const char *path);
/* A directory in another one; `found` has its device and inode number. */
struct local_dir *local_child(struct local_dir *parent, const char *name,
    const struct stat *found, enum local_links rule) must_check;
/* Makes a directory, or takes an existing one: then *made is false. EEXIST: the
 * name is that of a file. */
int local_make(struct local_dir *parent, const char *name, mode_t mode,
    enum local_links rule, struct local_dir **out, bool *made) must_check;

struct local_dir *local_dir_ref(struct local_dir *d);
void local_dir_unref(struct local_dir *d); /* d may be NULL */
int local_dir_stat(struct local_dir *d, struct stat *st) must_check;
int local_dir_set_mode(struct local_dir *d, mode_t mode) must_check;
int local_dir_set_times(struct local_dir *d,
    const struct timespec times[2]) must_check;
int local_dir_set_owner(struct local_dir *d, uid_t uid, gid_t gid) must_check;
int local_dir_set_xattrs(struct local_dir *d,
    const struct xattrs *x) must_check;
/* Waits until the names in the directory are on the disk. EACCES: this user may
 * not read the directory. */
int local_dir_sync(struct local_dir *d) must_check;
struct statvfs;
int local_dir_space(struct local_dir *d, struct statvfs *v) must_check;
/* Opens the directory to read its names; the caller closes it. */
DIR *local_dir_list(struct local_dir *d) must_check;

/* ---- what is in them ---------------------------------------------------- */

/* Attributes of a name, or of the file behind a link if the rule follows it. */
int local_stat(struct local_dir *d, const char *name, enum local_links rule,
    struct stat *st) must_check;
/* As file_is_away(), for a file in the directory with the attributes st. */
bool local_is_away(struct local_dir *d, const struct stat *st);
/* local_xattrs() appends the extended attributes of these kinds (xfer/xattrs.h)
 * of a name; local_set_xattrs() sets them. A link is not followed. */
int local_xattrs(struct local_dir *d, const char *name, uint32_t kinds,
    struct buf *out) must_check;
int local_set_xattrs(struct local_dir *d, const char *name,
    const struct xattrs *x) must_check;
/* Opens a file for reading, and sets *st. The file can be of any kind, so the
 * caller must check *st before reading. The call never waits, as for a FIFO.
 * The time of the last access stays, where this user is allowed that. */
int local_open_source(struct local_dir *d, const char *name,
    enum local_links rule, struct stat *st) must_check;
/* Opens a file for writing; flags are those of open(2). */
int local_open_target(struct local_dir *d, const char *name, int flags,
    mode_t mode, enum local_links rule) must_check;
/* As the functions in xfer/part-lock.h, for names in a directory. */
int local_part_make(struct local_dir *d, const char *name, mode_t mode,
    uint64_t copy);
int local_part_take(struct local_dir *d, const char *name, uint64_t copy);
int local_part_to_target(int fd, struct local_dir *d, const char *part,
    struct local_dir *to, const char *target);
bool local_part_is(int fd, struct local_dir *d, const char *name);
/* Is the file write-protected for this user? mode: the file's mode. */
bool local_is_read_only(struct local_dir *d, const char *name, mode_t mode);
/* Removes a file, but no directory. */
int local_remove(struct local_dir *d, const char *name);
/* Removes an empty directory. */
int local_remove_dir(struct local_dir *d, const char *name);
/* Renames within a directory. */
int local_rename(struct local_dir *d, const char *from,
    const char *to) must_check;
/* Renames from one directory to another. */
int local_rename_to(struct local_dir *from, const char *name,
    struct local_dir *to, const char *second) must_check;
int local_symlink(const char *text, struct local_dir *d,
    const char *name) must_check;
/* Gives a file, which is no directory and no link, a further name. */
int local_link(struct local_dir *from, const char *first,
    struct local_dir *to, const char *name) must_check;
/* Reads the target of a link; returns its length, as readlink(2). */
ssize_t local_read_link(struct local_dir *d, const char *name, char *text,
    size_t size) must_check;
/* Sets the owner, and the times, of the link itself. */
int local_set_link_owner(struct local_dir *d, const char *name, uid_t uid,
    gid_t gid) must_check;
int local_set_link_times(struct local_dir *d, const char *name,
    const struct timespec times[2]) must_check;

#endif
