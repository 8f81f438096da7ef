/* SPDX-License-Identifier: ISC */
#include "xfer/local/local-beneath.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "compat/bsd.h"
#include "compat/file.h"
#include "compat/libc.h"
#include "xfer/local/local-internal.h"

enum {
	LINKS_MAX = 40, /* most links in one path, as in Linux */
	STEPS_MAX = 8192, /* most components that are opened for one path */
	RACES_MAX = 8,	/* after so many EAGAIN of the kernel, resolve here */
	DIR_ONLY = FILE_STEP | O_CLOEXEC,
};

struct local_beneath {
	int fd; /* owned */
	bool links;
	bool kernel; /* the kernel has openat2 */
};

/* A path that is being resolved: done is the part that was resolved, rest the
 * part that is still to be. */
struct way {
	const struct local_beneath *b;
	int fd;		     /* of the directory that done names: the root's, or
			      * an owned one */
	char done[PATH_MAX]; /* from the root, without links and dots; "": the
			      * root */
	char rest[PATH_MAX];
	char last[NAME_MAX + 1]; /* "": the path names the directory done */
	unsigned links, steps;
};

/* ---- life --------------------------------------------------------------- */

static struct local_beneath *
make(int fd, unsigned flags)
{
	struct local_beneath *b = fd >= 0 ? malloc(sizeof *b) : NULL;
	int probe;

	if (b == NULL) {
		fd_close(&fd);
		return NULL;
	}
	b->fd = fd;
	b->links = (flags & LOCAL_BENEATH_LINKS) != 0;
	probe = (flags & LOCAL_BENEATH_WALK) != 0 ? -1 :
	    libc_open_beneath(fd, ".", DIR_ONLY, 0, false);
	b->kernel = probe >= 0;
	fd_close(&probe);
	return b;
}

static int
open_own_way(const char *path)
{
	int fd = open_named_dir(path);

	if (fd < 0 && errno == ELOOP)
		errno = ENOLINK;
	return fd;
}

struct local_beneath *
local_beneath_new(const char *path, unsigned flags)
{
	return make((flags & LOCAL_BENEATH_OWN_WAY) != 0 ?
		open_own_way(path) :
		local_open_root(path, LOCAL_LINKS_OWN), flags);
}

struct local_beneath *
local_beneath_narrow(const struct local_beneath *b, const char *path,
    unsigned flags)
{
	if (!b->links)
		flags &= ~(unsigned)LOCAL_BENEATH_LINKS;
	if (!b->kernel)
		flags |= LOCAL_BENEATH_WALK;
	return make(local_beneath_open(b, path, DIR_ONLY, 0), flags);
}

void
local_beneath_free(struct local_beneath *b)
{
	if (b == NULL)
		return;
	fd_close(&b->fd);
	free(b);
}

/* ---- step by step ------------------------------------------------------- */

static void
leave(struct way *w)
{
	if (w->fd != w->b->fd)
		fd_close(&w->fd);
	w->fd = w->b->fd;
}

/* Opens a directory in the one that was reached, and goes there. */
static int
enter(struct way *w, const char *name)
{
	int fd;

	if (++w->steps > STEPS_MAX) {
		errno = ELOOP;
		return -1;
	}
	fd = openat(w->fd, name, DIR_ONLY | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	leave(w);
	w->fd = fd;
	return 0;
}

static int
append(struct way *w, const char *name)
{
	size_t len = strlen(w->done);

	if (len + 1 + strlen(name) >= sizeof w->done) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (len > 0)
		w->done[len++] = '/';
	strcpy(w->done + len, name);
	return 0;
}

/* Goes to the directory above. It does not open "..", since somebody may have
 * moved the directory: it opens the path from the root again. */
static int
go_up(struct way *w)
{
	char path[PATH_MAX], *rest = path, *name;
	char *slash = strrchr(w->done, '/');

	if (w->done[0] == '\0') {
		errno = EACCES;
		return -1;
	}
	*(slash != NULL ? slash : w->done) = '\0';
	leave(w);
	strcpy(path, w->done);
	while (*rest != '\0' && (name = strsep(&rest, "/")) != NULL) {
		if (enter(w, name) != 0)
			return -1;
		if (rest == NULL)
			break;
	}
	return 0;
}

/* Puts the target of a link before the rest of the path, which is empty or
 * begins with a slash. ENOTDIR: name is no link. */
static int
take_link(struct way *w, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(w->fd, name, text, sizeof text);
	size_t rest = strlen(w->rest);

	if (n <= 0) {
		errno = n == 0 ? ENOENT : errno == EINVAL ? ENOTDIR : errno;
		return -1;
	}
	errno = ELOOP;
	if (!w->b->links || ++w->links > LINKS_MAX)
		return -1;
	errno = EACCES;
	if (text[0] == '/')
		return -1;
	errno = ENAMETOOLONG;
	if ((size_t)n + rest >= sizeof w->rest)
		return -1;
	memmove(w->rest + n, w->rest, rest + 1);
	memcpy(w->rest, text, (size_t)n);
	return 0;
}

/* Moves the next component of the rest to name; "": there is none. */
static int
next_name(struct way *w, char name[NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, w->rest + skip, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + skip + len,
	    strlen(w->rest + skip + len) + 1);
	return 0;
}

/* Goes to the directory in which the last part lies. w->last gets that part. */
static int
go(struct way *w)
{
	char name[NAME_MAX + 1];

	for (;;) {
		if (next_name(w, name) != 0)
			return -1;
		w->last[0] = '\0';
		if (name[0] == '\0')
			return 0;
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			if (go_up(w) != 0)
				return -1;
			continue;
		}
		strcpy(w->last, name);
		if (w->rest[strspn(w->rest, "/")] == '\0')
			return 0;
		if (enter(w, name) == 0) {
			if (append(w, name) != 0)
				return -1;
		} else if (errno != ENOTDIR || take_link(w, name) != 0) {
			return -1;
		}
	}
}

