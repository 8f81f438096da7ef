/* SPDX-License-Identifier: ISC */
#include "compat/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- where the calls take flags ----------------------------------------- */

#ifdef SOCK_CLOEXEC
static int
flags_of(enum sock_mode mode)
{
	return SOCK_CLOEXEC | (mode == SOCK_AT_ONCE ? SOCK_NONBLOCK : 0);
}

int
sock_open(int domain, int type, int protocol, enum sock_mode mode)
{
	return socket(domain, type | flags_of(mode), protocol);
}

int
sock_accept(int fd, struct sockaddr *sa, socklen_t *len, enum sock_mode mode)
{
	return accept4(fd, sa, len, flags_of(mode));
}

int
sock_pair(int type, int ends[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
}

int
sock_pipe(int ends[2], enum sock_mode mode)
{
	return pipe2(ends, O_CLOEXEC | (mode == SOCK_AT_ONCE ? O_NONBLOCK : 0));
}

int
sock_copy_to(int fd, int to)
{
	return dup3(fd, to, O_CLOEXEC);
}

ssize_t
sock_receive(int fd, struct msghdr *msg)
{
	return recvmsg(fd, msg, MSG_CMSG_CLOEXEC);
}

/* ---- where they do not -------------------------------------------------- */

#else
/* Sets close-on-exec, and as mode says O_NONBLOCK, and has writes to a closed
 * connection send no SIGPIPE. Returns fd, or -1: then fd is closed. */
static int
settle(int fd, enum sock_mode mode)
{
	int flags, error;

	if (fd == -1)
		return -1;
#ifdef SO_NOSIGPIPE
	const int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
	flags = fcntl(fd, F_GETFL);
	if (flags != -1 && fcntl(fd, F_SETFD, FD_CLOEXEC) != -1) {
		flags = mode == SOCK_AT_ONCE ? flags | O_NONBLOCK :
					       flags & ~O_NONBLOCK;
		if (fcntl(fd, F_SETFL, flags) != -1)
			return fd;
	}
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
settle_both(int ends[2], enum sock_mode mode)
{
	if (settle(ends[0], mode) == -1) {
		close(ends[1]);
		return -1;
	}
	if (settle(ends[1], mode) == -1) {
		close(ends[0]);
		return -1;
	}
	return 0;
}

int
sock_open(int domain, int type, int protocol, enum sock_mode mode)
{
	return settle(socket(domain, type, protocol), mode);
}

int
sock_accept(int fd, struct sockaddr *sa, socklen_t *len, enum sock_mode mode)
{
	return settle(accept(fd, sa, len), mode);
}

int
sock_pair(int type, int ends[2])
{
	return socketpair(AF_UNIX, type, 0, ends) == -1 ? -1 :
	    settle_both(ends, SOCK_WAITS);
}

int
sock_pipe(int ends[2], enum sock_mode mode)
{
	return pipe(ends) == -1 ? -1 : settle_both(ends, mode);
}

int
sock_copy_to(int fd, int to)
{
	if (fd == to) {
		errno = EINVAL;
		return -1;
	}
	if (dup2(fd, to) == -1 || fcntl(to, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	return to;
}

ssize_t
sock_receive(int fd, struct msghdr *msg)
{
	ssize_t n = recvmsg(fd, msg, 0);
	int got;

	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(msg) : NULL; c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof got) <= c->cmsg_len;
		     at += sizeof got) {
			memcpy(&got, CMSG_DATA(c) + at, sizeof got);
			(void)fcntl(got, F_SETFD, FD_CLOEXEC);
		}
	}
	return n;
}
#endif

/* ---- what they are ------------------------------------------------------ */

void
sock_pipe_room(int fd, size_t bytes)
{
#ifdef F_SETPIPE_SZ
	/* The system may allow less; then it is as it was. */
	(void)fcntl(fd, F_SETPIPE_SZ, (int)bytes);
#else
	(void)fd;
	(void)bytes;
#endif
}

int
sock_domain(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return -1;
	return ss.ss_family;
}

int
sock_peer_ids(int fd, uid_t *uid, gid_t *gid)
{
#ifdef SO_PEERCRED
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return -1;
	/* This is the kernel's answer for a socket of another kind, or one
	 * without a peer. */
	if (len != sizeof peer || peer.uid == (uid_t)-1) {
		errno = ENOTCONN;
		return -1;
	}
	*uid = peer.uid;
	*gid = peer.gid;
	return 0;
#else
	return getpeereid(fd, uid, gid);
#endif
}

int
sock_drop(int fd)
{
	int pair[2], r;

	if (sock_pair(SOCK_STREAM, pair) == -1)
		return -1;
	r = sock_copy_to(pair[0], fd);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return r == -1 ? -1 : 0;
}
