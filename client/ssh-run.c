/* SPDX-License-Identifier: ISC */
#include "client/ssh-run.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/called.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "channels.h"
#include "client/common/tty.h"
#include "client/common/uses.h"
#include "client/forwards/forwards.h"
#include "client/forwards/tunnel.h"
#include "client/mux/sharing-roles.h"
#include "client/session/background.h"
#include "client/session/client-session.h"
#include "client/session/local-command.h"
#include "client/session/standard-streams.h"
#include "client/sshclient.h"
#include "connection.h"
#include "forward/stdio-forward.h"
#include "peer-version.h"

enum { EXIT_ERROR = 255 };

/* One run of hpnssh. It is the arg of all callbacks in this file. */
struct ssh_run {
	struct client_conf *conf;
	const struct forward_endpoint *through; /* -W; or NULL */
	const char *remote;
	bool tty;
	bool proxied; /* use a master's connection (-O proxy), over proxy_fd */
	int proxy_fd;

	struct loop *loop;
	struct sshclient *client;
	struct session *session;
	struct stdio_forward *forward; /* -W */
	struct tunnel *tunnel;	       /* -w */
	struct uses uses; /* when the last use ends, so does the run */
	struct sharing sharing;
	/* go_on() waits for logged_in, and for the other two only if
	 * waits_for_forwards(). */
	bool logged_in, forwards_begun, tunnel_begun;
	bool gone_on, gave_up;
	bool session_ended; /* the session has ended; status is its exit
			     * status */
	bool lost;	    /* the connection has ended */
	int status;
};

static void
stop(struct ssh_run *p, int status)
{
	p->status = status;
	loop_stop(p->loop);
}

/* A session that is open does not end together with a connection that was lost:
 * on_session_ended() follows once its output is written, with the exit status
 * if the server had sent that before. */
static void
on_connection_ended(void *arg, int err)
{
	struct ssh_run *p = arg;

	p->lost = true;
	if (p->sharing.master != NULL)
		mux_master_lost(p->sharing.master);
	if (connection_is_lost(err) &&
	    ((p->session != NULL && session_channel(p->session) != NULL) ||
		(p->sharing.master != NULL &&
		    mux_master_is_used(p->sharing.master)))) {
		forwards_stop_listening(sshclient_forwards(p->client));
		return;
	}
	stop(p, p->session_ended ? p->status : EXIT_ERROR);
}

/* Called when the connection is lost (waits true), and when its sessions go on
 * over another one. */
static void
on_waits(void *arg, bool waits)
{
	const struct ssh_run *p = arg;

	if (p->session != NULL)
		session_waits(p->session, waits);
	if (p->sharing.master != NULL)
		mux_master_waits(p->sharing.master, waits);
}

static void
on_typed(void *arg)
{
	const struct ssh_run *p = arg;

	sshclient_typed(p->client);
}

static void
on_unused(void *arg)
{
	const struct ssh_run *p = arg;

	loop_stop(p->loop);
}

static void
on_session_ended(void *arg)
{
	struct ssh_run *p = arg;

	p->session_ended = true;
	/* Give the terminal back now: mux clients and forwarded connections may
	 * keep this process running for long. */
	tty_leave_raw();
	/* p->session is still NULL if the session was refused inside of
	 * session_new(). */
	p->status = p->session != NULL ? session_status(p->session) :
					 EXIT_ERROR;
	if (p->lost && (p->sharing.master == NULL ||
	    !mux_master_is_used(p->sharing.master)))
		loop_stop(p->loop); /* no mux client needs the loop */
	uses_end(&p->uses, USE_SESSION);
}

/* The target of -W sends no more. Whoever reads our standard output must see
 * its end now; closing the descriptor is not enough where standard input is the
 * same socket, so that direction is shut down. */
static void
on_forward_eof(void *arg)
{
	(void)arg;
	(void)shutdown(STDOUT_FILENO, SHUT_WR);
	stdio_to_null(STDOUT_FILENO);
}

static void
on_forward_ended(void *arg, bool failed)
{
	struct ssh_run *p = arg;

	p->status = failed ? EXIT_ERROR : 0;
	uses_end(&p->uses, USE_STDIO_FORWARD);
}

/* A signal asks us to end. For SIGTERM, a connection without a session (-N)
 * returns 0: it runs until it is stopped, so the user has got what was
 * wanted. */
static void
on_stop_signal(void *arg, int signo)
{
	struct ssh_run *p = arg;

	log_verbose("Ended by signal %d.", signo);
	stop(p, signo == SIGTERM && p->uses.count[USE_NO_SESSION] > 0 ?
		0 : EXIT_ERROR);
}

