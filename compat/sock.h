/* SPDX-License-Identifier: ISC */
/*
 * Sockets and pipes, where systems differ. No program that is run inherits
 * those that are made here, and a write to one whose reader is gone is an
 * error, with MSG_NOSIGNAL or a system's own way.
 *
 * Threads: any, while no other one forks: some systems take two calls.
 */
#ifndef HPN_COMPAT_SOCK_H
#define HPN_COMPAT_SOCK_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* What a read or write does that cannot be done now. */
enum sock_mode {
	SOCK_WAITS,
	SOCK_AT_ONCE, /* fails with EAGAIN */
};

/* A descriptor, or -1 with errno. The mode of an accepted socket is this one,
 * whatever the mode is of the one that listens. */
int sock_open(int domain, int type, int protocol, enum sock_mode mode);
int sock_accept(int fd, struct sockaddr *sa, socklen_t *len,
    enum sock_mode mode);
/* 0, or -1 with errno. A pair is of UNIX sockets, and waits. */
int sock_pair(int type, int ends[2]);
int sock_pipe(int ends[2], enum sock_mode mode);
/* Asks for a pipe that holds so many bytes; some systems choose themselves. */
void sock_pipe_room(int fd, size_t bytes);
/* As dup2(), but no program inherits the copy. */
int sock_copy_to(int fd, int to);
/* As recvmsg(), and no program inherits what descriptors come. */
ssize_t sock_receive(int fd, struct msghdr *msg);

/* AF_UNIX and the like; -1: it is no socket. */
int sock_domain(int fd);
/* Who the process at the other end of a UNIX socket was when it connected: 0,
 * or -1 with errno. */
int sock_peer_ids(int fd, uid_t *uid, gid_t *gid);

#endif
