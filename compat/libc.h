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

/* Bytes of a host's name, as gethostname() gives it; some systems say that at
 * run time only. */
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 255
#endif

/* As renameat(), but fails with EEXIST where the new name exists, and with
 * ENOSYS or EINVAL where that cannot be asked for. */
int libc_rename_new_at(int from_dir, const char *from, int to_dir,
    const char *to);

/* As openat(), of a path that cannot leave the directory dir (EXDEV, or EAGAIN
 * if something was renamed meanwhile); links on the way are followed, or fail
 * with ELOOP. Other errors where that cannot be asked for. */
int libc_open_beneath(int dir, const char *path, int flags, mode_t mode,
    bool links);

/* As preadv(), but fails with EAGAIN where it would wait for a disk, and with
 * another error where that cannot be asked for. */
ssize_t libc_preadv_nowait(int fd, const struct iovec *iov, int count,
    off_t offset);

/* Nobody is in a netgroup where there are none. */
bool libc_in_netgroup(const char *group, const char *host, const char *user);

/* How many bytes there are at p, of malloc(); 0: nobody knows. */
size_t libc_memory_size(void *p);
/* From here on memory is overwritten when freed, but for small pieces: the
 * C library reads files of accounts into buffers of its own. */
void libc_wipe_freed(void);

/* Lines NAME:HASH:..., which the superuser can read. */
#if defined(__linux__)
#define LIBC_HASHES_FILE "/etc/shadow"
#else
#define LIBC_HASHES_FILE "/etc/master.passwd"
#endif

/* As crypt(). False, and an empty text: there is no such hash. What the library
 * worked with is wiped, where it lets us. One thread at a time. */
enum { LIBC_HASH_MAX = 512 };
bool libc_hash_password(const char *password, const char *setting,
    char out[LIBC_HASH_MAX]);
/* What a new password's hash begins with here; NULL: nobody knows. */
const char *libc_password_setting(void);

#endif
