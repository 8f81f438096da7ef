/* SPDX-License-Identifier: ISC */
/*
 * The life of the user's process: takes from the monitor what it needs, becomes
 * the user, and serves the connection.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_USER_RUN_H
#define HPN_SERVER_SESSION_USER_RUN_H

/* Returns the exit status. */
int user_run(int socket_fd, int monitor_fd);

#endif
