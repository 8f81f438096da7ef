/* SPDX-License-Identifier: ISC */
/*
 * The addresses at which the listener listens: ListenAddress and Port, and
 * whether those of a new configuration can be had while an old listener holds
 * its own.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_LISTEN_ADDRESSES_H
#define HPN_SERVER_LISTENER_LISTEN_ADDRESSES_H

#include <stdbool.h>

#include "base/listen.h"
#include "conf/server-conf.h"

/* Ends the process if there is none at all; says which one could not be had. */
void listen_addresses_open(const struct server_conf *conf,
    struct listen_set *sockets);
void listen_addresses_log(const struct listen_set *sockets);

/* The variable of the environment by which a listener tells the check of a new
 * configuration what it holds itself: "address port" on a line each. */
#define LISTEN_ADDRESSES_HELD "HPNSSHD_LISTENS"
/* The text for that variable; caller frees. */
char *listen_addresses_text(const struct listen_set *sockets);
/* Could listen_addresses_open() have at least one, once the listener that holds
 * these has gone? It takes those that are free for a moment, and hears nobody.
 * Says why not. */
bool listen_addresses_possible(const struct server_conf *conf,
    const char *held);

#endif
