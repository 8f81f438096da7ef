/* SPDX-License-Identifier: ISC */
/*
 * File descriptors: flags, whole reads and writes, passing over sockets.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_FD_H
#define HPN_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct stat;
struct buf;
struct iovec;

int fd_set_nonblock(int fd, bool on) must_check;
int fd_set_cloexec(int fd, bool on) must_check;
/* Closes if open and sets *fd to -1; errno is kept. */
void fd_close(int *fd);

/* As read(2), write(2) ... but begun again where a signal interrupted them. */
ssize_t fd_read(int fd, void *p, size_t max);
ssize_t fd_write(int fd, const void *p, size_t len);
ssize_t fd_writev(int fd, const struct iovec *iov, int count);
ssize_t fd_pread(int fd, void *p, size_t max, uint64_t offset);
/* Goes on until len bytes are read, or the file ends: bytes, or -1. */
ssize_t fd_pread_all(int fd, void *p, size_t len, uint64_t offset);
/* Does the file that st is of take less room than its size? */
bool fd_stat_has_holes(const struct stat *st);
/* Does the file at fd take less room than its size? Is there nothing but a hole
 * in that range of it, so that it reads as zeros? What the file system cannot
 * tell is no hole. The position of the descriptor changes. */
bool fd_has_holes(int fd);
bool fd_is_hole(int fd, uint64_t offset, uint64_t len);
/* Writes all len bytes, or returns -1 with errno. */
int fd_pwrite_all(int fd, const void *p, size_t len,
    uint64_t offset) must_check;

/* Whole length or error: ERR_EOF, ERR_SYSTEM. Retries EINTR, waits on
 * EAGAIN. */
int fd_read_all(int fd, void *p, size_t len) must_check;
int fd_write_all(int fd, const void *p, size_t len) must_check;
/* The same of a non-blocking descriptor, or ERR_TIMEOUT when clock_ms() is
 * end_ms. */
int fd_read_until(int fd, void *p, size_t len, uint64_t end_ms) must_check;
int fd_write_until(int fd, const void *p, size_t len,
    uint64_t end_ms) must_check;

/* Whole regular file or pipe, at most max bytes (ERR_LIMIT). Appends. */
int fd_read_file(int fd, struct buf *out, size_t max) must_check;
int file_read(const char *path, struct buf *out, size_t max) must_check;
/* Writes beside path and renames over it, so that readers never see half
 * of it and a full disk loses nothing. */
int file_replace(const char *path, const void *p, size_t len,
    mode_t mode) must_check;

/* Length-framed messages between our own processes: u32 length, body.
 * fd_receive_msg() appends to body, at most max bytes. */
int fd_send_msg(int sock, const struct buf *body) must_check;
int fd_receive_msg(int sock, struct buf *body, size_t max) must_check;

/* Passes open descriptors (at most FD_PASS_MAX) to another process of ours,
 * over a socket of the system (AF_UNIX). The sender keeps its own ones; those
 * that are received are close-on-exec and owned by the caller. Exactly n come,
 * or none. */
enum { FD_PASS_MAX = 4 };
int fd_send_fds(int sock, const int *fds, size_t n) must_check;
int fd_receive_fds(int sock, int *fds, size_t n) must_check;
/* Sends one message over a socket that keeps messages apart (SOCK_SEQPACKET),
 * with a descriptor or (-1) without. */
int fd_send_with(int sock, const void *p, size_t len, int fd) must_check;
/* Waits for such a message: its bytes, 0 at the end, or -1. *fd, which is owned
 * by the caller, is -1 if no descriptor came with it. */
ssize_t fd_receive_with(int sock, void *p, size_t max, int *fd);

/* Bytes of the kernel's receive buffer of a TCP socket (SO_RCVBUF); 0 if
 * fd is no socket. */
int fd_rcvbuf(int fd);
/* TCP_NODELAY; harmless on other descriptors. */
void fd_set_nodelay(int fd);
/* Acknowledges at once what has arrived, as far as the system can be asked
 * to: a peer that waits for that before it sends its next small packet loses
 * no time. Holds for the next packets only. */
void fd_set_quickack(int fd);

/* The first raises the limit of descriptors of this process as far as the
 * system lets it. Programs that it starts are to have the old limit, since some
 * are slow with, or cannot use, a larger one: the second is called in the
 * child, before exec. The third is the limit now. */
void fd_raise_limit(void);
void fd_restore_limit(void);
size_t fd_limit(void);

/* The first thing that a program does: 0, 1 and 2 are /dev/null where they are
 * closed, as cron and daemons may start it. Nothing that is opened later gets
 * their numbers: not a key file, into which an error would be written. Where
 * there is no /dev/null for them, the program ends. */
void fd_sanitise_stdio(void);

#endif
