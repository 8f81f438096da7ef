/* SPDX-License-Identifier: ISC */
#include "compat/libc.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#if defined(__linux__)
#include <malloc.h>
#include <sys/syscall.h>
#elif defined(__FreeBSD__)
#include <malloc_np.h>
#endif

enum {
	NO_REPLACE = 1, /* RENAME_NOREPLACE of Linux */
	NO_WAIT = 8,	/* RWF_NOWAIT of Linux */
	NO_MAGIC = 2,	/* RESOLVE_NO_MAGICLINKS, and so on */
	NO_LINKS = 4,
	BENEATH = 8,
};

int
libc_rename_new_at(int from_dir, const char *from, int to_dir, const char *to)
{
#if defined(HAVE_RENAMEAT2)
	return renameat2(from_dir, from, to_dir, to, NO_REPLACE);
#elif defined(SYS_renameat2)
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to,
	    NO_REPLACE);
#elif defined(RENAME_EXCL)
	return renameatx_np(from_dir, from, to_dir, to, RENAME_EXCL);
#else
	(void)from_dir;
	(void)from;
	(void)to_dir;
	(void)to;
	errno = ENOSYS;
	return -1;
#endif
}

/* The structure and the numbers are the kernel's; not every C library has
 * them. */
int
libc_open_beneath(int dir, const char *path, int flags, mode_t mode,
    bool links)
{
#if defined(SYS_openat2)
	const struct {
		uint64_t flags, mode, resolve;
	} how = { (uint64_t)flags, (flags & O_CREAT) != 0 ? mode : 0,
		BENEATH | NO_MAGIC | (links ? 0 : NO_LINKS) };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
#else
	(void)dir;
	(void)path;
	(void)flags;
	(void)mode;
	(void)links;
	errno = ENOSYS;
	return -1;
#endif
}

ssize_t
libc_preadv_nowait(int fd, const struct iovec *iov, int count, off_t offset)
{
#if defined(HAVE_PREADV2)
	return preadv2(fd, iov, count, offset, NO_WAIT);
#elif defined(SYS_preadv2)
	/* Two halves of the offset; the second one does not count where the
	 * first has room for all. */
	return (ssize_t)syscall(SYS_preadv2, fd, iov, (long)count,
	    (long)offset, (long)((uint64_t)offset >> 32), NO_WAIT);
#else
	(void)fd;
	(void)iov;
	(void)count;
	(void)offset;
	errno = ENOSYS;
	return -1;
#endif
}

size_t
libc_memory_size(void *p)
{
#ifdef HAVE_MALLOC_USABLE_SIZE
	return malloc_usable_size(p);
#else
	(void)p;
	return 0;
#endif
}

bool
libc_in_netgroup(const char *group, const char *host, const char *user)
{
#ifdef HAVE_INNETGR
	return innetgr(group, host, user, NULL) == 1;
#else
	(void)group;
	(void)host;
	(void)user;
	return false;
#endif
}

void
libc_wipe_freed(void)
{
#ifdef M_PERTURB
	(void)mallopt(M_PERTURB, 0xa5);
#endif
}
