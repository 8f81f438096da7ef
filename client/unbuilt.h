/* SPDX-License-Identifier: ISC */
/*
 * What a configuration may want and this version does not have: forwarding of
 * the agent and of X11, tunnels, and sharing of connections.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_UNBUILT_H
#define HPN_CLIENT_UNBUILT_H

#include <stdbool.h>

#include "conf/client-conf.h"

/* ERR_UNSUPPORTED, and a message, if the configuration would do any of it:
 * agent and X11 only with a session. Without an agent or a display there is
 * nothing to forward, as in OpenSSH. */
int client_refuse_unbuilt(const struct client_conf *conf,
    bool session) must_check;

#endif
