/* SPDX-License-Identifier: ISC */
/*
 * Opening one name in a directory, and following links.
 *
 * With LOCAL_LINKS_OWN a link itself is opened (FILE_ITSELF), so that the link
 * whose owner is checked is the same whose target is read. Then the target is
 * followed from the directory in which the link lies. It may end in a link
 * again, which is checked in the same way. The directories on the way to a
 * target are not checked: the owner of the link has chosen them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "compat/file.h"
#include "xfer/local/local-internal.h"

enum {
	LINKS_MAX = 40, /* most links that lead to links, as in Linux */
};

bool
local_links_follow(const struct stat *link, enum local_links rule)
{
	return rule == LOCAL_LINKS_ALL || (rule == LOCAL_LINKS_OWN &&
	    (link->st_uid == 0 || link->st_uid == geteuid()));
}

const char *
local_error_text(int error)
{
	switch (error) {
	case ESTALE:
		return "changed while it was being copied";
	case ELOOP:
		return "is a symbolic link that is not followed";
	case ENOLINK:
		return "is reached by another user's symbolic link, which is "
		       "not followed";
	default:
		return strerror(error);
	}
}

/* Reads the target of a link that may be followed. Returns its length, or -1.
 * *magic: it is a link of /proc, which must be followed by its own name
 * instead. */
static ssize_t
text_of(int at, const char *name, enum local_links rule, char *text,
    size_t size, bool *magic)
{
	int fd = openat(at, name, FILE_ITSELF | O_CLOEXEC);
	ssize_t n = -1;
	struct stat st;

	if (fd < 0)
		return -1;
	/* Links of the kernel, to which /dev/stdout leads; no user can make
	 * one. */
	*magic = file_is_of_kernel(fd);
	if (fstat(fd, &st) == 0) {
		if (!S_ISLNK(st.st_mode))
			errno = ENOTDIR;
		else if (!local_links_follow(&st, rule))
			errno = ENOLINK;
		else if ((n = file_read_link(fd, text, size - 1)) >= 0)
			text[n] = '\0';
	}
	fd_close(&fd);
	if (n == (ssize_t)size - 1) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return n;
}

static bool
is_dots(const char *name)
{
	return *name == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0;
}

/* Opens the directory in which a link's target lies. name gets the last part of
 * the target; it is empty if that is no name, but a dot or nothing. */
static int
step(int at, char *text, char name[NAME_MAX + 1])
{
	char *slash = strrchr(text, '/'), *last = slash ? slash + 1 : text;

	if (strlen(last) > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(name, is_dots(last) ? "" : last);
	if (*name != '\0')
		*last = '\0';
	return openat(at, *text != '\0' ? text : ".",
	    FILE_STEP | O_CLOEXEC);
}

/* Opens a name that may be a link, by following it as the rule allows. */
static int
open_through(int at, const char *link, int flags, mode_t mode,
    enum local_links rule)
{
	char text[PATH_MAX + 1], name[NAME_MAX + 1];
	int fd = -1, dir = -1, next;
	bool magic;

	if (strlen(link) > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(name, link);
	for (int i = 0; i < LINKS_MAX; i++) {
		if (text_of(at, name, rule, text, sizeof text, &magic) < 0)
			break;
		if (magic) {
			fd = openat(at, name, flags, mode);
			break;
		}
		next = step(at, text, name);
		fd_close(&dir);
		at = dir = next;
		if (dir < 0)
			break;
		fd = openat(dir, *name != '\0' ? name : ".",
		    flags | O_NOFOLLOW, mode);
		if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR))
			break;
	}
	fd_close(&dir);
	return fd;
}

int
local_open_at(int at, const char *name, int flags, mode_t mode,
    enum local_links rule)
{
	int fd;

	flags |= O_CLOEXEC;
	if (rule == LOCAL_LINKS_ALL)
		return openat(at, name, flags, mode);
	fd = openat(at, name, flags | O_NOFOLLOW, mode);
	if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR) ||
	    rule == LOCAL_LINKS_NONE)
		return fd;
	return open_through(at, name, flags, mode, rule);
}
