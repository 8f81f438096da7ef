/* SPDX-License-Identifier: ISC */
#include "server/session/session-limit.h"

#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/session/session-calls.h"

static bool
is_limited(const struct serve_params *p)
{
	return p->conf->session.max_sessions_per_user != INT_MAX;
}

static bool
is_full(const struct serve_params *p, size_t count)
{
	return count >= (size_t)p->conf->session.max_sessions;
}

bool
session_limit_begin(const struct serve_params *p, size_t count)
{
	return !is_full(p, count) &&
	    (!is_limited(p) || monitor_session(p->monitor_fd, true) == 0);
}

/* Refuses a session. At the limit of all connections (MaxSessionsPerUser) the
 * user is told of it; at that of this one (MaxSessions) the client gets what
 * OpenSSH answers, which clients know. */
int
session_limit_refuse(const struct serve_params *p, size_t count,
    struct channel *c)
{
	int max = p->conf->session.max_sessions_per_user, r;
	char *text;

	if (is_full(p, count)) {
		log_info("no more than %d sessions (MaxSessions)",
		    p->conf->session.max_sessions);
		return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, NULL);
	}
	log_info("no more than %d sessions of a user (MaxSessionsPerUser)",
	    max);
	xasprintf(&text,
	    "too many sessions: a user may have %d on this server", max);
	r = channel_refuse(c, CHANNEL_OPEN_PROHIBITED, text);
	free(text);
	return r;
}

void
session_limit_end(const struct serve_params *p)
{
	if (is_limited(p) && monitor_session(p->monitor_fd, false) != 0)
		log_debug("no answer to the end of a session");
}
