/* SPDX-License-Identifier: ISC */
/*
 * Limits the number of sessions: on this connection (MaxSessions), and of the
 * user (MaxSessionsPerUser). The monitor is asked for the latter, because it
 * knows of the user's other connections; without that keyword it is not asked.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SESSION_LIMIT_H
#define HPN_SERVER_SESSION_SESSION_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "channels.h"
#include "server/session/serve.h"

/* Counts a session more, beside `count` on this connection. False: there are
 * too many. */
bool session_limit_begin(const struct serve_params *p, size_t count);
/* Refuses the channel of a session for which session_limit_begin() returned
 * false. */
int session_limit_refuse(const struct serve_params *p, size_t count,
    struct channel *c) must_check;
/* Counts a session less, which session_limit_begin() allowed. */
void session_limit_end(const struct serve_params *p);

#endif
