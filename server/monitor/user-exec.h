/* SPDX-License-Identifier: ISC */
/*
 * Executes hpnsshd-user, the user's process, so that nothing of the monitor's
 * memory is in it, and no descriptor but those that it needs.
 *
 * Threads: none but the only one.
 */
#ifndef HPN_SERVER_MONITOR_USER_EXEC_H
#define HPN_SERVER_MONITOR_USER_EXEC_H

#include <sys/types.h>

#include "base/err.h"

/* A descriptor of the program, for user_exec(). It is opened long before it is
 * needed: PAM may put the process into a namespace where the path leads
 * elsewhere. The environment is kept, too: a module that changes its process's
 * own (LD_PRELOAD ...) means no program that the superuser runs. Fatal on
 * failure. */
int user_exec_open(const char *path);

/* A child that runs it, with USER_FD_SOCKET, USER_FD_MONITOR and the standard
 * descriptors; what else this process has set for its children (identity,
 * limits, namespaces ...) it has too, but signals are as usual. ERR_SYSTEM with
 * errno, also if the program cannot be executed. */
int user_exec(pid_t *pid, int program, int socket_fd,
    int monitor_fd) must_check;

/* What PAM wants for the programs that the user runs (SELinux) is not meant
 * for ours: the attribute, which is cleared; caller frees. NULL: none is set.
 * ERR_SYSTEM with errno if it cannot be cleared. */
int user_exec_take_label(char **label) must_check;

#endif
