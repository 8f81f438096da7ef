/* SPDX-License-Identifier: ISC */
/*
 * How many sessions there may be: on this connection (MaxSessions), and of the
 * user (MaxSessionsPerUser). For the latter the monitor is asked, which knows
 * of other connections; without that keyword nothing is asked.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_LIMIT_H
#define HPN_SERVER_SESSION_SESSION_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "channels.h"
#include "server/session/serve.h"

/* One more session, beside count on this connection. False: there are too many.
 */
bool session_limit_begin(const struct serve_params *p, size_t count);
/* Refuses the channel of one that may not begin. */
int session_limit_refuse(const struct serve_params *p, size_t count,
    struct channel *c) must_check;
/* A session that was let begin has ended. */
void session_limit_end(const struct serve_params *p);

#endif
