/* SPDX-License-Identifier: ISC */
/*
 * For -i on two descriptors, as when hpnsshd is a client's ProxyCommand: the
 * processes of a connection want one socket, so a small process of its own
 * carries bytes between that and the two.
 *
 * Threads: none.
 */
#ifndef HPN_SERVER_LISTENER_INETD_PIPES_H
#define HPN_SERVER_LISTENER_INETD_PIPES_H

#include <stdbool.h>

/* Descriptors 0 and 1 are not one socket: what is behind 1, as a filter or a
 * logger, gets all that is sent. */
bool inetd_pipes_needed(void);
/* Starts the process; the socket, or -1 with errno. */
int inetd_pipes_start(void);

#endif
