/* SPDX-License-Identifier: ISC */
#include "client/session/client-session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-timeout.h"
#include "client/common/tty.h"
#include "client/forwards/private-forwards.h"
#include "client/session/client-session-internal.h"
#include "client/session/escape.h"
#include "client/session/sent-env.h"
#include "peer-version.h"

enum {
	STATUS_UNKNOWN = 255,
	EARLY_MAX = 4096, /* bytes of data that are sent together with the
			   * requests */
	TEXT_MAX = 1024, /* bytes of a text of the server that are shown */
};

/* The log level of messages about failures. Those of a mux client's session are
 * for debugging only, because the mux client is told by its hooks. */
static enum log_level
trouble(const struct session *s)
{
	return s->p.quiet || s->p.mux_client != NULL ? LOG_LVL_DEBUG1 :
						  LOG_LVL_ERROR;
}

static void
report_refused_request(const struct session *s, const char *what)
{
	char line[128];

	snprintf(line, sizeof line, "%s request failed on channel %u", what,
	    channel_id(s->channel));
	log_msg(trouble(s), "%s", line);
	if (s->p.mux_client != NULL)
		s->p.mux_client->say(s->p.arg, line);
}

static void
finish(struct session *s)
{
	if (s->state == SESSION_OVER)
		return;
	s->state = SESSION_OVER;
	s->p.ended(s->p.arg);
}

void
session_abort(struct session *s, int status)
{
	s->status = status;
	finish(s);
}

void
session_set_raw(struct session *s, bool on)
{
	const struct session_stdio *t = &s->p.stdio;

	s->raw = t->ops != NULL && t->ops->set_raw(t->arg, on);
}

void
session_set_nonblock(struct session *s, bool on)
{
	const struct session_stdio *t = &s->p.stdio;

	if (t->ops != NULL)
		t->ops->set_nonblock(t->arg, on);
}

/* ---- requests to the server --------------------------------------------- */

/* Has the user asked for a terminal by -t, -tt or RequestTTY? (Else the session
 * has one because there is a terminal here.) */
static bool
tty_was_asked_for(const struct session *s)
{
	int request_tty = s->p.conf->session.request_tty;

	return s->p.mux_client == NULL &&
	    (request_tty == CLIENT_TTY_YES || request_tty == CLIENT_TTY_FORCE);
}

static void
on_pty_reply(void *arg, bool ok, struct rd data)
{
	struct session *s = arg;

	(void)data;
	if (ok)
		return;
	/* The program runs without a terminal at the server, so the local
	 * terminal has to edit lines: it leaves raw mode. */
	s->tty = false;
	session_set_raw(s, false);
	report_refused_request(s, "PTY allocation");
	if (s->p.mux_client != NULL)
		s->p.mux_client->no_tty(s->p.arg);
	if (!tty_was_asked_for(s))
		return;
	/* The session fails, so the command's output is not shown, though the
	 * command may have started. */
	channel_set_fds(s->channel, -1, -1, -1, -1);
	session_abort(s, STATUS_UNKNOWN);
}

static void
on_start_reply(void *arg, bool ok, struct rd data)
{
	struct session *s = arg;

	(void)data;
	if (ok) {
		log_debug2("the server started %s", s->start_name);
		return;
	}
	report_refused_request(s, s->start_name);
	session_abort(s, STATUS_UNKNOWN);
}

static void
on_display_reply(void *arg, bool ok, struct rd data)
{
	const struct session *s = arg;

	(void)data;
	if (!ok)
		report_refused_request(s, "X11 forwarding");
}

static int
request_private_forwards(struct session *s)
{
	const struct private_forwards_request r = {
		.session = s->channel,
		.no_agent = s->p.no_agent,
		.no_display = s->p.no_display,
		.display_reply = on_display_reply,
		.arg = s,
	};

	return private_forwards_request(s->p.private_forwards, &r);
}

static int
request_pty(struct session *s)
{
	const char *term = s->p.stdio.term;
	struct buf b = { 0 };
	int r;

	tty_put_pty_request(&b, s->p.stdio.terminal,
	    term != NULL ? term : "");
	if ((r = buf_err(&b)) == 0)
		r = channel_request(s->channel, "pty-req", &b, on_pty_reply, s);
	buf_clear(&b);
	return r;
}

static int
send_env(struct session *s, const char *entry)
{
	const char *eq = strchr(entry, '=');
	struct buf b = { 0 };
	int r;

	if (eq == NULL)
		return 0;
	log_debug("sending environment variable %.*s", (int)(eq - entry),
	    entry);
	buf_put_string(&b, entry, (size_t)(eq - entry));
	buf_put_cstring(&b, eq + 1);
	if ((r = buf_err(&b)) == 0)
		r = channel_request(s->channel, "env", &b, NULL, NULL);
	buf_clear(&b);
	return r;
}

