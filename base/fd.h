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

/* As read(2), write(2) and so on, but a call that a signal has interrupted is
 * made again. */
ssize_t fd_read(int fd, void *p, size_t max);
ssize_t fd_write(int fd, const void *p, size_t len);
ssize_t fd_writev(int fd, const struct iovec *iov, int count);
ssize_t fd_pread(int fd, void *p, size_t max, uint64_t offset);
/* Reads until there are len bytes, or the file ends. Returns how many there
 * are, or -1. */
ssize_t fd_pread_all(int fd, void *p, size_t len, uint64_t offset);
/* Does the file with the status st take less room than its size, so that it has
 * holes? */
bool fd_stat_has_holes(const struct stat *st);
/* fd_has_holes(): does the file at fd take less room than its size? The other
 * function: is that range of the file nothing but a hole, which reads as zeros?
 * Where the file system cannot tell, there is no hole. Both change the position
 * of the descriptor. */
bool fd_has_holes(int fd);
bool fd_is_hole(int fd, uint64_t offset, uint64_t len);
/* Writes all len bytes, or returns -1 with errno. */
int fd_pwrite_all(int fd, const void *p, size_t len,
    uint64_t offset) must_check;

/* Read or write all len bytes, and wait where the descriptor is not ready.
 * ERR_EOF: the end came before; ERR_SYSTEM. */
int fd_read_all(int fd, void *p, size_t len) must_check;
int fd_write_all(int fd, const void *p, size_t len) must_check;
/* As fd_read_all(), of a non-blocking descriptor. ERR_TIMEOUT: clock_ms() has
 * reached end_ms. */
int fd_read_until(int fd, void *p, size_t len, uint64_t end_ms) must_check;
int fd_write_until(int fd, const void *p, size_t len,
    uint64_t end_ms) must_check;

/* Append the content of a regular file, or of a pipe until its end. ERR_LIMIT:
 * it is more than max bytes. */
int fd_read_file(int fd, struct buf *out, size_t max) must_check;
int file_read(const char *path, struct buf *out, size_t max) must_check;
/* Replaces the file at path: writes a new file beside it, and renames that over
 * it. So readers never see half of it, and nothing is lost when the disk is
 * full. */
int file_replace(const char *path, const void *p, size_t len,
    mode_t mode) must_check;
/* As file_replace(), but does not wait for the disk: for a file that may be
 * lost when the machine fails. */
int file_replace_quick(const char *path, const void *p, size_t len,
    mode_t mode) must_check;

/* Length-framed messages between our own processes: u32 length, body.
 * fd_receive_msg() appends to body, at most max bytes. */
int fd_send_msg(int sock, const struct buf *body) must_check;
/* As fd_send_msg() to a socket, but ERR_AGAIN if there is no room for the
 * message until clock_ms() is end_ms; 0: now. Nothing was sent then. Once a
 * part is sent it waits for the rest. */
int fd_try_send_msg(int sock, const struct buf *body,
    uint64_t end_ms) must_check;
int fd_receive_msg(int sock, struct buf *body, size_t max) must_check;

/* Passes open descriptors (at most FD_PASS_MAX) to another process of ours,
 * over a socket of the system (AF_UNIX). The sender keeps its own ones; those
 * that are received are close-on-exec and owned by the caller. Exactly n come,
 * or none. */
enum { FD_PASS_MAX = 4 };
int fd_send_fds(int sock, const int *fds, size_t n) must_check;
int fd_receive_fds(int sock, int *fds, size_t n) must_check;
/* Sends one message over a socket of the system, with a descriptor or (-1)
 * without. Both ends know its length: not all systems have sockets that keep
 * messages apart (SOCK_SEQPACKET; macOS). */
int fd_send_with(int sock, const void *p, size_t len, int fd) must_check;
/* Waits for such a message. Returns len, 0 if the other end is closed, or -1.
 * *fd, which the caller owns, is -1 if no descriptor came with the message. */
ssize_t fd_receive_with(int sock, void *p, size_t len, int *fd);

/* Bytes of the kernel's receive buffer of a TCP socket (SO_RCVBUF); 0 if
 * fd is no socket. */
int fd_rcvbuf(int fd);
int fd_sndbuf(int fd); /* likewise, of the send buffer */
/* TCP_NODELAY; harmless on other descriptors. */
void fd_set_nodelay(int fd);
/* Acknowledges at once what has arrived, as far as the system can be asked
 * to: a peer that waits for that before it sends its next small packet loses
 * no time. Holds for the next packets only. */
void fd_set_quickack(int fd);

/* fd_raise_limit() raises the limit of descriptors of this process as far as
 * the system lets it. fd_restore_limit() gives the old limit back: it is called
 * in a child before exec, because some programs are slow with a larger limit,
 * or cannot use one. fd_limit() returns the present limit. */
void fd_raise_limit(void);
void fd_restore_limit(void);
size_t fd_limit(void);

/* Opens /dev/null as 0, 1 and 2 where these are closed, as cron and daemons may
 * leave them. A program does this first, so that nothing that it opens later
 * gets their numbers: an error message would be written into a key file. If
 * there is no /dev/null, the program ends. */
void fd_sanitise_stdio(void);

#endif
