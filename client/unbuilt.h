/* SPDX-License-Identifier: ISC */
/*
 * What a configuration asks for and this version has not built: forwarding
 * of ports, of the agent and of X11.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_UNBUILT_H
#define HPN_CLIENT_UNBUILT_H

#include <stdbool.h>

#include "conf/client-conf.h"

/* Would any of it act in a connection with or without a session of the
 * user's, and with or without forwarded ports? Then logs what:
 * ERR_UNSUPPORTED. Without an agent or a display there is nothing that could
 * be forwarded, as in stock. */
int client_refuse_unbuilt(const struct client_conf *conf, bool session,
    bool ports) must_check;

#endif
