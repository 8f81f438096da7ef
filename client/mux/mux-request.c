/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-request.h"

#include <stdlib.h>

#include "base/mem.h"
#include "client/forwards/agent-forward.h"
#include "client/forwards/x11-forward.h"
#include "client/session/sent-env.h"

int
mux_request_session(struct mux_conn *c, struct buf *b,
    const struct mux_wanted *wanted)
{
	const struct client_conf *conf = wanted->conf;
	const char *command = wanted->command, *term = getenv("TERM");
	struct mux_session s = {
		.tty = wanted->tty,
		.agent = agent_forward_is_wanted(conf),
		.x11 = x11_forward_is_wanted(conf),
		.subsystem = wanted->subsystem,
		.escape = conf->session.escape_char == CLIENT_ESCAPE_NONE ?
		    MUX_ESCAPE_NONE : (uint32_t)conf->session.escape_char,
		.term = xstrdup(term != NULL ? term : ""),
		.command = xstrdup(command != NULL ? command : ""),
	};
	int r = sent_env_choose(conf, &s.env);

	mux_conn_begin(c, b, MUX_SESSION);
	mux_put_session(b, &s);
	mux_session_clear(&s);
	return r;
}

void
mux_request_report(const struct mux_conn *c, enum log_level level, int err)
{
	if (err != ERR_DENIED)
		log_msg(level, "The shared connection cannot be used: %s",
		    err == ERR_CLOSED ? "its master is gone" : err_text(err));
	else if (c->type == MUX_DENIED)
		log_msg(level, "Master refused session request: %s", c->why);
	else
		log_msg(level, "mux_client_request_session: session request "
			       "failed: %s", c->why);
}
