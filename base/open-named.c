/* SPDX-License-Identifier: ISC */
/*
 * The path is walked here, one component after the other, from a directory that
 * is held open. The text of a symbolic link is put in front of the rest of the
 * path.
 */
#include "base/open-named.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "compat/bsd.h"
#include "compat/file.h"

enum {
	LINKS_MAX = 40, /* symbolic links in a path; the number is Linux's */
	TRIES_MAX = 8,  /* while another process makes and removes the file */
};

struct walk {
	int dir;	/* owned: the directory that has been reached */
	char rest[PATH_MAX]; /* the path from dir on */
	unsigned links;
};

static bool
is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Who can put files into a directory, apart from root and this user. */
enum writers {
	WRITERS_NONE,
	WRITERS_SOME, /* its owner, a group: whom somebody has chosen */
	WRITERS_ALL,
};

static enum writers
writers_of(int dir)
{
	struct stat st;

	if (fstat(dir, &st) == -1 || (st.st_mode & S_IWOTH) != 0)
		return WRITERS_ALL;
	return !is_ours(&st) ||
		((st.st_mode & S_IWGRP) != 0 && st.st_gid != getegid()) ?
	    WRITERS_SOME : WRITERS_NONE;
}

static int
step_to(struct walk *w, int dir)
{
	if (dir == -1)
		return -1;
	fd_close(&w->dir);
	w->dir = dir;
	return 0;
}

static int
enter(struct walk *w, const char *name)
{
	return step_to(w, openat(w->dir, name,
	    FILE_STEP | O_CLOEXEC | O_NOFOLLOW));
}

