/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd -i on two descriptors instead of one socket, for example as the
 * ProxyCommand of a client. The processes of a connection need one socket, so a
 * small process copies bytes between a socket and the two descriptors.
 *
 * Threads: none.
 */
#ifndef HPN_SERVER_LISTENER_INETD_PIPES_H
#define HPN_SERVER_LISTENER_INETD_PIPES_H

#include <stdbool.h>

/* Whether descriptors 0 and 1 are not the same socket. Then the server must
 * write to descriptor 1, behind which may be a filter or a logger. */
bool inetd_pipes_needed(void);
/* Starts the copying process. Returns the socket to it, which the caller owns,
 * or -1 with errno. */
int inetd_pipes_start(void);

#endif
