/* SPDX-License-Identifier: ISC */
/*
 * The command line of a program that carries a file transfer's bytes in
 * place of a connection of this process.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REMOTE_CHILD_H
#define HPN_CLIENT_REMOTE_CHILD_H

#include "base/str.h"
#include "client/remote.h"

/* Appends the program (as ssh is called) or the local server, with its
 * arguments. ERR_SYNTAX, told, if the server is no command. */
int remote_child_command(struct strlist *argv,
    const struct remote_params *p) must_check;
/* Appends program and the options that it always has; then those of the user,
 * and where to go (port 0, user NULL: as it likes). What follows is "--", the
 * host and the command. */
void remote_ssh_begin(struct strlist *argv, const char *program);
void remote_ssh_way(struct strlist *argv, const struct strlist *options,
    int port, const char *user);
/* hpnssh, for what is not done in this process: beside this program (a build
 * tree, or the place of installation), else where it was to be installed,
 * else anywhere in PATH. Caller frees. */
char *remote_find_ssh(void);

#endif