static void
on_resize(void *arg, int signo)
{
	struct ssh_run *p = arg;

	(void)signo;
	if (p->session != NULL)
		session_resized(p->session);
	if (p->sharing.master != NULL)
		mux_master_resized(p->sharing.master);
}

static void
catch_signals(struct ssh_run *p)
{
	loop_on_signal_if_wanted(p->loop, SIGHUP, on_stop_signal, p);
	loop_on_signal_if_wanted(p->loop, SIGINT, on_stop_signal, p);
	loop_on_signal_if_wanted(p->loop, SIGQUIT, on_stop_signal, p);
	loop_on_signal_if_wanted(p->loop, SIGTERM, on_stop_signal, p);
	if (p->tty || p->sharing.master != NULL)
		loop_on_signal_if_wanted(p->loop, SIGWINCH, on_resize, p);
}

static int
open_forward(struct ssh_run *p)
{
	struct stdio_forward_params params = {
		.loop = p->loop,
		.channels = sshclient_channels(p->client),
		.target = { .host = p->through->host,
		    .port = p->through->port,
		    .path = p->through->path },
		.eof = on_forward_eof,
		.ended = on_forward_ended,
		.arg = p,
	};

	if (sshclient_is_distrusted(p->client)) {
		log_error("Error: forwarding disabled due to host key check "
			  "failure");
		return ERR_DENIED;
	}
	uses_begin(&p->uses, USE_STDIO_FORWARD);
	return stdio_forward_new(&p->forward, &params);
}

/* With ExitOnForwardFailure, neither the command nor a shell may be started
 * before all forwards and the tunnel are set up. */
static bool
waits_for_forwards(const struct ssh_run *p)
{
	return p->conf->forward.exit_on_failure &&
	    (p->conf->forward.local.n > 0 || p->conf->forward.remote.n > 0 ||
		tunnel_is_wanted(p->conf));
}

/*
 * Opens what the user wants: -W, a session, or nothing (-N). optimistic: the
 * messages leave before the login has succeeded.
 *
 * An optimistic session has to be the first channel of the connection, because
 * only then its number at the server is known in advance. The requests for
 * remote forwards (-R) follow at once, in front of the requests that start the
 * command, which may use those forwards. If the session has to wait for the
 * forwards, the requests for these leave first, so that their answers arrive
 * before the session is opened.
 */
static int
open_session(struct ssh_run *p, bool optimistic)
{
	struct session_params params = {
	    .command = p->remote,
	    .subsystem =
		p->conf->session.session_type == CLIENT_SESSION_SUBSYSTEM,
	    .tty = p->tty,
	    .attach_later = true,
	    .stdio = session_stdio_own(),
	    .ended = on_session_ended,
	    .typed = on_typed,
	    .arg = p,
	};
	int r = 0;

	sshclient_fill(p->client, &params);
	if (optimistic && waits_for_forwards(p))
		forwards_ask_early(sshclient_forwards(p->client));
	if (p->through != NULL) {
		r = open_forward(p);
	} else if (p->conf->session.session_type != CLIENT_SESSION_NONE) {
		uses_begin(&p->uses, USE_SESSION);
		r = session_new(&p->session, &params);
	} else {
		uses_begin(&p->uses, USE_NO_SESSION);
	}
	if (r == 0 && optimistic && !waits_for_forwards(p)) {
		forwards_ask_early(sshclient_forwards(p->client));
		if (p->session != NULL)
			session_open_optimistically(p->session);
	}
	/* Have the server refuse further sessions: this connection needs none,
	 * so only somebody who took it over would open one. */
	if (r == 0 && (params.peer_traits & PEER_KNOWS_EOW) != 0 &&
	    sharing_is_off(&p->sharing))
		r = channels_global_request(params.channels,
		    "no-more-sessions@openssh.com", NULL, NULL, NULL);
	return r;
}

/* The first request will probably authenticate the user, so the requests of the
 * session are sent right behind it, without waiting for the answer. */
static int
on_optimistic(void *arg)
{
	struct ssh_run *p = arg;

	/* With a tunnel nothing is sent early: its channel has to be opened
	 * before the session, whose program finds the tunnel in SSH_TUNNEL. */
	if (tunnel_is_wanted(p->conf))
		return 0;
	if (!p->sharing.keeps && (p->through != NULL ||
	    p->conf->session.session_type != CLIENT_SESSION_NONE))
		return open_session(p, true);
	forwards_ask_early(sshclient_forwards(p->client));
	return 0;
}

