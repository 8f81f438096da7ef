/* SPDX-License-Identifier: ISC */
#include <malloc.h>
#include "compat/libc.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_MALLOC_USABLE_SIZE
#include <malloc.h>
#endif

enum {
	NO_REPLACE = 1, /* RENAME_NOREPLACE of Linux */
	NO_WAIT = 8,	/* RWF_NOWAIT of Linux */
};

int
libc_rename_new(const char *from, const char *to)
{
#if defined(HAVE_RENAMEAT2)
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE);
#elif defined(SYS_renameat2)
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
	    NO_REPLACE);
#else
	(void)from;
	(void)to;
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
