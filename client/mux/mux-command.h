/* SPDX-License-Identifier: ISC */
/*
 * hpnssh -O: words for a master.
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_CLIENT_MUX_MUX_COMMAND_H
#define HPN_CLIENT_MUX_MUX_COMMAND_H

#include <stdbool.h>

#include "client/mux/mux-conn.h"
#include "conf/client-conf.h"

/* The command of a word; NULL: there is no such word. */
struct mux_command;
const struct mux_command *mux_command_find(const char *word);
/* Says it to the master; the exit status. */
int mux_command_run(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf);

#endif
