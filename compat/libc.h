/* SPDX-License-Identifier: ISC */
/*
 * Calls that glibc has and not every other C library (musl): where one is
 * missing, the kernel's own call stands in, or the answer is that of a system
 * without such a thing.
 *
 * Threads: any, but for libc_in_netgroup().
 */
#ifndef HPN_COMPAT_LIBC_H
#define HPN_COMPAT_LIBC_H

#include <sys/types.h>
#include <sys/uio.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of a host's name that gethostname() gives. Some systems tell the limit
 * only at run time, and do not define it. */
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 255
#endif

/* As renameat(), but fails with EEXIST if the new name exists, and with ENOSYS
 * or EINVAL if the system cannot check that. */
int libc_rename_new_at(int from_dir, const char *from, int to_dir,
    const char *to);

/* As openat(), of a path that must not leave the directory dir (EXDEV, or
 * EAGAIN if something was renamed meanwhile). links: links on the way are
 * followed; otherwise they fail with ELOOP. Any other error: the system may be
 * unable to do this. */
int libc_open_beneath(int dir, const char *path, int flags, mode_t mode,
    bool links);

/* As preadv(), but fails with EAGAIN instead of waiting for a disk, and with
 * another error if the system cannot do that. */
ssize_t libc_preadv_nowait(int fd, const struct iovec *iov, int count,
    off_t offset);

/* As innetgr(); false on systems without netgroups. */
bool libc_in_netgroup(const char *group, const char *host, const char *user);

/* The bytes of memory at p, which malloc() gave; 0: not known. */
size_t libc_memory_size(void *p);
/* From now on memory is overwritten when it is freed, except small pieces. For
 * the C library, which reads files of accounts into buffers of its own. */
void libc_wipe_freed(void);

/* The file with lines NAME:HASH:..., which only the superuser can read. */
#if defined(__linux__)
#define LIBC_HASHES_FILE "/etc/shadow"
#else
#define LIBC_HASHES_FILE "/etc/master.passwd"
#endif

/* As crypt(). False, with an empty text: the hash is of an unknown kind. The
 * library's working memory is wiped, if the library allows it. One thread at a
 * time. */
enum { LIBC_HASH_MAX = 512 };
bool libc_hash_password(const char *password, const char *setting,
    char out[LIBC_HASH_MAX]);
/* The first part of a new password's hash on this system; NULL: not known. */
const char *libc_password_setting(void);

#endif
