/* SPDX-License-Identifier: ISC */
/*
 * What hpnssh does in each of the roles that it may have where a connection is
 * shared: command, proxy, mux client, master.
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

/* -O word: sends a command to the master. Returns the exit status of hpnssh. */
int sharing_command(const struct client_conf *conf, const char *word);
/* True for the word "proxy": then the program goes on, and speaks the
 * connection protocol over the master's connection. */
bool sharing_word_is_proxy(const char *word);
/* Asks the master for -O proxy. *fd: the socket over which the program then
 * speaks the connection protocol (packet_set_proxied()); the caller owns it. s
 * has no other role any more, because the connection is the master's. Errors
 * were logged. */
int sharing_proxy(struct sharing *s, int *fd) must_check;
/* Asks a master, if there is one, for what client describes (conf and conn are
 * filled in here), and waits for its end. True: it has ended with *status.
 * False: the caller is to make a connection of its own. */
bool sharing_use_master(struct sharing *s, struct mux_session_client *client,
    int *status);

/*
 * Becomes a master, if the configuration wants that, once the user is logged
 * in. params: all but asks and persist_s, which are taken from the
 * configuration. An error ends the connection.
 */
int sharing_serve(struct sharing *s,
    const struct mux_master_params *params) must_check;
/* Called after sharing_serve(), if s->keeps. A new process in the background
 * goes on as master only: this function returns there. In the old process
 * left_behind(arg) closes what belongs to the connection, without a word to the
 * server; that process becomes a mux client, and exits with the status of its
 * session. */
int sharing_go_to_background(struct sharing *s, struct loop *loop,
    struct mux_session_client *client, void (*left_behind)(void *arg),
    void *arg) must_check;
/* Stops being a master. Does nothing if the process is none. */
void sharing_stop(struct sharing *s);

#endif
