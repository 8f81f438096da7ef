/* SPDX-License-Identifier: ISC */
/*
 * Sockets and pipes, where systems differ. Programs that this process runs do
 * not inherit the descriptors that are made here. Writing to one whose reader
 * is gone is an error and no SIGPIPE: by MSG_NOSIGNAL, or by the system's own
 * way.
 *
 * Threads: any, while no other thread forks: some systems need two calls to
 * make a descriptor that is not inherited.
 */
#ifndef HPN_COMPAT_SOCK_H
#define HPN_COMPAT_SOCK_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* What a read or a write does if it cannot be done at once. */
enum sock_mode {
	SOCK_WAITS,
	SOCK_AT_ONCE, /* fails with EAGAIN */
};

/* Return a new descriptor, or -1 with errno. `mode` is that of the new
 * descriptor, also of an accepted one, whatever the mode of the listening
 * socket is. */
int sock_open(int domain, int type, int protocol, enum sock_mode mode);
int sock_accept(int fd, struct sockaddr *sa, socklen_t *len,
    enum sock_mode mode);
/* Make a pair of UNIX sockets, whose reads and writes wait, or a pipe. 0, or -1
 * with errno. */
int sock_pair(int type, int ends[2]);
int sock_pipe(int ends[2], enum sock_mode mode);
/* Asks the system to let a pipe hold so many bytes. Some systems choose the
 * size themselves. */
void sock_pipe_room(int fd, size_t bytes);
/* As dup2(), but programs do not inherit the copy. */
int sock_copy_to(int fd, int to);
/* Closes the socket behind the descriptor, but keeps its number: it refers to a
 * socket whose other end is closed. */
int sock_drop(int fd);
/* As recvmsg(). Programs do not inherit the descriptors that come with the
 * message. */
ssize_t sock_receive(int fd, struct msghdr *msg);

/* The domain of a socket (AF_UNIX and the like); -1: fd is no socket. */
int sock_domain(int fd);
/* Gets the user and group of the process at the other end of a UNIX socket, as
 * they were when it connected. 0, or -1 with errno. */
int sock_peer_ids(int fd, uid_t *uid, gid_t *gid);

#endif
