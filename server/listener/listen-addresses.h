/* SPDX-License-Identifier: ISC */
/*
 * The addresses that the listener listens on, from ListenAddress and Port; and
 * the check whether a new configuration's addresses could be had while an old
 * listener holds its own.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_LISTEN_ADDRESSES_H
#define HPN_SERVER_LISTENER_LISTEN_ADDRESSES_H

#include <stdbool.h>

#include "base/listen.h"
#include "conf/server-conf.h"

/* Opens a socket for each address. Logs each failure, and ends the process if
 * no socket could be opened. */
void listen_addresses_open(const struct server_conf *conf,
    struct listen_set *sockets);
void listen_addresses_log(const struct listen_set *sockets);

/* The environment variable in which a listener gives its own addresses to the
 * check of a new configuration: lines of "address port". */
#define LISTEN_ADDRESSES_HELD "HPNSSHD_LISTENS"
/* The value of LISTEN_ADDRESSES_HELD; caller frees. */
char *listen_addresses_text(const struct listen_set *sockets);
/* Whether listen_addresses_open() could open at least one socket once the
 * listener that holds `held` (the value of LISTEN_ADDRESSES_HELD) has ended. To
 * find out, it binds the free addresses for a moment without listening. Logs
 * why not. */
bool listen_addresses_possible(const struct server_conf *conf,
    const char *held);

#endif
