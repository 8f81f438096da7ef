/* SPDX-License-Identifier: ISC */
/*
 * Executes hpnsshd-user, the user's process. So it gets nothing of the
 * monitor's memory, and only the descriptors that it needs.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_USER_EXEC_H
#define HPN_SERVER_MONITOR_USER_EXEC_H

#include <sys/types.h>

#include "base/err.h"
#include "server/programs.h"

/* Opens the program, if the listener has not, and copies the environment for
 * it. Both are done early, because modules of PAM run before user_exec(): they
 * may put the process into a namespace where the path leads to another file,
 * and variables that they set (LD_PRELOAD ...) are not meant for a program that
 * the superuser runs. Fatal on failure. */
void user_exec_prepare(struct program *program);

/* Starts a child that runs the program, with USER_FD_SOCKET, USER_FD_MONITOR
 * and the standard descriptors. It inherits identity, limits, namespaces and
 * the like. ERR_SYSTEM with errno, also if the program cannot be executed; its
 * path is never tried. */
int user_exec(pid_t *pid, const struct program *program, int socket_fd,
    int monitor_fd) must_check;

/* Takes the label that PAM has set for the next program that is executed
 * (SELinux): it is meant for the user's programs, not for hpnsshd-user. *label
 * is that label, which is cleared in the process; caller frees. NULL: none was
 * set. ERR_SYSTEM with errno: it cannot be cleared. */
int user_exec_take_label(char **label) must_check;

#endif