static int
begin(struct way *w, const struct local_beneath *b, const char *path)
{
	*w = (struct way){ .b = b, .fd = b->fd };
	if (strlcpy(w->rest, path, sizeof w->rest) < sizeof w->rest)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

static bool
is_link(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode);
}

/* Opens the last part. With FILE_HANDLE a system may open a link itself: that
 * fails with ELOOP here, unless flags has O_NOFOLLOW. */
static int
open_last(struct way *w, int flags, mode_t mode)
{
	const char *name = w->last[0] != '\0' ? w->last : ".";
	struct stat st;
	int fd;

	if (w->rest[0] == '/') { /* a slash behind the last part: it must be a
				  * directory */
		errno = EISDIR;
		if ((flags & O_CREAT) != 0)
			return -1;
		flags |= O_DIRECTORY;
	}
	fd = openat(w->fd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || (flags & FILE_HANDLE) != FILE_HANDLE ||
	    (flags & O_NOFOLLOW) != 0 ||
	    fstat(fd, &st) != 0 || !S_ISLNK(st.st_mode))
		return fd;
	fd_close(&fd);
	errno = ELOOP;
	return -1;
}

static int
open_walking(const struct local_beneath *b, const char *path, int flags,
    mode_t mode)
{
	struct way w;
	int fd = -1;

	if (begin(&w, b, path) != 0)
		return -1;
	while (go(&w) == 0) {
		fd = open_last(&w, flags, mode);
		if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR) ||
		    (flags & O_NOFOLLOW) != 0 || !is_link(w.fd, w.last))
			break;
		if (take_link(&w, w.last) != 0)
			break;
	}
	leave(&w);
	return fd;
}

/* ---- what is asked for -------------------------------------------------- */

/* The path from the root, without leading slashes. "/" and "" are the root. */
static const char *
from_root(const char *path)
{
	path += strspn(path, "/");
	return *path != '\0' ? path : ".";
}

int
local_beneath_open(const struct local_beneath *b, const char *path, int flags,
    mode_t mode)
{
	int fd = -1;

	path = from_root(path);
	for (int i = 0; b->kernel && i < RACES_MAX; i++) {
		fd = libc_open_beneath(b->fd, path, flags | O_CLOEXEC, mode,
		    b->links);
		if (fd >= 0 || errno != EAGAIN || (flags & O_NONBLOCK) != 0)
			break;
	}
	if (fd < 0 && (!b->kernel || errno == EAGAIN))
		fd = open_walking(b, path, flags, mode);
	if (fd < 0 && errno == EXDEV)
		errno = EACCES;
	return fd;
}

/* Length of the path without slashes at its end. */
static size_t
bare_len(const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	return len;
}

int
local_beneath_parent(const struct local_beneath *b, const char *path,
    char name[NAME_MAX + 1], int *own)
{
	char above[PATH_MAX];
	size_t len, from;

	path = from_root(path);
	*own = -1;
	errno = ENAMETOOLONG;
	len = from = bare_len(path);
	while (from > 0 && path[from - 1] != '/')
		from--;
	if (len - from > NAME_MAX || len >= sizeof above)
		return -1;
	memcpy(name, path + from, len - from);
	name[len - from] = '\0';
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		strcpy(name, ".");
		from = len;
	}
	memcpy(above, path, from);
	above[from] = '\0';
	if (from == 0 || strcmp(above, ".") == 0)
		return b->fd;
	*own = local_beneath_open(b, above, DIR_ONLY, 0);
	return *own;
}

char *
local_beneath_resolve(const struct local_beneath *b, const char *path)
{
	struct way w;
	char *full = NULL;

	if (begin(&w, b, from_root(path)) != 0)
		return NULL;
	while (go(&w) == 0) {
		if (w.last[0] != '\0' && b->links && is_link(w.fd, w.last)) {
			if (take_link(&w, w.last) != 0)
				break;
			continue;
		}
		if ((w.last[0] == '\0' || append(&w, w.last) == 0) &&
		    (full = malloc(strlen(w.done) + 2)) != NULL) {
			full[0] = '/';
			strcpy(full + 1, w.done);
		}
		break;
	}
	leave(&w);
	return full;
}
