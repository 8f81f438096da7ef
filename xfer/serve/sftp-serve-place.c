/* SPDX-License-Identifier: ISC */
/*
 * Finds the file that the path of a request names. If the session is not
 * confined, the path is given to the kernel as it is, which costs no further
 * system call. If it is (sftp-serve-confine.c), the path is resolved to a
 * directory below the session's root and a single name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "compat/file.h"
#include "xfer/local/local-beneath.h"
#include "xfer/local/local-tree.h"
#include "xfer/serve/sftp-serve-internal.h"

int
serve_at(const struct serve_op *op, const char *path, struct serve_place *p)
{
	p->own = -1;
	p->near = NULL;
	p->at = AT_FDCWD;
	p->name = path;
	if (op->below == NULL)
		return 0;
	p->at = local_beneath_parent(op->below, path, p->leaf, &p->own);
	p->name = p->leaf;
	return p->at < 0 ? -1 : 0;
}

void
serve_leave(struct serve_place *p)
{
	int saved = errno;

	fd_close(&p->own);
	errno = saved;
}

const char *
serve_beside(const struct serve_place *p, const char *path)
{
	return p->at == AT_FDCWD ? path : local_last_name(path);
}

/* Opens a file below the root. A session that may only read makes backups or
 * mirrors; its reading should not count as an access, so the time of the last
 * access is left as it was, where the system allows that (for the owner and
 * root). */
static int
open_below(const struct serve_op *op, const char *path, int flags,
    mode_t mode)
{
	const int other = O_CREAT | O_DIRECTORY | FILE_HANDLE;
	int fd;

	if (op->only_reads && (flags & (O_ACCMODE | other)) == O_RDONLY) {
		fd = local_beneath_open(op->below, path,
		    flags | FILE_NO_ATIME, mode);
		if (fd >= 0 || errno != EPERM)
			return fd;
	}
	return local_beneath_open(op->below, path, flags, mode);
}

int
serve_open_at(const struct serve_op *op, const char *path, int flags,
    mode_t mode)
{
	return op->below == NULL ? open(path, flags, mode) :
				   open_below(op, path, flags, mode);
}

DIR *
serve_list_at(const struct serve_op *op, const char *path)
{
	DIR *dir;
	int fd;

	if (op->below == NULL)
		return opendir(path);
	fd = local_beneath_open(op->below, path, O_RDONLY | O_DIRECTORY |
		O_NONBLOCK | O_CLOEXEC, 0);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL)
		fd_close(&fd);
	return dir;
}

int
serve_stat_at(const struct serve_op *op, const char *path, bool follow,
    struct stat *st)
{
	struct serve_place p;
	int r = -1, fd;

	if (follow && op->below != NULL) {
		fd = local_beneath_open(op->below, path, FILE_HANDLE, 0);
		if (fd >= 0)
			r = fstat(fd, st);
		fd_close(&fd);
		return r;
	}
	if (serve_at(op, path, &p) == 0)
		r = fstatat(p.at, p.name, st,
		    follow ? 0 : AT_SYMLINK_NOFOLLOW);
	serve_leave(&p);
	return r;
}

/* ---- attributes --------------------------------------------------------- */

/*
 * Sets attributes of a name in the directory fd, or if name is NULL of fd
 * itself. The order matters: a new owner clears the set-id bits, which setting
 * the mode restores, and all other changes touch the times.
 */
static int
apply(int fd, const char *name, int at, const struct sftp_attrs *attrs)
{
	const struct timespec ts[2] = {
		{ .tv_sec = attrs->atime },
		{ .tv_sec = attrs->mtime },
	};
	mode_t mode = attrs->mode & SERVE_MODE_BITS;

	if ((attrs->flags & SFTP_A_OWNER) &&
	    (name ? fchownat(fd, name, attrs->uid, attrs->gid, at) :
		    fchown(fd, attrs->uid, attrs->gid)) != 0)
		return -1;
	if ((attrs->flags & SFTP_A_MODE) &&
	    (name ? fchmodat(fd, name, mode, at) : fchmod(fd, mode)) != 0)
		return -1;
	if ((attrs->flags & SFTP_A_TIMES) &&
	    (name ? utimensat(fd, name, ts, at) : futimens(fd, ts)) != 0)
		return -1;
	return 0;
}

int
serve_apply_attrs(int fd, const struct sftp_attrs *attrs)
{
	if ((attrs->flags & SFTP_A_SIZE) &&
	    ftruncate(fd, (off_t)attrs->size) != 0)
		return -1;
	return apply(fd, NULL, 0, attrs);
}

/* Sets attributes where there is no /proc, by opening the file for reading.
 * Only regular files and directories are opened, for opening a device may have
 * effects. step: a descriptor that tells which file the path led to. */
static int
apply_opened(const struct serve_op *op, const char *path, int step,
    const struct sftp_attrs *attrs)
{
	struct stat st, now;
	int fd, r = -1;

	if (fstat(step, &st) != 0)
		return -1;
	errno = EOPNOTSUPP;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -1;
	fd = local_beneath_open(op->below, path,
	    O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return -1;
	errno = ENOENT;
	if (fstat(fd, &now) == 0 && now.st_dev == st.st_dev &&
	    now.st_ino == st.st_ino)
		r = apply(fd, NULL, 0, attrs);
	fd_close(&fd);
	return r;
}

/* Sets attributes of a path below the session's root. A descriptor that gives
 * no access (FILE_HANDLE) holds the file; the calls that change it get its name
 * in /proc/self/fd. */
static int
apply_below(const struct serve_op *op, const char *path,
    const struct sftp_attrs *attrs)
{
	int step = local_beneath_open(op->below, path, FILE_HANDLE, 0), r;
	char name[32];

	if (step < 0)
		return -1;
	snprintf(name, sizeof name, "/proc/self/fd/%d", step);
	r = apply(AT_FDCWD, name, 0, attrs);
	if (r != 0 && errno == ENOENT)
		r = apply_opened(op, path, step, attrs);
	fd_close(&step);
	return r;
}

static int
set_size(const struct serve_op *op, const char *path, uint64_t size)
{
	int fd, r;

	if (op->below == NULL)
		return truncate(path, (off_t)size);
	fd = local_beneath_open(op->below, path,
	    O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return -1;
	r = ftruncate(fd, (off_t)size);
	fd_close(&fd);
	return r;
}

int
serve_apply_at(const struct serve_op *op, const char *path, bool nofollow,
    const struct sftp_attrs *attrs)
{
	struct serve_place p;
	int r = -1;

	errno = EINVAL;
	if ((attrs->flags & SFTP_A_SIZE) &&
	    (nofollow || set_size(op, path, attrs->size) != 0))
		return -1;
	if (!nofollow && op->below != NULL)
		return apply_below(op, path, attrs);
	if (serve_at(op, path, &p) == 0)
		r = apply(p.at, p.name, nofollow ? AT_SYMLINK_NOFOLLOW : 0,
		    attrs);
	serve_leave(&p);
	return r;
}
