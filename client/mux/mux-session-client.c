/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-session-client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "client/common/tty.h"
#include "client/mux/mux-forward.h"
#include "client/mux/mux-transport.h"
#include "client/mux/mux-request.h"
#include "client/session/background.h"
#include "client/session/standard-streams.h"

enum { STATUS_UNKNOWN = 255 };

/* ---- what it asks for --------------------------------------------------- */

static int
put_target(struct mux_session_client *p, struct buf *b)
{
	bool path = p->target->path != NULL;
	struct mux_stdio s = {
		.host = xstrdup(path ? p->target->path : p->target->host),
		.port = path ? MUX_PORT_PATH : p->target->port,
	};

	mux_conn_begin(p->conn, b, MUX_STDIO);
	mux_put_stdio(b, &s);
	mux_stdio_clear(&s);
	return 0;
}

static void
report_refusal(const struct mux_session_client *p, int err)
{
	const struct mux_conn *c = p->conn;

	if (p->target == NULL || err != ERR_DENIED)
		mux_request_report(c, LOG_LVL_ERROR, err);
	else if (c->type == MUX_DENIED)
		log_error("Master refused stdio forwarding request: %s",
		    c->why);
	else
		log_error("Stdio forwarding request failed: %s", c->why);
}

static int
request(struct mux_session_client *p)
{
	static const int fds[] = { STDIN_FILENO, STDOUT_FILENO,
		STDERR_FILENO };
	const struct mux_wanted wanted = {
		.conf = p->conf,
		.command = p->command,
		.subsystem = p->subsystem,
		.tty = p->tty,
	};
	struct buf b = { 0 };
	struct rd rest;
	int r;

	r = p->target != NULL ? put_target(p, &b) :
	    mux_request_session(p->conn, &b, &wanted);
	stdio_note_blocking();
	if (r == 0)
		r = mux_conn_ask(p->conn, &b, fds,
		    p->target != NULL ? MUX_STDIO_FDS : MUX_SESSION_FDS,
		    &rest);
	buf_clear(&b);
	if (r == 0) {
		p->channel = rd_u32(&rest);
		r = rd_end(&rest);
		log_debug("mux_client_request_session: master session id: %u",
		    p->channel);
	}
	if (r == 0 && p->conn->type != MUX_OPENED)
		r = ERR_PROTOCOL;
	if (r != 0)
		report_refusal(p, r);
	return r;
}

static void
on_forwarded(void *arg, const struct mux_conn *conn,
    const struct forward_spec *spec, int err, uint32_t port)
{
	char *target;

	(void)arg;
	if (err == ERR_DENIED && conn->type == MUX_DENIED)
		log_error("Master refused forwarding request: %s", conn->why);
	else if (err != 0)
		log_error("mux_client_forward: forwarding request failed: %s",
		    err == ERR_DENIED ? conn->why : err_text(err));
	if (err != 0 || port == 0)
		return;
	target = forward_target_text(spec);
	log_info("Allocated port %u for remote forward to %s", port, target);
	free(target);
}

/* ---- while it runs ------------------------------------------------------ */

static int
on_message(void *arg, struct rd message)
{
	struct mux_session_client *p = arg;
	uint32_t type = rd_u32(&message), channel = rd_u32(&message);
	int r = rd_err(&message);

	if (r != 0)
		return r;
	if (channel != p->channel)
		return ERR_PROTOCOL;
	if (type == MUX_STATUS) {
		p->status = (int)(rd_u32(&message) & 0xff);
		return rd_end(&message);
	}
	if (type != MUX_NO_TTY)
		return ERR_PROTOCOL;
	tty_leave_raw();
	p->tty = false;
	return rd_end(&message);
}

static void
on_transport_ended(void *arg, int err)
{
	struct mux_session_client *p = arg;

	if (err != ERR_CLOSED)
		log_error("The master of the shared connection: %s",
		    err_text(err));
	p->ended = true;
	loop_stop(p->loop);
}

static void
on_stop_signal(void *arg, int signo)
{
	struct mux_session_client *p = arg;

	log_debug("ended by signal %d", signo);
	p->status = STATUS_UNKNOWN;
	loop_stop(p->loop);
}

/* Passes SIGWINCH on to the master, which then asks the terminal for its
 * size. */
static void
on_resize(void *arg, int signo)
{
	const struct mux_session_client *p = arg;

	if (p->tty && p->master_pid > 1)
		(void)kill((pid_t)p->master_pid, signo);
}

static int
wait_for_end(struct mux_session_client *p)
{
	struct mux_transport_hooks hooks = {
		.arg = p,
		.message = on_message,
		.ended = on_transport_ended,
	};
	struct mux_transport *transport = NULL;
	int fd = p->conn->fd, r;

	p->conn->fd = -1;
	if ((p->loop = loop_new()) == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	if ((r = mux_transport_new(&transport, p->loop, fd, &hooks)) != 0)
		goto out;
	loop_on_signal_if_wanted(p->loop, SIGHUP, on_stop_signal, p);
	loop_on_signal_if_wanted(p->loop, SIGINT, on_stop_signal, p);
	loop_on_signal_if_wanted(p->loop, SIGTERM, on_stop_signal, p);
	if (p->tty) {
		tty_enter_raw(STDIN_FILENO);
		loop_on_signal_if_wanted(p->loop, SIGWINCH, on_resize, p);
	}
	r = loop_run(p->loop);
	tty_leave_raw();
out:
	mux_transport_free(transport);
	loop_free(p->loop);
	return r;
}

int
mux_session_client_run(struct mux_session_client *p, int *status)
{
	bool tty = p->tty;
	int r = mux_conn_check(p->conn, &p->master_pid);

	if (r != 0) {
		report_refusal(p, r);
		return r;
	}
	if (!p->has_forwards &&
	    (r = mux_forward_request_all(p->conn, p->conf, false, false,
		 on_forwarded, NULL)) != 0)
		return r;
	if (p->conf->session.stdin_null ||
	    p->conf->session.fork_after_authentication)
		stdio_to_null(STDIN_FILENO);
	p->status = STATUS_UNKNOWN;
	if (p->none && p->conf->session.fork_after_authentication) {
		*status = 0; /* -N -f: the forwards are the master's */
		return 0;
	}
	if (!p->none && (r = request(p)) != 0)
		return r;
	if (p->conf->session.fork_after_authentication)
		/* False: the master's session uses our descriptors. */
		background_enter(false);
	if ((r = wait_for_end(p)) != 0)
		log_error("%s", err_text(r));
	/* -W has no status: it ends when one of the two sides does. */
	*status = p->target != NULL && p->ended ? 0 : p->status;
	if (tty)
		log_info("Shared connection to %s closed.",
		    p->conf->host.hostname);
	stdio_restore_blocking();
	return 0;
}