/* Connects the session or -W with the standard descriptors. Until the login has
 * succeeded they were left alone. */
static void
attach(struct ssh_run *p)
{
	if (p->session != NULL)
		session_attach(p->session);
	if (p->forward == NULL)
		return;
	stdio_set_nonblock();
	stdio_forward_attach(p->forward, STDIN_FILENO, STDOUT_FILENO);
}

/* ---- connection sharing ------------------------------------------------- */

static struct mux_session_client
as_session_client(const struct ssh_run *p)
{
	int type = p->conf->session.session_type;

	return (struct mux_session_client){
		.target = p->through,
		.none = type == CLIENT_SESSION_NONE && p->through == NULL,
		.command = p->remote,
		.subsystem = type == CLIENT_SESSION_SUBSYSTEM,
		.tty = p->tty,
	};
}

static bool
on_client_tty(void *arg)
{
	const struct ssh_run *p = arg;

	return sshclient_leave_none(p->client);
}

static void
on_master_exit(void *arg)
{
	stop(arg, EXIT_ERROR);
}

/* The master stops (-O stop). If it has no session of its own (-N), it ends as
 * soon as its last mux client has ended. */
static void
on_master_stop(void *arg)
{
	struct ssh_run *p = arg;

	if (p->uses.count[USE_NO_SESSION] == 0)
		return;
	p->status = EXIT_ERROR;
	uses_end(&p->uses, USE_NO_SESSION);
}

static void
on_no_client(void *arg)
{
	struct ssh_run *p = arg;

	if (p->lost && (p->session == NULL || p->session_ended))
		stop(p, p->session_ended ? p->status : EXIT_ERROR);
}

/* Runs in the process that stays in the foreground after the master has gone to
 * the background: lets go of everything that belongs to the connection. */
static void
on_left_behind(void *arg)
{
	const struct ssh_run *p = arg;

	forwards_stop_listening(sshclient_forwards(p->client));
	tunnel_free(p->tunnel);
	sshclient_leave_link(p->client);
}

static int
on_tell_identity(void *arg, struct connection_identity *out)
{
	const struct ssh_run *p = arg;

	return sshclient_tell_identity(p->client, out);
}

/* Starts to serve mux clients, if sharing is configured. A master that is kept
 * (ControlPersist) goes to the background here and has no session: the process
 * that stays in the foreground makes the user's session, as a mux client. */
static int
share(struct ssh_run *p)
{
	struct mux_master_params params = {
		.forwards = sshclient_forwards(p->client),
		.uses = &p->uses,
		.arg = p,
		.tell_identity = on_tell_identity,
		.leave_none = on_client_tty,
		.exit = on_master_exit,
		.stop = on_master_stop,
		.typed = on_typed,
		.empty = on_no_client,
	};
	struct mux_session_client client = as_session_client(p);
	int r;

	sshclient_fill(p->client, &params.session);
	r = sharing_serve(&p->sharing, &params);
	if (r != 0 || !p->sharing.keeps)
		return r;
	client.has_forwards = true;
	r = sharing_go_to_background(&p->sharing, p->loop, &client,
	    on_left_behind, p);
	p->tty = false;
	p->status = 0;
	return r;
}

/* Runs LocalCommand, starts sharing, goes to the background and takes the
 * standard descriptors, once the login (and the forwards, where they have to be
 * waited for) are done. Does nothing before that, and nothing when called
 * again. */
static int
go_on(struct ssh_run *p)
{
	bool kept = p->sharing.keeps;
	int r;

	if (p->gone_on || !p->logged_in ||
	    (!(p->forwards_begun && p->tunnel_begun) &&
		waits_for_forwards(p)))
		return 0;
	p->gone_on = true;
	if ((r = local_command_run(p->conf)) < 0 || (r = share(p)) != 0)
		return r;
	if (p->sharing.keeps) {
		catch_signals(p);
		return 0;
	}
	if (kept && (r = open_session(p, false)) != 0)
		return r;
	if (p->conf->session.stdin_null ||
	    p->conf->session.fork_after_authentication)
		stdio_to_null(STDIN_FILENO);
	if (p->conf->session.fork_after_authentication)
		background_enter(p->session == NULL && p->through == NULL);
	catch_signals(p);
	attach(p);
	return 0;
}

/* Ends the run because a forward or tunnel that must not fail has failed. The
 * server has not been asked to run anything yet, so the session is dropped
 * without a message to it. */
