/* SPDX-License-Identifier: ISC */
#include "xfer/local/local-tree.h"

#include <sys/resource.h>

#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "compat/queue.h"
#include "xfer/local/local-internal.h"
#include "xfer/part-lock.h"
#include "xfer/target-plan.h"
#include "xfer/xattrs.h"

enum {
	FDS_MAX = 128,
	FDS_LEAST = 4, /* for two directories of a link(2), and their parents */
	FDS_SHARE = 8, /* this fraction of all descriptors that the process may
			* have */
};

struct local_dir {
	struct local_tree *tree;
	struct local_dir *parent; /* holds a reference; NULL: a root */
	struct local_dir *below;  /* while d is opened again: the next directory
				   * on the way down */
	enum local_links rule;
	bool known; /* dev and ino are set, since it was opened or found */
	dev_t dev;
	ino_t ino;
	int fd; /* owned; -1: none now */
	unsigned refs;
	bool pinned; /* its descriptor stays */
	TAILQ_ENTRY(local_dir) entry; /* in tree->open while it has a
				       * descriptor */
	char name[]; /* name in the parent; of a root: its path */
};
TAILQ_HEAD(local_dirs, local_dir);

struct local_tree {
	struct local_dirs open; /* the directory that was used last is first */
	unsigned count, max;
	struct local_dir *last; /* the last root that was asked for; holds a
				 * reference */
};

/* ---- life --------------------------------------------------------------- */

static unsigned
usual_max(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0 ||
	    rl.rlim_cur >= (rlim_t)FDS_MAX * FDS_SHARE)
		return FDS_MAX;
	return MAX((unsigned)rl.rlim_cur / FDS_SHARE, (unsigned)FDS_LEAST);
}

struct local_tree *
local_tree_new(unsigned fds_max)
{
	struct local_tree *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->max = fds_max != 0 ? MAX(fds_max, (unsigned)FDS_LEAST) :
				usual_max();
	TAILQ_INIT(&t->open);
	return t;
}

void
local_tree_free(struct local_tree *t)
{
	if (t == NULL)
		return;
	local_dir_unref(t->last);
	ENSURE(TAILQ_EMPTY(&t->open));
	free(t);
}

unsigned
local_tree_fds(const struct local_tree *t)
{
	return t->count;
}

static struct local_dir *
dir_new(struct local_tree *t, struct local_dir *parent, const char *name,
    size_t len, enum local_links rule)
{
	struct local_dir *d = malloc(sizeof *d + len + 1);

	if (d == NULL)
		return NULL;
	*d = (struct local_dir){ .tree = t, .rule = rule, .fd = -1, .refs = 1 };
	d->parent = parent != NULL ? local_dir_ref(parent) : NULL;
	memcpy(d->name, name, len);
	d->name[len] = '\0';
	return d;
}

struct local_dir *
local_dir_ref(struct local_dir *d)
{
	d->refs++;
	return d;
}

static void
dir_close(struct local_dir *d)
{
	if (d->fd < 0)
		return;
	fd_close(&d->fd);
	TAILQ_REMOVE(&d->tree->open, d, entry);
	d->tree->count--;
}

void
local_dir_unref(struct local_dir *d)
{
	struct local_dir *parent;

	for (; d != NULL && --d->refs == 0; d = parent) {
		parent = d->parent;
		dir_close(d);
		free(d);
	}
}

/* ---- names -------------------------------------------------------------- */

const char *
local_last_name(const char *path)
{
	size_t end = strlen(path);

	while (end > 0 && path[end - 1] == '/')
		end--;
	while (end > 0 && path[end - 1] != '/')
		end--;
	return path + end;
}

static bool
is_dots(const char *name)
{
	size_t len = strcspn(name, "/");

	return len == 0 || (len == 1 && name[0] == '.') ||
	    (len == 2 && name[0] == '.' && name[1] == '.');
}

