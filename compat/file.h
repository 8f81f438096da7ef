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

/* Flags of open(): a directory as a step on the way, which need not be
 * readable; a file of any kind to look at: nothing is waited for; the same of a
 * link itself; and a program that is to be run by its descriptor. */
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

/* When a file was read, changed, and changed in what is known of it: lvalues of
 * a struct stat. */
#if defined(__APPLE__)
#define FILE_ATIME st_atimespec
#define FILE_MTIME st_mtimespec
#define FILE_CTIME st_ctimespec
#else
#define FILE_ATIME st_atim
#define FILE_MTIME st_mtim
#define FILE_CTIME st_ctim
#endif

/* Commands of fcntl(): locks of an open file. FreeBSD has those of processes
 * only, which are gone when the process closes any descriptor of the file. */
#if defined(F_OFD_SETLK)
#define FILE_GETLK F_OFD_GETLK
#define FILE_SETLK F_OFD_SETLK
#else
#define FILE_GETLK F_GETLK
#define FILE_SETLK F_SETLK
#endif

/* A name that leads to what an open descriptor is of, whatever has become of
 * its own name: its file can be opened anew by it, and changed where the number
 * is good for nothing but looking (FILE_STEP). False: the system has none. */
bool file_name_of(int fd, char name[32]);
/* As readlink(), of a link that was opened itself. */
ssize_t file_read_link(int fd, char *text, size_t size);

/* Is it of a file system whose links lead where no text does? The kernel's view
 * of processes is such a one. */
bool file_is_of_kernel(int fd);
/* Is its file system one that answers over a network, or from another
 * process? */
bool file_is_remote(int fd);

/* As fsync(), and the disk has it, too, as far as that can be asked for. */
int file_sync(int fd);
/* As copy_file_range(): within the kernel. -1 with ENOSYS where it cannot. */
ssize_t file_copy_range(int from, off_t *from_at, int to, off_t *to_at,
    size_t len);
/* As sendfile() of Linux, between files; *at moves on. */
ssize_t file_send(int to, int from, off_t *at, size_t len);

#endif
