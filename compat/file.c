/* SPDX-License-Identifier: ISC */
#include "compat/file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/sendfile.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#else
#include <sys/mount.h>
#endif

bool
file_name_of(int fd, char name[32])
{
#if defined(__linux__)
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return true;
#else
	/* On other systems /dev/fd only duplicates the descriptor. */
	(void)fd;
	name[0] = '\0';
	return false;
#endif
}

ssize_t
file_read_link(int fd, char *text, size_t size)
{
#if defined(__APPLE__)
	return freadlink(fd, text, size);
#else
	return readlinkat(fd, "", text, size);
#endif
}

bool
file_is_of_kernel(int fd)
{
#if defined(__linux__)
	enum { PROC_MAGIC = 0x9fa0 };
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_MAGIC;
#else
	(void)fd;
	return false;
#endif
}

#if defined(__linux__)
static bool
is_on_one_of(int fd, const uint32_t *magic, size_t n)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((uint32_t)fs.f_type == magic[i])
			return true;
	return false;
}
#endif

bool
file_is_remote(int fd)
{
#if defined(__linux__)
	static const uint32_t magic[] = { 0x6969 /* NFS */,
		0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */, 0x517b /* SMB */,
		0x65735546 /* FUSE */, 0x01021997 /* 9P */,
		0x00c36400 /* Ceph */, 0x5346414f /* AFS */,
		0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */ };

	return is_on_one_of(fd, magic, sizeof magic / sizeof magic[0]);
#else
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_flags & MNT_LOCAL) == 0;
#endif
}

bool
file_close_is_silent(int fd)
{
#if defined(__linux__)
	/* File systems whose files have no flush operation in Linux. */
	static const uint32_t magic[] = { 0xef53 /* ext2, 3 and 4 */,
		0x58465342 /* XFS */, 0x9123683e /* Btrfs */,
		0x01021994 /* tmpfs */ };

	return is_on_one_of(fd, magic, sizeof magic / sizeof magic[0]);
#else
	(void)fd;
	return false;
#endif
}

bool
file_is_away(int fd, const struct stat *st)
{
#if defined(__linux__)
	/* On these file systems a file above SMALL_BYTES that has no blocks is
	 * elsewhere; smaller ones may be stored with their names. FUSE is not
	 * listed: many of its file systems tell no blocks of any file. */
	enum { SMALL_BYTES = 64 * 1024 };
	static const uint32_t magic[] = { 0x6969 /* NFS */,
		0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,
		0x19830326 /* BeeGFS */ };

	return S_ISREG(st->st_mode) && st->st_size > SMALL_BYTES &&
	    st->st_blocks == 0 &&
	    is_on_one_of(fd, magic, sizeof magic / sizeof magic[0]);
#else
	(void)fd;
	(void)st;
	return false;
#endif
}

int
file_sync(int fd)
{
#if defined(F_FULLFSYNC)
	/* fsync() on macOS leaves data in the disk's cache. Some file systems
	 * do not know F_FULLFSYNC. */
	if (fcntl(fd, F_FULLFSYNC) == 0)
		return 0;
#endif
	return fsync(fd);
}

int
file_uncache(int fd)
{
#if defined(POSIX_FADV_DONTNEED)
	int r = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

	if (r == 0)
		return 0;
	errno = r;
#else
	(void)fd;
	errno = ENOSYS;
#endif
	return -1;
}

ssize_t
file_copy_range(int from, off_t *from_at, int to, off_t *to_at, size_t len)
{
#if defined(__linux__) || defined(__FreeBSD__)
	return copy_file_range(from, from_at, to, to_at, len, 0);
#else
	(void)from;
	(void)from_at;
	(void)to;
	(void)to_at;
	(void)len;
	errno = ENOSYS;
	return -1;
#endif
}

ssize_t
file_send(int to, int from, off_t *at, size_t len)
{
#if defined(__linux__)
	return sendfile(to, from, at, len);
#else
	char block[16384];
	ssize_t n = pread(from, block, len < sizeof block ? len : sizeof block,
	    *at);

	if (n > 0)
		n = write(to, block, (size_t)n);
	if (n > 0)
		*at += n;
	return n;
#endif
}

unsigned
file_device_major(dev_t device)
{
	return (unsigned)major(device);
}

unsigned
file_device_minor(dev_t device)
{
	return (unsigned)minor(device);
}

#if defined(__linux__)
bool
file_has_extras(int fd)
{
	enum { NAMES_MAX = 65536 }; /* the kernel's limit */
	ssize_t len = flistxattr(fd, NULL, 0);
	char *names;
	bool has = false;

	if (len <= 0 || (names = malloc(NAMES_MAX)) == NULL)
		return false;
	len = flistxattr(fd, names, NAMES_MAX);
	for (const char *p = names; len > 0 && p < names + len;
	    p += strlen(p) + 1)
		has |= strncmp(p, "user.", 5) == 0 ||
		    strncmp(p, "system.posix_acl_", 17) == 0;
	free(names);
	return has;
}
#else
bool
file_has_extras(int fd)
{
	(void)fd;
	return false;
}
#endif
