/* SPDX-License-Identifier: ISC */
#include "xfer/part-lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

enum { TRIES = 16 }; /* other processes may take and leave the name */

bool
xfer_part_is(int fd, int at, const char *name)
{
	struct stat st, named;

	return fstat(fd, &st) == 0 &&
	    fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}

/* False: another process has the lock. */
static bool
lock(int fd, int how)
{
	return flock(fd, how | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool
xfer_part_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink == 1 && st.st_uid == geteuid();
}

/*
 * Handles a part that exists: 1 if *out is to be used, 0 if the name is free
 * now or was so before, -1 with errno. A name is removed only under the lock,
 * so a process that has the lock has the file of that name.
 */
static int
take_old(int at, const char *name, bool keep, int *out)
{
	struct stat st;
	int fd, r;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISREG(st.st_mode))
		return unlinkat(at, name, 0);
	fd = openat(at, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (!lock(fd, LOCK_EX)) {
		errno = xfer_part_is_own(fd) ? EBUSY : EACCES;
		fd_close(&fd);
		return -1;
	}
	if (keep && xfer_part_is_own(fd) && xfer_part_is(fd, at, name)) {
		*out = fd;
		return 1;
	}
	r = xfer_part_is(fd, at, name) ? unlinkat(at, name, 0) : 0;
	(void)close(fd);
	return r;
}

int
xfer_part_claim(int at, const char *name, mode_t mode, bool *keep)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL;
	int fd, r;

	for (int i = 0; i < TRIES; i++) {
		if (*keep && (r = take_old(at, name, true, &fd)) != 0)
			return r > 0 ? fd : -1;
		*keep = false;
		fd = openat(at, name, flags, mode);
		if (fd >= 0 && lock(fd, LOCK_EX) && xfer_part_is(fd, at, name))
			return fd;
		if (fd >= 0)
			(void)close(fd); /* another process was quicker */
		else if (errno != EEXIST)
			return -1;
		else if (take_old(at, name, false, NULL) < 0)
			return -1;
	}
	errno = EBUSY;
	return -1;
}

bool
xfer_part_share(int fd)
{
	if (lock(fd, LOCK_SH))
		return true;
	errno = EBUSY;
	return false;
}
