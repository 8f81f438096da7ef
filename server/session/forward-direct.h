/* SPDX-License-Identifier: ISC */
/*
 * Connections that this host makes for the client (RFC 4254 section 7.2): to a
 * host and port, or to a Unix socket (PROTOCOL of OpenSSH).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_DIRECT_H
#define HPN_SERVER_SESSION_FORWARD_DIRECT_H

#include "server/session/services.h"

/* Handlers in the table of services.c for channels of the types direct-tcpip
 * and direct-streamlocal@openssh.com. */
int forward_direct_tcp(const struct service_owners *o, struct channel *c,
    struct rd *data);
int forward_direct_path(const struct service_owners *o, struct channel *c,
    struct rd *data);

#endif
