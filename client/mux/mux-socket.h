/* SPDX-License-Identifier: ISC */
/*
 * The socket of a master in the file system (ControlPath): making, finding and
 * removing it. Both ends check that the other is of the same user, or root.
 *
 * Threads: loop thread only, because making one sets the umask.
 */
#ifndef HPN_CLIENT_MUX_MUX_SOCKET_H
#define HPN_CLIENT_MUX_MUX_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum { MUX_PATH_MAX = 108 }; /* bytes of a path with its NUL */

/* A socket that listens, and which file it is. */
struct mux_socket {
	int fd; /* -1: none */
	char *path;
	dev_t dev;
	ino_t ino;
};

/*
 * Listens at path, which is there only when connections are possible, and
 * with no permissions for others. ERR_DENIED: there is such a file already,
 * whatever it is; it stays. ERR_LIMIT: path is too long. ERR_SYSTEM.
 */
int mux_socket_listen(struct mux_socket *s, const char *path) must_check;
/* The file is taken away, if it is still that one. Mux clients stay
 * connected. */
void mux_socket_stop(struct mux_socket *s);
/* Closes without taking the file away: it is another process's now. */
void mux_socket_forget(struct mux_socket *s);
/* Non-blocking, of a peer that may talk to us. ERR_AGAIN: there is none, or
 * not one that may; errno 0: it was refused. ERR_SYSTEM: errno tells. */
int mux_socket_accept(const struct mux_socket *s, int *fd) must_check;

/*
 * Connects to a master, within timeout_ms (-1: no limit). ERR_SYSTEM: errno
 * ENOENT, there is none; ECONNREFUSED: it has ended without taking its file
 * away. ERR_DENIED: who listens there is another user, or somebody else's link
 * leads there. ERR_LIMIT: path is too
 * long. ERR_TIMEOUT.
 */
int mux_socket_connect(int *fd, const char *path, int timeout_ms) must_check;
/* Removes a socket of ours at which nobody listens. False: it is still there,
 * and is something else. */
bool mux_socket_remove_stale(const char *path) must_check;

#endif
