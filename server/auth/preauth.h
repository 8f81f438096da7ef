/* SPDX-License-Identifier: ISC */
/*
 * All of hpnsshd-auth but its main(): speaks to a peer that is not yet
 * trusted, from identification to USERAUTH_SUCCESS, without any rights.
 *
 * Threads: none but the only one.
 */
#ifndef HPN_SERVER_AUTH_PREAUTH_H
#define HPN_SERVER_AUTH_PREAUTH_H

#include <stdbool.h>

/* waits: the connection is received first, at the socket to the monitor, and
 * becomes socket_fd, which is not open yet. Returns the exit status: 0 after
 * the state was handed over. */
int preauth_run(int socket_fd, int monitor_fd, bool waits);

#endif
