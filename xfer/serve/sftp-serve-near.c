/* SPDX-License-Identifier: ISC */
/*
 * The directory of the last small file, of a session that is confined. Small
 * files come one after the other to the same directory, and to find it anew
 * below the session's root took a seventh of their system calls. It is held for
 * NEAR_US at most, and only until the session asks for anything else: whoever
 * moves a directory away meanwhile gets what was on its way there, as after any
 * single resolution.
 *
 * A session that is not confined holds nothing open, and does not begin with
 * it: a file system could not be unmounted while the session is idle.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "compat/file.h"
#include "xfer/local/local-beneath.h"
#include "xfer/local/local-tree.h"
#include "xfer/serve/sftp-serve-internal.h"

enum { NEAR_US = 10 * 1000 };

void
serve_near_drop(struct serve_near *n)
{
	fd_close(&n->fd);
	n->len = 0;
}

/* What new files in the directory are like. */
static void
look(struct serve_near *n)
{
	struct stat st;

	n->uid = geteuid();
	n->gid = getegid();
	n->own_group = fstat(n->fd, &st) == 0 && st.st_gid == n->gid;
	n->silent_close = file_close_is_silent(n->fd);
}

static bool
is_there(const struct serve_near *n, const char *path, size_t len)
{
	return n->fd >= 0 && len == n->len && memcmp(path, n->path, len) == 0 &&
	    clock_us() < n->since_us + NEAR_US;
}

/* Opens the directory that the first len bytes of the path name. */
static int
enter(struct serve_near *n, const struct serve_op *op, const char *path,
    size_t len)
{
	serve_near_drop(n);
	memcpy(n->path, path, len);
	n->path[len] = '\0';
	n->since_us = clock_us();
	n->fd = serve_open_at(op, n->path, FILE_STEP | O_CLOEXEC, 0);
	if (n->fd < 0)
		return -1;
	n->len = len;
	look(n);
	return 0;
}

/* Is it a directory's path with a name behind it? One that ends in a slash or
 * in dots takes the usual way. */
static bool
is_plain(const char *path, const char *last)
{
	return last > path && (size_t)(last - path) < PATH_MAX &&
	    *last != '\0' && strchr(last, '/') == NULL &&
	    strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
}

int
serve_at_near(const struct serve_op *op, const char *path,
    struct serve_place *p)
{
	const char *last = local_last_name(path);
	size_t len = (size_t)(last - path);
	struct serve_near *n = op->near;

	p->near = NULL;
	p->own = -1;
	if (n == NULL || op->below == NULL || !is_plain(path, last))
		return serve_at(op, path, p);
	if (!is_there(n, path, len) && enter(n, op, path, len) != 0)
		return serve_at(op, path, p);
	p->at = n->fd;
	p->name = last;
	p->near = n;
	return 0;
}