static int
request_env(struct session *s)
{
	const struct strlist *env = s->p.env;
	struct strlist own = { 0 };
	int r = 0;

	if (env == NULL) {
		r = sent_env_choose(s->p.conf, &own);
		env = &own;
	}
	for (size_t i = 0; i < env->n && r == 0; i++)
		r = send_env(s, env->v[i]);
	strlist_clear(&own);
	return r;
}

/* Gives the channel the name by which ChannelTimeout chooses its limit. */
static void
name_kind(struct session *s)
{
	char *name;

	xasprintf(&name, "session:%s%s",
	    s->p.command == NULL ? "shell" :
	    s->p.subsystem	 ? "subsystem:" : "command",
	    s->p.subsystem && s->p.command != NULL ? s->p.command : "");
	channel_set_kind(s->channel, name);
	free(name);
}

/* Appends the command. A server that has its scp as hpnscp gets "hpnscp" in
 * place of "scp". */
static void
put_command(const struct session *s, struct buf *b)
{
	const char *command = s->p.command;
	size_t mark = buf_open_string(b);

	if ((s->p.peer_traits & PEER_SCP_IS_HPNSCP) != 0 &&
	    !s->p.subsystem &&
	    strcspn(command, " ") == 3 && str_has_prefix(command, "scp"))
		buf_put(b, "hpn", 3);
	buf_put(b, command, strlen(command));
	buf_close_string(b, mark);
}

static int
request_start(struct session *s)
{
	struct buf b = { 0 };
	int r;

	s->start_name = s->p.command == NULL ? "shell" :
	    s->p.subsystem		     ? "subsystem" :
					       "exec";
	if (s->p.command != NULL)
		put_command(s, &b);
	if (s->p.command != NULL)
		log_debug("Sending %s: %s", s->p.subsystem ? "subsystem" :
							     "command",
		    s->p.command);
	name_kind(s);
	if ((r = buf_err(&b)) == 0)
		r = channel_request(s->channel, s->start_name, &b,
		    on_start_reply, s);
	buf_clear(&b);
	return r;
}

/* ---- what happens on the channel ---------------------------------------- */

static int
send_requests(struct session *s)
{
	int r = request_private_forwards(s);

	if (r == 0 && s->tty)
		r = request_pty(s);
	if (r == 0)
		r = request_env(s);
	if (r == 0)
		r = request_start(s);
	if (r == 0)
		s->state = SESSION_REQUESTED;
	return r;
}

static void
request_all(struct session *s)
{
	int r = send_requests(s);

	if (r == 0)
		return;
	log_error("session: %s", err_text(r));
	session_abort(s, STATUS_UNKNOWN);
}

static void
on_opened(void *arg, struct channel *c)
{
	struct session *s = arg;

	(void)c;
	if (s->state == SESSION_OPENING)
		s->state = SESSION_OPENED;
	if (s->p.mux_client != NULL)
		s->p.mux_client->opened(s->p.arg);
	if (s->may_attach)
		session_attach(s);
}

void
session_attach(struct session *s)
{
	const struct session_stdio *t = &s->p.stdio;

	s->may_attach = true;
	if (s->state == SESSION_OPENED)
		request_all(s);
	if (s->state != SESSION_REQUESTED || s->channel == NULL)
		return;
	s->state = SESSION_ATTACHED;
	if (s->p.io != NULL) {
		channel_set_fds(s->channel, -1, -1, -1, t->err);
		channel_set_io(s->channel, s->p.io, s->p.io_arg);
		return;
	}
	if (s->tty)
		session_set_raw(s, true);
	session_set_nonblock(s, true);
	channel_set_fds(s->channel, t->in, t->out, -1, t->err);
}

/* Sends the first data for the program right behind the requests. The server
 * has not told its window yet. That is safe here, because servers whose channel
 * number is known in advance open the window when they start the program. */
static int
send_early(struct session *s)
{
	uint8_t early[EARLY_MAX];
	ssize_t n = s->p.io->read(s->p.io_arg, early, sizeof early);

	return n > 0 ? channel_send_early(s->channel, early, (size_t)n) : 0;
}

void
session_open_optimistically(struct session *s)
{
	channel_open_optimistically(s->channel, 0);
	if (s->state == SESSION_OPENED)
		request_all(s);
	if (s->p.io != NULL && s->state == SESSION_REQUESTED &&
	    send_early(s) != 0)
		session_abort(s, STATUS_UNKNOWN);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct session *s = arg;

	(void)c;
	log_msg(trouble(s), "The server refused a session: %s (reason %u)",
	    text, reason);
	s->channel = NULL;
	session_abort(s, STATUS_UNKNOWN);
}

