/* SPDX-License-Identifier: ISC */
/*
 * The main function of the user's process, hpnsshd-user: gets its state from
 * the monitor, becomes the user, and serves the connection.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_USER_RUN_H
#define HPN_SERVER_SESSION_USER_RUN_H

/* Runs the process until its end. Returns the exit status. */
int user_run(int socket_fd, int monitor_fd);

#endif
