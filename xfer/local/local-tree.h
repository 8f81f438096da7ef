/* SPDX-License-Identifier: ISC */
/*
 * The trees of this host that a copy reads or fills. All that is done below
 * what the user has named goes through here, by descriptors of directories and
 * single names, never by a path: so nobody who can write to the tree moves a
 * copy out of it by a link, or by another directory, that he puts in place of
 * what was there a moment before.
 *
 * A directory (struct local_dir) is known by its parent, its name there, and
 * the device and inode number that it had when it was found or made; each time
 * it is opened they are compared. The first of a tree is a root, reached by the
 * path that the user has typed. Descriptors are held for few directories at a
 * time, those that were used last. One that has none is opened again from the
 * nearest directory above it that has one.
 *
 * What a symbolic link may lead to is decided by local_links_follow() alone,
 * from one of three rules (enum local_links).
 *
 * Functions that can fail give -1 with errno (NULL: no memory). ESTALE says
 * that a directory is not any more what it was, ENOLINK that a link is another
 * user's by LOCAL_LINKS_OWN; local_error_text() has words.
 * A name is one component, but for that of local_place(), which may be followed
 * by slashes.
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

struct local_tree; /* a set of trees that share descriptors */
struct local_dir;

enum local_links {
	/* No link: it is refused, or handled as a link. */
	LOCAL_LINKS_NONE,
	/* Links of root and of this user: of targets. A neighbour who may write
	 * to a directory does not choose what is written. */
	LOCAL_LINKS_OWN,
	/* All links: of sources that are copied as what they lead to. */
	LOCAL_LINKS_ALL,
};

/* May this link be followed? */
bool local_links_follow(const struct stat *link, enum local_links rule);
/* What went wrong, in words for the user. */
const char *local_error_text(int error);

/* ---- directories -------------------------------------------------------- */

/* fds_max: of directories, held at a time; 0: by the limit of this process.
 * Freed after all its directories. */
struct local_tree *local_tree_new(unsigned fds_max);
void local_tree_free(struct local_tree *t);
/* How many descriptors of directories are open now. */
unsigned local_tree_fds(const struct local_tree *t);

/* A root: path is the user's word, so links on the way are followed, and what
 * the last part leads to by the rule. Nothing is looked at before it is used;
 * then what is there is held on to. */
struct local_dir *local_root(struct local_tree *t, const char *path,
    enum local_links rule) must_check;
/* A root that is open already. It takes the descriptor over, and keeps it; also
 * if it fails. */
struct local_dir *local_root_held(struct local_tree *t, int fd) must_check;
/* The root that something of that path lies in, and its name there, within
 * path. Of a path whose last part is "." or "..", or of "/", the root is what
 * the path names, and the name is ".". */
struct local_dir *local_place(struct local_tree *t, const char *path,
    enum local_links rule, const char **name) must_check;
/* The last part of a path, with slashes behind it. */
const char *local_last_name(const char *path);
/* A directory that was found in another one. */
struct local_dir *local_child(struct local_dir *parent, const char *name,
    const struct stat *found, enum local_links rule) must_check;
/* Makes one, or takes what is there: then *made is false. EEXIST: that is no
 * directory. */
int local_make(struct local_dir *parent, const char *name, mode_t mode,
    enum local_links rule, struct local_dir **out, bool *made) must_check;

struct local_dir *local_dir_ref(struct local_dir *d);
void local_dir_unref(struct local_dir *d); /* d may be NULL */
int local_dir_stat(struct local_dir *d, struct stat *st) must_check;
int local_dir_set_mode(struct local_dir *d, mode_t mode) must_check;
int local_dir_set_times(struct local_dir *d,
    const struct timespec times[2]) must_check;
struct statvfs;
int local_dir_space(struct local_dir *d, struct statvfs *v) must_check;
/* The directory is opened for reading its names; the caller closes it. */
DIR *local_dir_list(struct local_dir *d) must_check;

/* ---- what is in them ---------------------------------------------------- */

/* What the name is, or what the link leads to if the rule follows it. */
int local_stat(struct local_dir *d, const char *name, enum local_links rule,
    struct stat *st) must_check;
/* A descriptor for reading, and what it is of: anything, so *st is to be
 * looked at before it is read. Nothing is waited for. */
int local_open_source(struct local_dir *d, const char *name,
    enum local_links rule, struct stat *st) must_check;
/* flags: of open(2). */
int local_open_target(struct local_dir *d, const char *name, int flags,
    mode_t mode, enum local_links rule) must_check;
/* Parts are made as by xfer/part-lock.h. */
int local_part_make(struct local_dir *d, const char *name, mode_t mode,
    uint64_t copy);
int local_part_take(struct local_dir *d, const char *name, uint64_t copy);
int local_part_to_target(int fd, struct local_dir *d, const char *part,
    const char *target);
bool local_part_is(int fd, struct local_dir *d, const char *name);
/* Was this user refused to write a file that has that mode? */
bool local_is_read_only(struct local_dir *d, const char *name, mode_t mode);
/* A file is removed, not a directory. */
int local_remove(struct local_dir *d, const char *name);
/* A directory is removed that is empty. */
int local_remove_dir(struct local_dir *d, const char *name);
/* Within a directory. */
int local_rename(struct local_dir *d, const char *from,
    const char *to) must_check;
int local_symlink(const char *text, struct local_dir *d,
    const char *name) must_check;
/* A further name of a file, which is no directory and no link. */
int local_link(struct local_dir *from, const char *first,
    struct local_dir *to, const char *name) must_check;
/* Bytes of the link's text, as readlink(2). */
ssize_t local_read_link(struct local_dir *d, const char *name, char *text,
    size_t size) must_check;
/* The times of the link itself are set. */
int local_set_link_times(struct local_dir *d, const char *name,
    const struct timespec times[2]) must_check;

#endif
