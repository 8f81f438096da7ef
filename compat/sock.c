/* SPDX-License-Identifier: ISC */
#include "compat/sock.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int
sock_peer_ids(int fd, uid_t *uid, gid_t *gid)
{
#ifdef SO_PEERCRED
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return -1;
	/* What a socket of another kind, or one without a peer, is told. */
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
