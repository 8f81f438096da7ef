/* SPDX-License-Identifier: ISC */
/*
 * Listening for the client, on ports (RFC 4254 section 7.1) and at Unix sockets
 * (PROTOCOL of OpenSSH). For each connection that arrives we open a channel.
 * Listening ends with the SSH connection, or when the client cancels it;
 * channels that were opened by then go on.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_LISTEN_H
#define HPN_SERVER_SESSION_FORWARD_LISTEN_H

#include "base/loop.h"
#include "server/session/services.h"

struct forward_listens;

/* o is borrowed, and must stay until forward_listens_free(). */
struct forward_listens *forward_listens_new(struct loop *l,
    const struct service_owners *o);
/* Must be called after forwarded_list_free(). NULL is fine. */
void forward_listens_free(struct forward_listens *ls);

/* Handlers in the table of services.c for the global requests that begin and
 * cancel listening. */
int forward_listen_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_listen_path(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_cancel_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int forward_cancel_path(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