/* Length of path without slashes, and parts ".", at its end. */
static size_t
bare_len(const char *path)
{
	size_t len = strlen(path);

	for (;;) {
		if (len > 1 && path[len - 1] == '/')
			len--;
		else if (len > 2 && path[len - 1] == '.' &&
		    path[len - 2] == '/')
			len--;
		else
			return len;
	}
}

struct local_dir *
local_root(struct local_tree *t, const char *path, enum local_links rule)
{
	struct local_dir *d = t->last;
	size_t len;

	if (*path == '\0')
		path = ".";
	len = bare_len(path);
	/* Files of a list often lie in the same directory, one after the
	 * other. */
	if (d != NULL && d->rule == rule && strlen(d->name) == len &&
	    memcmp(d->name, path, len) == 0)
		return local_dir_ref(d);
	d = dir_new(t, NULL, path, len, rule);
	if (d == NULL)
		return NULL;
	local_dir_unref(t->last);
	t->last = local_dir_ref(d);
	return d;
}

struct local_dir *
local_root_held(struct local_tree *t, int fd)
{
	struct local_dir *d = dir_new(t, NULL, ".", 1, LOCAL_LINKS_NONE);
	struct stat st;

	if (d == NULL || fstat(fd, &st) != 0) {
		fd_close(&fd);
		free(d);
		return NULL;
	}
	d->known = d->pinned = true;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->fd = fd;
	TAILQ_INSERT_HEAD(&t->open, d, entry);
	t->count++;
	return d;
}

struct local_dir *
local_place(struct local_tree *t, const char *path, enum local_links rule,
    const char **name)
{
	const char *last = local_last_name(path);
	struct local_dir *d;
	char *above;

	if (is_dots(last)) {
		*name = ".";
		return local_root(t, path, rule);
	}
	*name = last;
	above = strndup(path, (size_t)(last - path));
	d = above != NULL ? local_root(t, above, rule) : NULL;
	free(above);
	return d;
}

/* ---- descriptors -------------------------------------------------------- */

/* Closes descriptors of directories, least recently used first, until at most
 * `most` are open, or only pinned ones are left. */
static void
give_back(struct local_tree *t, unsigned most)
{
	struct local_dir *d, *before;

	for (d = TAILQ_LAST(&t->open, local_dirs); d != NULL && t->count > most;
	    d = before) {
		before = TAILQ_PREV(d, local_dirs, entry);
		if (!d->pinned)
			dir_close(d);
	}
}

static void
used(struct local_dir *d)
{
	TAILQ_REMOVE(&d->tree->open, d, entry);
	TAILQ_INSERT_HEAD(&d->tree->open, d, entry);
}

/* Opens a directory. One that may be searched but not read is opened as a step
 * on the way to others. */
static int
open_dir(int at, const char *name, enum local_links rule)
{
	int fd = local_open_at(at, name,
	    O_RDONLY | O_DIRECTORY | O_NOCTTY | O_NONBLOCK, 0, rule);

	if (fd < 0 && errno == EACCES)
		fd = local_open_at(at, name, FILE_STEP, 0, rule);
	return fd;
}

/* Opens the path without the slash at its end, because with it any link would
 * be followed there. */
static int
open_without_slash(const char *path, const char *last)
{
	char *plain = strndup(path, (size_t)(last - path) +
		strcspn(last, "/"));
	int fd, saved;

	if (plain == NULL)
		return -1;
	fd = local_open_root(plain, LOCAL_LINKS_OWN);
	saved = errno;
	free(plain);
	errno = saved;
	return fd;
}

