/* SPDX-License-Identifier: ISC */
/*
 * The global requests tickets@hpnssh.org, grant@hpnssh.org,
 * grant-end@hpnssh.org and grant-receipt@hpnssh.org (docs/PROTOCOL.md). The
 * client asks for tickets, by which it makes further connections, or for a
 * grant, by which another machine moves files, takes that back, and says what
 * receipt it has. The monitor does all of it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_TICKETS_REPLY_H
#define HPN_SERVER_SESSION_TICKETS_REPLY_H

#include "server/session/services.h"

/* For the table of services.c: true if the requests are announced to the
 * client. */
bool tickets_allowed(const struct serve_params *p);
int tickets_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);
bool grants_allowed(const struct serve_params *p);
int grants_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int grants_answer_end(const struct service_owners *o, struct rd *data,
    struct buf *reply);
int grants_answer_receipt(const struct service_owners *o, struct rd *data,
    struct buf *reply);

#endif
