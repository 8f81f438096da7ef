/* SPDX-License-Identifier: ISC */
/*
 * hpnssh -O: the commands that a user gives to a master, each by a word.
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_CLIENT_MUX_MUX_COMMAND_H
#define HPN_CLIENT_MUX_MUX_COMMAND_H

#include <stdbool.h>

#include "client/mux/mux-conn.h"
#include "conf/client-conf.h"

/* The command with this word; NULL: there is none. */
struct mux_command;
const struct mux_command *mux_command_find(const char *word);
/* Sends the command to the master, and shows the result to the user. Returns
 * the exit status of hpnssh. */
int mux_command_run(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf);

#endif
