/* SPDX-License-Identifier: ISC */
/*
 * The global requests tickets@hpnssh.org and grant@hpnssh.org
 * (docs/PROTOCOL.md): the client wants tickets, by which it makes further
 * connections, or a grant, by which another machine moves files. The monitor
 * makes them.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_TICKETS_REPLY_H
#define HPN_SERVER_SESSION_TICKETS_REPLY_H

#include "server/session/services.h"

/* For the table of services.c. */
bool tickets_allowed(const struct serve_params *p);
int tickets_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);
bool grants_allowed(const struct serve_params *p);
int grants_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