static void
give_up(struct ssh_run *p)
{
	session_free(p->session);
	p->session = NULL;
	p->gave_up = true;
	stop(p, EXIT_ERROR);
}

static void
on_forwards_begun(void *arg, bool failed)
{
	struct ssh_run *p = arg;

	p->forwards_begun = true;
	if (failed || go_on(p) != 0)
		give_up(p);
}

static void
on_tunnel_begun(void *arg, bool failed)
{
	struct ssh_run *p = arg;

	p->tunnel_begun = true;
	if (failed || go_on(p) != 0)
		give_up(p);
}

static void
begin_tunnel(struct ssh_run *p)
{
	const struct tunnel_params params = {
		.conf = p->conf,
		.loop = p->loop,
		.channels = sshclient_channels(p->client),
		.uses = &p->uses,
		.distrusted = sshclient_is_distrusted(p->client),
		.arg = p,
		.done = on_tunnel_begun,
	};

	if (tunnel_is_wanted(p->conf))
		tunnel_new(&p->tunnel, &params);
	else
		p->tunnel_begun = true;
}

static int
on_ready(void *arg)
{
	struct ssh_run *p = arg;
	int r = 0;

	log_debug("Entering interactive session.");
	forwards_add_configured(sshclient_forwards(p->client),
	    on_forwards_begun, p);
	if (!p->gave_up)
		begin_tunnel(p);
	if (p->gave_up)
		return 0;
	if (p->session == NULL && p->forward == NULL && !p->sharing.keeps)
		r = open_session(p, false);
	p->logged_in = true;
	return r != 0 ? r : go_on(p);
}

/* ---- from beginning to end ---------------------------------------------- */

static int
connect_and_run(struct ssh_run *p)
{
	struct sshclient_params params = {
		.conf = p->conf,
		.tty = p->tty,
		.proxied = p->proxied,
		.proxy_fd = p->proxy_fd,
		.uses = &p->uses,
		.arg = p,
		/* A shared connection may get sessions from mux clients, even
		 * if this process makes none. */
		.private_forwards = !sharing_is_off(&p->sharing) ||
		    (p->through == NULL &&
			p->conf->session.session_type != CLIENT_SESSION_NONE),
		.survives = true,
		.waits = on_waits,
		.send_optimistic = on_optimistic,
		.ready = on_ready,
		.ended = on_connection_ended,
	};
	int r;

	p->status = EXIT_ERROR;
	p->uses = (struct uses){ .unused = on_unused, .arg = p };
	if (p->conf->host.refuse_connection != NULL) {
		log_error("%s: %s",
		    called_ssh(), p->conf->host.refuse_connection);
		return EXIT_ERROR;
	}
	fd_raise_limit(); /* a forwarded connection takes at least two */
	if ((p->loop = loop_new()) == NULL) {
		log_error("%s", err_text(ERR_SYSTEM));
		return EXIT_ERROR;
	}
	params.loop = p->loop;
	if (sshclient_new(&p->client, &params) != 0)
		goto out;
	if ((r = loop_run(p->loop)) != 0) {
		log_error("%s", err_text(r));
		p->status = EXIT_ERROR;
	}
	tty_leave_raw();
	sshclient_tell_transferred(p->client);
out:
	sharing_stop(&p->sharing);
	sharing_clear(&p->sharing);
	session_free(p->session);
	stdio_forward_free(p->forward);
	tunnel_free(p->tunnel);
	sshclient_free(p->client);
	loop_free(p->loop);
	if (p->tty && p->session_ended)
		log_info(
		    "Connection to %s closed.", p->conf->host.hostname);
	return p->status;
}

/* Uses the connection of a master, if sharing is configured and a master is
 * running; else makes a connection. */
int
ssh_run(const struct ssh_run_params *params)
{
	struct ssh_run run = {
		.conf = params->conf,
		.through = params->through,
		.remote = params->remote,
		.tty = params->tty,
		.proxied = params->proxied,
		.proxy_fd = -1,
	};
	struct mux_session_client client;
	int status = EXIT_ERROR;

	if (sharing_init(&run.sharing, run.conf) != 0)
		return EXIT_ERROR;
	if (run.proxied) {
		if (sharing_proxy(&run.sharing, &run.proxy_fd) == 0)
			return connect_and_run(&run);
		sharing_clear(&run.sharing);
		return status;
	}
	client = as_session_client(&run);
	if (!sharing_use_master(&run.sharing, &client, &status))
		return connect_and_run(&run);
	sharing_clear(&run.sharing);
	return status;
}
