/* SPDX-License-Identifier: ISC */
#include "xfer/part-lock.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "compat/file.h"
#include "xfer/part-name.h"

/*
 * Each copy has a byte of this range, far behind any data, and a shared lock on
 * that byte. A lock on another byte is another copy's. Both copies first set
 * their own lock and then look for others, so two that begin at once may both
 * be refused, but never both succeed.
 */
#define RANGE_FROM ((off_t)1 << 61)
#define RANGE_LEN ((off_t)1 << 60)

static bool
is_named(const struct stat *st, int at, const char *name)
{
	struct stat named;

	return fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st->st_dev == named.st_dev && st->st_ino == named.st_ino;
}

bool
xfer_part_is(int fd, int at, const char *name)
{
	struct stat st;

	return fstat(fd, &st) == 0 && is_named(&st, at, name);
}

bool
xfer_part_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink == 1 && st.st_uid == geteuid();
}

/* Has another open file a lock in that range? if_unknown: the answer if the
 * file system cannot tell. */
static bool
is_locked(int fd, off_t from, off_t len, bool if_unknown)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = from, .l_len = len };

	if (len == 0)
		return false;
	if (fcntl(fd, FILE_GETLK, &l) != 0)
		return if_unknown;
	return l.l_type != F_UNLCK;
}

/* Sets or takes off the lock of a copy's byte. False if somebody else has
 * locked it exclusively, which our programs do not do. A handle that is open
 * for writing only cannot have a shared lock (EBADF), so an exclusive one is
 * tried. Where that fails, another handle of the copy has the byte, and its
 * lock stands for both. */
static bool
set(int fd, short type, off_t byte)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET,
		.l_start = byte, .l_len = 1 };

	if (fcntl(fd, FILE_SETLK, &l) == 0)
		return true;
	if (errno == EBADF && type == F_RDLCK) {
		l.l_type = F_WRLCK;
		(void)fcntl(fd, FILE_SETLK, &l);
		return true;
	}
	return errno != EAGAIN && errno != EACCES;
}

/* Has another copy a lock? */
static bool
others_hold(int fd, off_t byte)
{
	return is_locked(fd, RANGE_FROM, byte - RANGE_FROM, false) ||
	    is_locked(fd, byte + 1, RANGE_FROM + RANGE_LEN - byte - 1, false);
}

bool
xfer_part_hold(int fd, uint64_t copy, bool further)
{
	off_t byte = RANGE_FROM + (off_t)(copy % (uint64_t)RANGE_LEN);
	bool alone = !further && copy != XFER_COPY_UNKNOWN;

	if ((!further || is_locked(fd, byte, 1, true)) &&
	    set(fd, F_RDLCK, byte)) {
		/* A lock of its own hinders no descriptor. */
		if (alone ? !xfer_part_is_shared(fd) : !others_hold(fd, byte))
			return true;
		(void)set(fd, F_UNLCK, byte);
	}
	errno = EBUSY;
	return false;
}

bool
xfer_part_is_shared(int fd)
{
	return is_locked(fd, RANGE_FROM, RANGE_LEN, false);
}

bool
xfer_part_is_held(int at, const char *name)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = openat(at, name, O_RDONLY | flags);
	bool held;

	if (fd < 0 && errno == EACCES)
		fd = openat(at, name, O_WRONLY | flags);
	held = fd >= 0 && is_locked(fd, RANGE_FROM, RANGE_LEN, false);
	fd_close(&fd);
	return held;
}

int
xfer_part_make(int at, const char *name, mode_t mode, uint64_t copy)
{
	int fd = openat(at, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT |
		O_EXCL, mode);

	if (fd < 0 || (xfer_part_hold(fd, copy, false) &&
	    xfer_part_is(fd, at, name)))
		return fd;
	/* Another copy was quick to take the part over, or the part is gone. */
	fd_close(&fd);
	errno = EEXIST;
	return -1;
}

int
xfer_part_take(int at, const char *name, uint64_t copy)
{
	int fd = openat(at, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
		O_NOCTTY);
	bool own = fd >= 0 && xfer_part_is_own(fd);

	if (own && xfer_part_hold(fd, copy, false) &&
	    xfer_part_is(fd, at, name))
		return fd;
	if (fd >= 0)
		errno = own ? EBUSY : EPERM;
	fd_close(&fd);
	return -1;
}

int
xfer_part_give_name(const struct stat *st, int at, const char *part, int to_at,
    const char *target)
{
	errno = ESTALE;
	if (!is_named(st, at, part))
		return -1;
	errno = EBUSY;
	if (xfer_is_part(target) && xfer_part_is_held(to_at, target))
		return -1;
	if (renameat(at, part, to_at, target) != 0)
		return -1;
	errno = ESTALE;
	return is_named(st, to_at, target) ? 0 : -1;
}

int
xfer_part_to_target(int fd, int at, const char *part, int to_at,
    const char *target)
{
	struct stat st;

	errno = ESTALE;
	return fstat(fd, &st) == 0 ?
	    xfer_part_give_name(&st, at, part, to_at, target) : -1;
}
