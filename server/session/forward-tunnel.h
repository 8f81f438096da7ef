/* SPDX-License-Identifier: ISC */
/*
 * Network interfaces of this host that clients tie to theirs
 * (tun@openssh.com), as PermitTunnel and the key allow.
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
/* The interfaces, for SSH_TUNNEL: "tun0,tap3". Caller frees; NULL: none. */
char *forward_tunnels_names(const struct forward_tunnels *ts);

/* A row of services.c. */
int forward_tunnel_open(const struct service_owners *o, struct channel *c,
    struct rd *data);

#endif
