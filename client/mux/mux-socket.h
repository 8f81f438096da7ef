/* SPDX-License-Identifier: ISC */
/*
 * The socket of a master in the file system (ControlPath): making, finding and
 * removing it. Both ends check that the process at the other end is of the same
 * user, or root.
 *
 * Threads: loop thread only, because mux_socket_listen() sets the umask.
 */
#ifndef HPN_CLIENT_MUX_MUX_SOCKET_H
#define HPN_CLIENT_MUX_MUX_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum { MUX_PATH_MAX = 108 }; /* bytes of a path with its NUL */

/* A listening socket, and its file: path, device and inode. */
struct mux_socket {
	int fd; /* -1: none */
	char *path;
	dev_t dev;
	ino_t ino;
};

/*
 * Listens at path. The file appears only when it can be connected to, and
 * without permissions for others. ERR_DENIED: there is a file at path already,
 * of whatever kind; it stays. ERR_LIMIT: path is too long. ERR_SYSTEM: errno.
 */
int mux_socket_listen(struct mux_socket *s, const char *path) must_check;
/* Closes the socket, and removes the file at path if it is still this socket's.
 * Mux clients stay connected. */
void mux_socket_stop(struct mux_socket *s);
/* Closes the socket and leaves its file, because another process is the master
 * now. */
void mux_socket_forget(struct mux_socket *s);
/* Accepts a connection; *fd is non-blocking. ERR_AGAIN: none is waiting, or
 * (errno 0) it was of another user, and closed. ERR_SYSTEM: errno. */
int mux_socket_accept(const struct mux_socket *s, int *fd) must_check;

/*
 * Connects to the master at path, within timeout_ms (-1: no limit). ERR_SYSTEM
 * with errno ENOENT: there is no file; with ECONNREFUSED: the master has ended
 * without removing its file. ERR_DENIED: another user listens there, or path is
 * a link that another user may have made. ERR_LIMIT: path is too long.
 * ERR_TIMEOUT: the master's queue stayed full.
 */
int mux_socket_connect(int *fd, const char *path, int timeout_ms) must_check;
/* Removes the socket at path if nobody listens there. True: nothing is at path
 * now. False: something else is there, somebody listens, or it could not be
 * removed. */
bool mux_socket_remove_stale(const char *path) must_check;

#endif