int
local_open_root(const char *path, enum local_links rule)
{
	const char *last = local_last_name(path);
	char *above;
	int fd, at;

	if (is_dots(last) || rule == LOCAL_LINKS_ALL)
		return open_dir(AT_FDCWD, path, LOCAL_LINKS_ALL);
	if (rule == LOCAL_LINKS_OWN && last[strcspn(last, "/")] == '/')
		return open_without_slash(path, last);
	fd = open_dir(AT_FDCWD, path, LOCAL_LINKS_NONE);
	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd;
	above = strndup(path, (size_t)(last - path));
	if (above == NULL)
		return -1;
	at = openat(AT_FDCWD, *above != '\0' ? above : ".",
	    FILE_STEP | O_CLOEXEC);
	free(above);
	if (at < 0)
		return -1;
	fd = open_dir(at, last, rule);
	fd_close(&at);
	return fd;
}

static int
open_in(const struct local_dir *d)
{
	return d->parent == NULL ? local_open_root(d->name, d->rule) :
	    open_dir(d->parent->fd, d->name, d->rule);
}

/* Opens a directory whose parent is open. */
static int
open_one(struct local_dir *d)
{
	struct local_tree *t = d->tree;
	struct stat st;
	int fd;

	give_back(t, t->max - 1);
	fd = open_in(d);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* Other parts of the program use up the descriptors: the tree
		 * closes all but the last used directory. */
		give_back(t, 1);
		fd = open_in(d);
	}
	if (fd < 0 && d->known &&
	    (errno == ENOTDIR || errno == ELOOP || errno == ENOLINK))
		errno = ESTALE;
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || (d->known &&
	    (st.st_dev != d->dev || st.st_ino != d->ino))) {
		fd_close(&fd);
		errno = ESTALE;
		return -1;
	}
	d->known = true;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->fd = fd;
	TAILQ_INSERT_HEAD(&t->open, d, entry);
	t->count++;
	return 0;
}

/* A descriptor of d that is valid until the next call, or -1. If d is not open,
 * it is opened from the nearest open directory above it; `below` remembers the
 * way down. */
static int
fd_of(struct local_dir *d)
{
	struct local_dir *from = d, *next;

	if (d->fd >= 0) {
		used(d);
		return d->fd;
	}
	d->below = NULL;
	while (from->parent != NULL && from->parent->fd < 0) {
		from->parent->below = from;
		from = from->parent;
	}
	if (from->parent != NULL)
		used(from->parent);
	for (; from != NULL; from = next) {
		next = from->below;
		if (open_one(from) != 0)
			return -1;
	}
	return d->fd;
}

/* ---- directories -------------------------------------------------------- */

struct local_dir *
local_child(struct local_dir *parent, const char *name,
    const struct stat *found, enum local_links rule)
{
	struct local_dir *d = dir_new(parent->tree, parent, name, strlen(name),
	    rule);

	if (d == NULL)
		return NULL;
	d->known = true;
	d->dev = found->st_dev;
	d->ino = found->st_ino;
	return d;
}

int
local_make(struct local_dir *parent, const char *name, mode_t mode,
    enum local_links rule, struct local_dir **out, bool *made)
{
	int at = fd_of(parent);
	struct local_dir *d;

	*out = NULL;
	if (at < 0)
		return -1;
	*made = mkdirat(at, name, mode) == 0;
	if (!*made && errno != EEXIST)
		return -1;
	d = dir_new(parent->tree, parent, name, strlen(name), rule);
	if (d == NULL)
		return -1;
	if (fd_of(d) < 0) {
		local_dir_unref(d);
		errno = errno == ENOTDIR ? EEXIST : errno;
		return -1;
	}
	*out = d;
	return 0;
}

int
local_dir_stat(struct local_dir *d, struct stat *st)
{
	int fd = fd_of(d);

	return fd < 0 ? -1 : fstat(fd, st);
}

int
local_dir_space(struct local_dir *d, struct statvfs *v)
{
	int fd = fd_of(d);

	return fd < 0 ? -1 : fstatvfs(fd, v);
}

int
local_dir_set_mode(struct local_dir *d, mode_t mode)
{
	int fd = fd_of(d);
	char name[32];

	if (fd < 0)
		return -1;
	if (fchmod(fd, mode) == 0)
		return 0;
	/* EBADF: d was opened as a step only (FILE_STEP). The name that
	 * file_name_of() gives still allows the change. */
	if (errno != EBADF || !file_name_of(fd, name))
		return -1;
	return chmod(name, mode);
}

