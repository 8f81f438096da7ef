/* SPDX-License-Identifier: ISC */
/*
 * What this host listens on for the client: ports (RFC 4254 section 7.1) and
 * sockets of the system (PROTOCOL of OpenSSH). Each connection to one becomes
 * a channel that we open. They end with the connection, or when the client
 * cancels them; connections that came through them go on.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_LISTEN_H
#define HPN_SERVER_SESSION_FORWARD_LISTEN_H

#include "base/loop.h"
#include "server/session/services.h"

struct forward_listens;

/* o is borrowed and outlives it. */
struct forward_listens *forward_listens_new(struct loop *l,
    const struct service_owners *o);
/* After the list of forwarded connections was freed. NULL is fine. */
void forward_listens_free(struct forward_listens *ls);

/* Rows of services.c. */
int forward_listen_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_listen_path(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_cancel_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_cancel_path(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
