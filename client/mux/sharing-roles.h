/* SPDX-License-Identifier: ISC */
/*
 * The steps of each role that hpnssh may have where a connection is shared.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_SHARING_ROLES_H
#define HPN_CLIENT_MUX_SHARING_ROLES_H

#include <stdbool.h>

#include "base/err.h"
#include "client/mux/mux-command.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-session-client.h"
#include "client/mux/sharing.h"
#include "conf/client-conf.h"

/* -O: a master acts, and we only tell it to. The exit status. */
int sharing_command(const struct client_conf *conf, const char *word);
/* The word of -O is one for which the program itself goes on, as a client of
 * its own on the master's connection. */
bool sharing_word_is_proxy(const char *word);
/* The program gets the master's socket, over which it speaks the connection
 * protocol (packet_set_proxied()). Its role ends, because the connection is
 * another's. Errors were logged. */
int sharing_proxy(struct sharing *s, int *fd) must_check;
/* If there is a master, it makes what client describes (conf and conn are
 * filled in). True: that is over, with *status; false: a connection of our own
 * is to be made. */
bool sharing_use_master(struct sharing *s, struct mux_session_client *client,
    int *status);

/*
 * The user is logged in: becomes the master, if it shall be one. params: all
 * but what follows from the configuration. An error ends the connection.
 */
int sharing_serve(struct sharing *s,
    const struct mux_master_params *params) must_check;
/* With keeps, and behind sharing_serve(): a new process in the background goes
 * on as a master only, and returns here. In the old one left_behind closes what
 * belongs to the connection, without a word to the server; it becomes a mux
 * client, and ends with the exit status that this has. */
int sharing_go_to_background(struct sharing *s, struct loop *loop,
    struct mux_session_client *client, void (*left_behind)(void *arg),
    void *arg) must_check;
/* The process is no master any more, if it was one. */
void sharing_stop(struct sharing *s);

#endif