int
local_dir_set_owner(struct local_dir *d, uid_t uid, gid_t gid)
{
	int fd = fd_of(d);
	char name[32];

	if (fd < 0)
		return -1;
	if (fchown(fd, uid, gid) == 0)
		return 0;
	if (errno != EBADF || !file_name_of(fd, name))
		return -1;
	return chown(name, uid, gid);
}

int
local_dir_set_times(struct local_dir *d, const struct timespec times[2])
{
	int fd = fd_of(d);
	char name[32];

	if (fd < 0)
		return -1;
	if (futimens(fd, times) == 0)
		return 0;
	if (errno != EBADF || !file_name_of(fd, name))
		return -1;
	return utimensat(AT_FDCWD, name, times, 0);
}

int
local_dir_sync(struct local_dir *d)
{
	int fd = fd_of(d);

	if (fd < 0)
		return -1;
	if (file_sync(fd) == 0)
		return 0;
	errno = errno == EBADF ? EACCES : errno; /* EBADF: a step */
	return -1;
}

/* Lists the directory through a duplicate of its descriptor. To open it again
 * would need the right to search it. */
DIR *
local_dir_list(struct local_dir *d)
{
	int fd = fd_of(d), own;
	DIR *dir;

	if (fd < 0)
		return NULL;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0 && errno == EMFILE) {
		give_back(d->tree, 1);
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	if (own < 0)
		return NULL;
	if (lseek(own, 0, SEEK_SET) != 0 || (dir = fdopendir(own)) == NULL) {
		errno = errno == EBADF ? EACCES : errno; /* EBADF: a step */
		fd_close(&own);
		return NULL;
	}
	return dir;
}

/* ---- what is in them ---------------------------------------------------- */

int
local_stat(struct local_dir *d, const char *name, enum local_links rule,
    struct stat *st)
{
	int at = fd_of(d);

	if (at < 0)
		return -1;
	if (rule == LOCAL_LINKS_ALL)
		return fstatat(at, name, st, 0);
	if (fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (!S_ISLNK(st->st_mode) || !local_links_follow(st, rule))
		return 0;
	return fstatat(at, name, st, 0);
}

int
local_xattrs(struct local_dir *d, const char *name, uint32_t kinds,
    struct buf *out)
{
	int at = fd_of(d);

	return at < 0 ? -1 : xattrs_read_beside(at, name, kinds, out);
}

int
local_set_xattrs(struct local_dir *d, const char *name,
    const struct xattrs *x)
{
	int at = fd_of(d);

	return at < 0 ? -1 : xattrs_write_at(at, name, false, x);
}

int
local_dir_set_xattrs(struct local_dir *d, const struct xattrs *x)
{
	return local_set_xattrs(d, ".", x);
}

/* Opens a file. If no descriptor is left, those of other directories are
 * closed. d was used last, so its own stays open. */
static int
open_file(struct local_dir *d, int at, const char *name, int flags,
    mode_t mode, enum local_links rule)
{
	int fd = local_open_at(at, name, flags, mode, rule);

	if (fd < 0 && errno == EMFILE && d->tree->count > 1) {
		give_back(d->tree, 1);
		fd = local_open_at(at, name, flags, mode, rule);
	}
	return fd;
}

int
local_open_source(struct local_dir *d, const char *name, enum local_links rule,
    struct stat *st)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int at = fd_of(d), fd;

	if (at < 0)
		return -1;
	fd = open_file(d, at, name, flags | FILE_NO_ATIME, 0, rule);
	if (fd < 0 && errno == EPERM)
		fd = open_file(d, at, name, flags, 0, rule);
	if (fd >= 0 && fstat(fd, st) != 0)
		fd_close(&fd);
	return fd;
}

