/* SPDX-License-Identifier: ISC */
/*
 * For -i on a pair of pipes, as when hpnsshd is a client's ProxyCommand: the
 * processes of a connection want one socket, so a small process of its own
 * carries bytes between that and the pipes.
 *
 * Threads: none.
 */
#ifndef HPN_SERVER_LISTENER_INETD_PIPES_H
#define HPN_SERVER_LISTENER_INETD_PIPES_H

#include <stdbool.h>

/* Descriptor 0 is no socket. */
bool inetd_pipes_needed(void);
/* Starts the process; the socket, or -1 with errno. */
int inetd_pipes_start(void);

#endif
