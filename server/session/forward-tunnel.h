/* SPDX-License-Identifier: ISC */
/*
 * Tunnels: network interfaces of this host that are connected to interfaces of
 * the client (tun@openssh.com), as far as PermitTunnel and the key allow.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_TUNNEL_H
#define HPN_SERVER_SESSION_FORWARD_TUNNEL_H

#include "base/loop.h"
#include "server/session/services.h"

struct forward_tunnels;

struct forward_tunnels *forward_tunnels_new(struct loop *l);
/* NULL is fine. */
void forward_tunnels_free(struct forward_tunnels *ts);
/* The names of the interfaces, for SSH_TUNNEL: "tun0,tap3". Caller frees. NULL:
 * there are none. */
char *forward_tunnels_names(const struct forward_tunnels *ts);

/* Handler in the table of services.c for channels of the type
 * tun@openssh.com. */
int forward_tunnel_open(const struct service_owners *o, struct channel *c,
    struct rd *data);

#endif