bool
local_is_away(struct local_dir *d, const struct stat *st)
{
	int at = st->st_blocks == 0 ? fd_of(d) : -1;

	return at >= 0 && file_is_away(at, st);
}

int
local_open_target(struct local_dir *d, const char *name, int flags,
    mode_t mode, enum local_links rule)
{
	int at = fd_of(d);

	return at < 0 ? -1 : open_file(d, at, name, flags, mode, rule);
}

int
local_part_make(struct local_dir *d, const char *name, mode_t mode,
    uint64_t copy)
{
	int at = fd_of(d), fd;

	if (at < 0)
		return -1;
	fd = xfer_part_make(at, name, mode, copy);
	if (fd < 0 && errno == EMFILE && d->tree->count > 1) {
		give_back(d->tree, 1);
		fd = xfer_part_make(at, name, mode, copy);
	}
	return fd;
}

int
local_part_take(struct local_dir *d, const char *name, uint64_t copy)
{
	int at = fd_of(d);

	return at < 0 ? -1 : xfer_part_take(at, name, copy);
}

int
local_part_to_target(int fd, struct local_dir *d, const char *part,
    struct local_dir *to, const char *target)
{
	int at = fd_of(d), other, r = -1;
	bool pinned = d->pinned;

	if (at < 0)
		return -1;
	d->pinned = true;
	if ((other = fd_of(to)) >= 0)
		r = xfer_part_to_target(fd, at, part, other, target);
	d->pinned = pinned;
	return r;
}

bool
local_part_is(int fd, struct local_dir *d, const char *name)
{
	int at = fd_of(d);

	return at >= 0 && xfer_part_is(fd, at, name);
}

bool
local_is_read_only(struct local_dir *d, const char *name, mode_t mode)
{
	int at = target_asks_writable(mode) ? fd_of(d) : -1;

	return at >= 0 && target_is_read_only(at, name, mode);
}

int
local_remove(struct local_dir *d, const char *name)
{
	int at = fd_of(d);

	return at < 0 ? -1 : unlinkat(at, name, 0);
}

int
local_remove_dir(struct local_dir *d, const char *name)
{
	int at = fd_of(d);

	return at < 0 ? -1 : unlinkat(at, name, AT_REMOVEDIR);
}

int
local_rename(struct local_dir *d, const char *from, const char *to)
{
	int at = fd_of(d);

	return at < 0 ? -1 : renameat(at, from, at, to);
}

int
local_rename_to(struct local_dir *from, const char *name,
    struct local_dir *to, const char *second)
{
	int at = fd_of(from), other, r = -1;
	bool pinned = from->pinned;

	if (at < 0)
		return -1;
	from->pinned = true;
	if ((other = fd_of(to)) >= 0)
		r = renameat(at, name, other, second);
	from->pinned = pinned;
	return r;
}

int
local_symlink(const char *text, struct local_dir *d, const char *name)
{
	int at = fd_of(d);

	return at < 0 ? -1 : symlinkat(text, at, name);
}

int
local_link(struct local_dir *from, const char *first, struct local_dir *to,
    const char *name)
{
	int at = fd_of(from), other, r = -1;

	if (at < 0)
		return -1;
	from->pinned = true;
	if ((other = fd_of(to)) >= 0)
		r = linkat(at, first, other, name, 0);
	from->pinned = false;
	return r;
}

ssize_t
local_read_link(struct local_dir *d, const char *name, char *text, size_t size)
{
	int at = fd_of(d);

	return at < 0 ? -1 : readlinkat(at, name, text, size);
}

int
local_set_link_owner(struct local_dir *d, const char *name, uid_t uid,
    gid_t gid)
{
	int at = fd_of(d);

	return at < 0 ? -1 :
	    fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

int
local_set_link_times(struct local_dir *d, const char *name,
    const struct timespec times[2])
{
	int at = fd_of(d);

	return at < 0 ? -1 :
	    utimensat(at, name, times, AT_SYMLINK_NOFOLLOW);
}
