/* SPDX-License-Identifier: ISC */
/*
 * Files, where systems differ.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_FILE_H
#define HPN_COMPAT_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Flags of open(). FILE_STEP: a directory to walk through, which need not be
 * readable. FILE_HANDLE: a file of any kind, only to look at, without waiting.
 * FILE_ITSELF: the same of a link itself. FILE_PROGRAM: a program to run by
 * its descriptor. */
#if defined(O_PATH)
#define FILE_STEP (O_PATH | O_DIRECTORY)
#define FILE_HANDLE O_PATH
#define FILE_ITSELF (O_PATH | O_NOFOLLOW)
#define FILE_PROGRAM O_PATH
#elif defined(__APPLE__)
#define FILE_STEP O_SEARCH
#define FILE_HANDLE (O_EVTONLY | O_NONBLOCK)
#define FILE_ITSELF (O_EVTONLY | O_SYMLINK | O_NONBLOCK)
#define FILE_PROGRAM O_RDONLY
#else
#define FILE_STEP (O_RDONLY | O_DIRECTORY)
#define FILE_HANDLE (O_RDONLY | O_NONBLOCK)
#define FILE_ITSELF (O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
#define FILE_PROGRAM O_RDONLY
#endif

/* The times of a struct stat, as lvalues: of the last reading, of the last
 * change of the content, and of the last change of the attributes. */
#if defined(__APPLE__)
#define FILE_ATIME st_atimespec
#define FILE_MTIME st_mtimespec
#define FILE_CTIME st_ctimespec
#else
#define FILE_ATIME st_atim
#define FILE_MTIME st_mtim
#define FILE_CTIME st_ctim
#endif

/* Commands of fcntl() for locks that belong to an open file. FreeBSD has only
 * locks of processes, which end when the process closes any descriptor of the
 * file. */
#if defined(F_OFD_SETLK)
#define FILE_GETLK F_OFD_GETLK
#define FILE_SETLK F_OFD_SETLK
#else
#define FILE_GETLK F_GETLK
#define FILE_SETLK F_SETLK
#endif

/* A name that leads to the open file fd, whatever has become of the file's own
 * name. By it the file can be opened again, and can be changed even if fd
 * allows only looking (FILE_STEP). False: the system has no such names. */
bool file_name_of(int fd, char name[32]);
/* As readlink(), for a descriptor of a link (FILE_ITSELF). */
ssize_t file_read_link(int fd, char *text, size_t size);

/* Is fd in a file system whose links lead to places that their text does not
 * name? The kernel's view of processes (/proc) is one. */
bool file_is_of_kernel(int fd);
/* Is fd in a file system that another host or another process serves? */
bool file_is_remote(int fd);
/* Does close(2) of a written file on this file system tell no errors, so that
 * it need not be waited for? False: it may, or the file system is not known. */
bool file_close_is_silent(int fd);
/* True if a file's data are elsewhere, on a tape, so that reading them may take
 * hours. Such a file has a size and no blocks, on a file system that moves
 * files away. (A file that is one hole looks the same there.) fd: the file, or
 * its directory. */
bool file_is_away(int fd, const struct stat *st);

/* The two numbers of a device, st_rdev. */
unsigned file_device_major(dev_t device);
unsigned file_device_minor(dev_t device);

/* A flag of open(): reading does not change the file's time of access. EPERM
 * for files of other users, except for root. */
#if defined(O_NOATIME)
#define FILE_NO_ATIME O_NOATIME
#else
#define FILE_NO_ATIME 0
#endif

/* As fsync(); also makes the disk write its cache, where the system can ask for
 * that. */
int file_sync(int fd);
/* Has the kernel drop its cached pages of the file; those that are not on the
 * disk yet stay. -1 with ENOSYS: the system cannot do this. */
int file_uncache(int fd);
/* As copy_file_range(), which copies in the kernel. -1 with ENOSYS: the system
 * cannot. */
ssize_t file_copy_range(int from, off_t *from_at, int to, off_t *to_at,
    size_t len);
/* As Linux's sendfile(), between files. *at moves on by what was sent. */
ssize_t file_send(int to, int from, off_t *at, size_t len);

/* True if the open file has extended attributes of the namespace "user.", or an
 * ACL. False if that is not known. */
bool file_has_extras(int fd);

#endif
