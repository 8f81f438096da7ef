/* SPDX-License-Identifier: ISC */
/*
 * All of hpnsshd-auth except its main(). It speaks to a peer that is not
 * trusted yet, from the identification to USERAUTH_SUCCESS, and has no rights.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_AUTH_PREAUTH_H
#define HPN_SERVER_AUTH_PREAUTH_H

#include <stdbool.h>

/* waits: the process was started in advance. It first receives the connection
 * over monitor_fd, as descriptor socket_fd, which is not open before. Returns
 * the exit status: 0 if the user is authenticated and the state of the
 * connection was handed to the monitor. */
int preauth_run(int socket_fd, int monitor_fd, bool waits);

#endif
