/* SPDX-License-Identifier: ISC */
/*
 * Sockets, where systems differ.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_SOCK_H
#define HPN_COMPAT_SOCK_H

#include <sys/types.h>

/* Who the process at the other end of a UNIX socket was when it connected: 0,
 * or -1 with errno. */
int sock_peer_ids(int fd, uid_t *uid, gid_t *gid);

#endif