static int
begin(struct walk *w, const char *path)
{
	size_t len = strlen(path);

	w->dir = -1;
	w->links = 0;
	if (len == 0 || len >= sizeof w->rest) {
		errno = len == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(w->rest, path, len + 1);
	w->dir = open(*path == '/' ? "/" : ".", FILE_STEP | O_CLOEXEC);
	return w->dir == -1 ? -1 : 0;
}

/* Follows a link: puts its text in front of the rest. 1, or -1. */
static int
follow(struct walk *w, const char *name, const struct stat *link,
    const char *behind)
{
	char text[PATH_MAX], joined[PATH_MAX];
	ssize_t n;

	if (!is_ours(link) || ++w->links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	n = readlinkat(w->dir, name, text, sizeof text - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	if ((size_t)snprintf(joined, sizeof joined, "%s%s%s", text,
		*behind != '\0' ? "/" : "", behind) >= sizeof joined) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w->rest, joined, strlen(joined) + 1);
	if (text[0] == '/')
		return step_to(w, open("/", FILE_STEP | O_CLOEXEC)) == 0 ?
		    1 :
		    -1;
	return 1;
}

/* Cuts the first component off the rest. False: it is the last one. */
static bool
next_component(struct walk *w, char name[PATH_MAX], const char **behind)
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(p, "/");

	memcpy(name, p, len);
	name[len] = '\0';
	*behind = p + len + strspn(p + len, "/");
	return **behind != '\0';
}

/* Walks to the directory of the last component, and copies that component to
 * name. follows: if the last component is a link, it is followed. */
static int
walk(struct walk *w, char name[PATH_MAX], bool follows)
{
	const char *behind;
	struct stat st;
	bool more;

	for (;;) {
		more = next_component(w, name, &behind);
		if (name[0] == '\0')
			strlcpy(name, ".", PATH_MAX);
		if (!more && (!follows || file_is_of_kernel(w->dir)))
			return 0;
		if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
			return more ? -1 : 0;
		if (S_ISLNK(st.st_mode)) {
			if (follow(w, name, &st, behind) < 0)
				return -1;
			continue;
		}
		if (!more)
			return 0;
		if (enter(w, name) == -1)
			return -1;
		memmove(w->rest, behind, strlen(behind) + 1);
	}
}

/* ---- the last component -------------------------------------------------- */

/* For a file found in a directory that others can write: its only name is
 * `name` in dir, at this moment. dir has to be looked at too: if that name was
 * removed meanwhile, the only name of the file may be one in another directory.
 * *st: the file's attributes. */
static bool
is_only_name(int fd, int dir, const char *name, struct stat *st)
{
	struct stat at;

	return fstat(fd, st) == 0 &&
	    fstatat(dir, name, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
	    at.st_dev == st->st_dev && at.st_ino == st->st_ino &&
	    at.st_nlink == 1;
}

static bool
is_good(int fd, int dir, const char *name, int flags, enum writers writers)
{
	struct stat st;
	bool appends = (flags & O_APPEND) != 0 && (flags & O_TRUNC) == 0;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return false;
	return (flags & O_ACCMODE) == O_RDONLY ||
	    (is_only_name(fd, dir, name, &st) &&
		(is_ours(&st) || (writers == WRITERS_SOME && appends)));
}

/* Opens a file in a directory that others can write. The open never waits: a
 * pipe that somebody has put there instead is only an error. */
static int
open_among_others(int dir, const char *name, int flags, mode_t mode,
    enum writers writers)
{
	int fd = -1;

	if ((flags & O_EXCL) != 0)
		return openat(dir, name, flags | O_NOFOLLOW, mode);
	for (int i = 0; i < TRIES_MAX && fd == -1; i++) {
		fd = openat(dir, name, (flags & ~(O_CREAT | O_TRUNC)) |
		    O_NOFOLLOW | O_NONBLOCK);
		if (fd != -1 || errno != ENOENT || (flags & O_CREAT) == 0)
			break;
		fd = openat(dir, name, flags | O_EXCL | O_NOFOLLOW, mode);
		if (fd != -1)
			return fd;
		if (errno != EEXIST)
			break;
	}
	if (fd == -1)
		return -1;
	if (!is_good(fd, dir, name, flags, writers)) {
		fd_close(&fd);
		errno = EACCES;
		return -1;
	}
	if (fd_set_nonblock(fd, (flags & O_NONBLOCK) != 0) != 0 ||
	    ((flags & O_TRUNC) != 0 && ftruncate(fd, 0) == -1))
		fd_close(&fd);
	return fd;
}

int
open_named(const char *path, int flags, mode_t mode)
{
	char name[PATH_MAX];
	enum writers writers;
	struct walk w;
	int fd = -1;

	flags |= O_CLOEXEC | O_NOCTTY;
	if (begin(&w, path) == 0 && walk(&w, name, true) == 0) {
		if (file_is_of_kernel(w.dir))
			fd = openat(w.dir, name, flags, mode);
		else if ((writers = writers_of(w.dir)) != WRITERS_NONE)
			fd = open_among_others(w.dir, name, flags, mode,
			    writers);
		else
			fd = openat(w.dir, name, flags | O_NOFOLLOW, mode);
	}
	fd_close(&w.dir);
	return fd;
}

int
open_named_dir(const char *path)
{
	char name[PATH_MAX];
	struct walk w;
	int fd = -1, flags;

	if (begin(&w, path) == 0 && walk(&w, name, true) == 0) {
		flags = O_CLOEXEC |
		    (file_is_of_kernel(w.dir) ? 0 : O_NOFOLLOW);
		fd = openat(w.dir, name, O_RDONLY | O_DIRECTORY | O_NOCTTY |
			O_NONBLOCK | flags);
		if (fd == -1 && errno == EACCES)
			fd = openat(w.dir, name, FILE_STEP | flags);
	}
	fd_close(&w.dir);
	return fd;
}

int
open_named_socket(const char *path)
{
	char name[PATH_MAX];
	struct walk w;
	struct stat st;
	int fd = -1;

	if (begin(&w, path) == 0 && walk(&w, name, true) == 0)
		fd = openat(w.dir, name, FILE_ITSELF | O_CLOEXEC);
	if (fd != -1 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		fd_close(&fd);
		errno = ELOOP;
	} else if (fd != -1 && writers_of(w.dir) != WRITERS_NONE &&
	    (!is_only_name(fd, w.dir, name, &st) || !is_ours(&st))) {
		fd_close(&fd);
		errno = EACCES;
	}
	fd_close(&w.dir);
	return fd;
}

int
open_named_parent(const char *path, const char **last)
{
	const char *slash = strrchr(path, '/');
	char name[PATH_MAX];
	struct walk w;

	*last = slash != NULL ? slash + 1 : path;
	if (**last == '\0') {
		errno = *path != '\0' ? EISDIR : ENOENT;
		return -1;
	}
	if (begin(&w, path) == 0 && walk(&w, name, false) == 0)
		return w.dir;
	fd_close(&w.dir);
	return -1;
}