static int
on_exit_signal(struct session *s, struct rd *data)
{
	struct span name = rd_string(data), text;
	int r;

	(void)rd_bool(data); /* core dumped */
	text = rd_string(data);
	(void)rd_string(data); /* language */
	if ((r = rd_end(data)) != 0)
		return r;
	s->status = STATUS_UNKNOWN;
	log_verbose("The remote command was ended by signal %.*s %.*s",
	    (int)MIN(name.len, (size_t)TEXT_MAX), (const char *)name.p,
	    (int)MIN(text.len, (size_t)TEXT_MAX), (const char *)text.p);
	return CHANNEL_SUCCESS;
}

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	struct session *s = arg;
	uint32_t status;
	int r;

	if (span_equals(name, "exit-status")) {
		status = rd_u32(data);
		if ((r = rd_end(data)) != 0)
			return r;
		s->status = (int)(status & 0xff);
		log_debug("Exit status %u", status);
		return CHANNEL_SUCCESS;
	}
	if (span_equals(name, "exit-signal"))
		return on_exit_signal(s, data);
	if (span_equals(name, "eow@openssh.com")) {
		if ((r = rd_end(data)) != 0)
			return r;
		channel_end_source(c);
		return CHANNEL_SUCCESS;
	}
	return CHANNEL_FAILURE;
}

static void
on_eof(void *arg, struct channel *c)
{
	struct session *s = arg;
	const struct session_stdio *t = &s->p.stdio;

	(void)c;
	/* With a terminal, output is not closed: nobody reads until its end. */
	if (s->p.io == NULL && !s->tty && t->ops != NULL)
		t->ops->end_output(t->arg);
}

static void
on_closed(void *arg, struct channel *c)
{
	struct session *s = arg;

	(void)c;
	s->channel = NULL;
	finish(s);
}

/* ChannelTimeout: ends the session without waiting for the server, which may
 * not answer before its program has ended. */
static void
on_timed_out(void *arg, struct channel *c)
{
	struct session *s = arg;

	s->channel = NULL;
	channel_leave(c);
	finish(s);
}

static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	struct session *s = arg;

	if (s->p.io != NULL)
		return;
	if (error == EPIPE || s->p.mux_client != NULL) {
		/* Nobody reads our output any more. The server is told below,
		 * so that its program gets an error too. */
		log_debug("standard %s has no reader",
		    ext == 0 ? "output" : "error");
	} else {
		log_error("%s: writing standard %s: %s", called_ssh(),
		    ext == 0 ? "output" : "error", strerror(error));
		s->output_failed = true;
	}
	if (ext == 0 && (s->p.peer_traits & PEER_KNOWS_EOW) != 0)
		(void)!channel_request(c, "eow@openssh.com", NULL, NULL, NULL);
}

static size_t
on_filter(void *arg, struct channel *c, uint8_t *p, size_t len, size_t cap)
{
	struct session *s = arg;

	(void)c;
	return escape_filter(&s->escape, p, len, cap);
}

#define OPS                                                                   \
	.request = on_request, .opened = on_opened, .refused = on_refused,    \
	.eof = on_eof, .closed = on_closed, .timed_out = on_timed_out,        \
	.sink_failed = on_sink_failed

static const struct channel_ops plain_ops = { OPS };
static const struct channel_ops escape_ops = { OPS, .filter = on_filter };

/* ---- life --------------------------------------------------------------- */

int
session_new(struct session **out, const struct session_params *params)
{
	struct session *s = xcalloc(1, sizeof *s);
	bool escapes;
	int r;

	s->p = *params;
	s->tty = params->tty;
	s->may_attach = !params->attach_later;
	s->status = STATUS_UNKNOWN;
	escapes =
	    s->tty && params->conf->session.escape_char != CLIENT_ESCAPE_NONE;
	if (escapes)
		session_escapes_init(s);
	r = channel_open(&s->channel, params->channels, "session", NULL,
	    escapes ? &escape_ops : &plain_ops, s, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);
	if (r != 0) {
		session_free(s);
		return r;
	}
	channel_set_name(s->channel, "client-session");
	channel_set_interactive(s->channel, s->tty);
	if (s->may_attach && channel_is_early(s->channel) &&
	    (r = send_requests(s)) != 0) {
		session_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	session_set_raw(s, false);
	if (s->channel != NULL)
		channel_leave(s->channel);
	session_escapes_clear(s);
	free(s);
}

struct channel *
session_channel(const struct session *s)
{
	return s->channel;
}

int
session_status(const struct session *s)
{
	return s->output_failed && s->status == 0 ? STATUS_UNKNOWN : s->status;
}

void
session_resized(struct session *s)
{
	struct buf b = { 0 };

	if (!s->tty || s->channel == NULL)
		return;
	tty_put_window_size(&b, s->p.stdio.terminal);
	if (buf_err(&b) == 0)
		(void)!channel_request(s->channel, "window-change", &b, NULL,
		    NULL);
	buf_clear(&b);
}
