/* SPDX-License-Identifier: ISC */
#include "channels-timeout.h"
#include "client/session/keystroke-pace.h"
#include "client/sshclient-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/tcp.h"
#include "client/auth/userauth.h"
#include "client/common/uses.h"
#include "client/connect/none-switch.h"
#include "client/connect/tell-end.h"
#include "client/forwards/forwards.h"
#include "client/forwards/from-server.h"
#include "client/forwards/private-forwards.h"
#include "client/hosts/hostcheck.h"
#include "client/hosts/hostlearn.h"
#include "client/metrics-files.h"
#include "client/survive.h"
#include "client/mux/connection-identity.h"
#include "client/why-slow.h"
#include "connection-resume.h"
#include "peer-version.h"

/* ConnectTimeout of a further connection (see sshclient_params.first), if the
 * configuration has none: nobody sees that it hangs, so it must not wait for
 * ever. */
enum { FURTHER_TIMEOUT_S = 20 };

uint32_t
sshclient_peer_traits(const struct sshclient *c)
{
	return kex_peer_traits(sshlogin_kex(c->login));
}

static void
end(struct sshclient *c, int err)
{
	if (c->ended)
		return;
	c->ended = true;
	sshclient_lose_tickets(c);
	c->p.ended(c->p.arg, err);
}

static bool
on_settle_turn(void *arg)
{
	struct sshclient *c = arg;

	if (channels_settle(c->channels) == 0)
		loop_off_turn(c->p.loop, on_settle_turn, c);
	return false;
}

static void
on_ended(void *arg, int err)
{
	struct sshclient *c = arg;

	end(c, err);
	if (connection_is_lost(err) && c->channels != NULL &&
	    channels_settle(c->channels) > 0 &&
	    loop_on_turn(c->p.loop, on_settle_turn, c) != 0)
		fatal("%s", err_text(ERR_NOMEM));
}

static bool
is_complete(void *arg)
{
	const struct sshclient *c = arg;

	return c->channels != NULL && channels_complete(c->channels);
}

/* ---- channels, and what else runs on the connection --------------------- */

static uint32_t
timeout_for(void *arg, const char *kind)
{
	const struct sshclient *c = arg;

	return (uint32_t)conf_channel_timeout(
	    &c->conf->forward.channel_timeouts, kind);
}

static void
set_timeouts(struct sshclient *c)
{
	const struct conf_channel_timeouts *conf =
	    &c->conf->forward.channel_timeouts;
	struct channels_timeouts t = { .arg = c,
		.seconds = conf->n > 0 ? timeout_for : NULL,
		.global_s = (uint32_t)conf_channel_timeout_global(conf) };

	channels_set_timeouts(c->channels, &t);
}

static void
on_use(void *arg, struct channels_use now)
{
	const struct sshclient *c = arg;

	sshlink_set_qos(&c->link, c->conf, now.interactive);
}

static int
prepare_private_forwards(struct sshclient *c)
{
	const struct private_forwards_params params = {
		.conf = c->conf,
		.loop = c->p.loop,
		.channels = c->channels,
		.kex = sshlogin_kex(c->login),
		.login = c->login,
		.proxied = c->p.proxied,
		.uses = c->p.uses,
	};

	return !c->p.private_forwards ? 0 :
	    private_forwards_new(&c->from_server.private_forwards, &params);
}

static int
make_forwards(struct sshclient *c)
{
	const struct forwards_params params = {
		.conf = c->conf,
		.loop = c->p.loop,
		.channels = c->channels,
		.uses = c->p.uses,
		.distrusted = sshlogin_is_distrusted(c->login),
		.proxied = c->p.proxied,
	};

	if (c->p.uses == NULL || c->from_server.forwards != NULL)
		return 0;
	return forwards_new(&c->from_server.forwards, &params);
}

static int
make_channels(struct sshclient *c)
{
	const struct connection_settings settings = {
		.dynamic_windows = c->conf->data.tcp_rcv_buf_poll &&
		    !c->conf->data.hpn_disabled,
		.threads = c->conf->data.cipher_threads,
		.form = (enum packet_form)c->conf->data.cipher_form,
		.deny_keystream = c->conf->data.disable_mtaes != 0,
	};
	struct packet *packet = sshlogin_packet(c->login);
	int r;

	if (c->channels == NULL) {
		r = channels_new(&c->channels, packet, c->p.loop);
		if (r == 0)
			r = prepare_private_forwards(c);
		if (r != 0)
			return r;
		set_timeouts(c);
	}
	connection_apply(&settings, packet, sshlogin_kex(c->login),
	    c->channels);
	return make_forwards(c);
}

static int
on_optimistic(void *arg)
{
	struct sshclient *c = arg;
	int r = make_channels(c);

	return r != 0 ? r : c->p.send_optimistic(c->p.arg);
}

/* Starts to measure TCP if Metrics is configured, and also with -v or for a
 * report: after a download, only the server's numbers tell why it was slow. */
static int
start_metrics(struct sshclient *c)
{
	enum { REPORT_MS = 1000, VERBOSE_MS = 5000 };
	uint64_t quiet_ms = c->p.measured ? REPORT_MS :
	    log_get_level() >= LOG_LVL_VERBOSE ? VERBOSE_MS : 0;

	if ((sshclient_peer_traits(c) & PEER_TELLS_METRICS) == 0)
		quiet_ms = 0;
	/* The files of Metrics are about the first connection only. */
	if (c->p.first != NULL && (!c->p.measured || c->conf->data.metrics))
		return 0;
	return metrics_new(&c->metrics, c->conf, c->p.loop, c->channels,
	    sshlogin_packet(c->login), quiet_ms);
}

static int
start_pace(struct sshclient *c)
{
	const struct keystroke_pace_params params = { .loop = c->p.loop,
		.connection = sshlogin_connection(c->login),
		.packet = sshlogin_packet(c->login),
		.kex = sshlogin_kex(c->login),
		.channels = c->channels,
		.interval_ms = (uint32_t)c->conf->forward.obscure_ms };

	if (params.interval_ms == 0 || c->p.first != NULL)
		return 0;
	return keystroke_pace_new(&c->pace, &params);
}

static int
start(struct sshclient *c)
{
	struct connection *connection = sshlogin_connection(c->login);
	const char *private = NULL;
	int r = make_channels(c);

	if (r == 0 && c->p.first == NULL)
		r = sshlogin_learn_hostkeys(c->login, c->channels,
		    &c->from_server.hostlearn);
	if (c->from_server.hostlearn != NULL && c->p.uses != NULL)
		hostlearn_hold(c->from_server.hostlearn, c->p.loop, c->p.uses);
	c->from_server.conf = c->conf;
	if (r == 0)
		r = from_server_allow(&c->from_server, c->channels);
	if (r != 0)
		return r;
	connection_set_channels(connection, c->channels);
	if (!c->p.proxied)
		connection_set_alive(connection,
		    (uint32_t)c->conf->tcp.server_alive_interval,
		    (uint32_t)c->conf->tcp.server_alive_count_max);
	channels_on_use(c->channels, on_use, c);
	if ((r = start_pace(c)) != 0)
		return r;
	/* Over a master's connection (-O proxy), the master cares for the alive
	 * checks, the ciphers and the metrics. */
	if ((r = c->p.ready(c->p.arg)) != 0 || c->p.proxied)
		return r;
	if (c->link.proxy != 0 && (r = channels_measure_path(c->channels)) != 0)
		return r;
	why_slow_begin(&c->began, sshlogin_packet(c->login));
	private = c->p.tty ? "a terminal" :
	    private_forwards_what(c->from_server.private_forwards);
	r = none_switch_start(&c->none, c->conf, sshlogin_packet(c->login),
	    sshlogin_kex(c->login), private);
	return r != 0 ? r : start_metrics(c);
}

/* ---- the host ------------------------------------------------------------ */

struct span
sshclient_hostkey(const struct sshclient *c)
{
	return kex_hostkey(sshlogin_kex(c->login));
}

/* ---- the login ----------------------------------------------------------- */

static void
on_authenticated(void *arg)
{
	struct sshclient *c = arg;
	int r;

	if (c->p.resume != NULL) {
		sshlogin_hold(c->login);
		(void)!c->p.ready(c->p.arg);
		return;
	}
	c->ready = true;
	c->began_ms = clock_ms();
	sshclient_take_root(c);
	if ((r = start(c)) == 0) {
		sshclient_ask_for_return(c);
		survive_ask(c->survive);
	}
	if (r != 0 && !c->ended) {
		if (r != ERR_DENIED) /* which was logged where it happened */
			log_error("session: %s", err_text(r));
		end(c, r);
	}
}

/* ---- sessions that go on ------------------------------------------------- */

/* True if the connection has done its work. One that has no session but waits
 * for connections to forward may have all channels closed. */
static bool
is_over(struct sshclient *c)
{
	const struct uses *u = c->p.uses;

	return is_complete(c) &&
	    (u == NULL || u->count[USE_NO_SESSION] + u->count[USE_MUX_CLIENT] +
		    u->count[USE_SHARING] + u->count[USE_TUNNEL] == 0);
}

static bool
on_lost(void *arg, int err)
{
	struct sshclient *c = arg;

	return !is_over(c) && survive_begin(c->survive, err);
}

/* Makes the object for sessions that survive, if that is wanted. */
static void
prepare_survive(struct sshclient *c)
{
	const struct survive_params params = { .client = c,
		.conf = c->conf,
		.loop = c->p.loop,
		.login = c->login,
		.tty = c->p.tty,
		.waits = c->p.waits,
		.arg = c->p.arg };

	if (c->p.survives && c->conf->tcp.survive && !c->p.proxied &&
	    !sshlink_is_single(c->conf))
		c->survive = survive_new(&params);
}

int
sshclient_take_over(struct sshclient *c, struct sshclient *fresh,
    uint64_t received)
{
	struct sshlink link = c->link;
	int r = sshlogin_resume(c->login, fresh->login, received);

	c->link = fresh->link;
	fresh->link = link;
	fresh->ended = true;
	return r;
}

void
sshclient_typed(struct sshclient *c)
{
	survive_typed(c->survive);
}

bool
sshclient_is_proxied(const struct sshclient *c)
{
	return c->link.proxy != 0;
}

void
sshclient_close_lost(struct sshclient *c)
{
	sshlink_drop(&c->link);
}

void
sshclient_give_up(struct sshclient *c, int err)
{
	connection_give_up(sshlogin_connection(c->login), err);
}

static int
on_rekeyed(void *arg)
{
	struct sshclient *c = arg;

	return none_switch_rekeyed(&c->none, c->p.need_none);
}

/* ---- life --------------------------------------------------------------- */

static void
be_quiet(struct sshclient *c)
{
	const struct expected_login *e = c->p.first->expected;

	c->quiet = *c->p.conf;
	c->quiet.auth.batch_mode = 1;
	c->quiet.known.update_host_keys = CLIENT_ASK_NO;
	c->quiet.algs.warn_weak_crypto = CLIENT_WEAK_NO;
	/* The hpnssh processes that go through jump hosts must not ask the user
	 * either. */
	c->quiet.auth.batch_given = true;
	if (c->quiet.log.verbosity == 0)
		c->quiet.log.verbosity = -1;
	if (c->p.resume != NULL)
		c->quiet.tcp.connect_timeout = c->p.resume_wait_s;
	if (c->quiet.tcp.connect_timeout <= 0)
		c->quiet.tcp.connect_timeout = FURTHER_TIMEOUT_S;
	if (e != NULL) {
		c->quiet.host.user = e->user;
		/* This connection has to show the first one's host key. An
		 * exchange by GSSAPI may do without any host key. */
		c->quiet.auth.gssapi_key_exchange = 0;
	}
	c->conf = &c->quiet;
}

/* Sets the host key and the login that a further connection must have: those of
 * the first connection. */
static void
hold_to(const struct sshclient *first, struct sshlogin_params *login)
{
	login->first = first->expected != NULL ?
	    first->expected->hostcheck : sshlogin_hostcheck(first->login);
	login->login_by =
	    first->expected != NULL ? first->expected->login : NULL;
}

/* Has the first login use a ticket of an earlier connection, or a grant. The
 * host of a grant is known by the key in the grant, not by files of this
 * user. */
static int
log_in_by(struct sshclient *c, const struct login_ticket *t,
    struct sshlogin_params *login)
{
	int r = 0;

	c->tickets.back = *t;
	c->tickets.lost = true;
	login->tickets = &c->tickets;
	if (t->kind == LOGIN_TICKET_GRANT)
		r = hostcheck_new_vouched(&c->vouched, c->conf, "", 0,
		    t->hostkey);
	login->first = c->vouched;
	return r;
}

int
sshclient_new(struct sshclient **out, const struct sshclient_params *params)
{
	struct sshclient *c = xcalloc(1, sizeof *c);
	struct sshclient *first = params->first;
	struct sshlogin_params login = {
		.link = &c->link,
		.proxied = params->proxied,
		.watched = params->watched,
		.proxy_may_ask = params->proxy_may_ask,
		.loop = params->loop,
		.arg = c,
		.send_optimistic =
		    params->send_optimistic != NULL ? on_optimistic : NULL,
		.authenticated = on_authenticated,
		.rekeyed = on_rekeyed,
		.complete = is_complete,
		.lost = params->survives ? on_lost : NULL,
		.resume = params->resume,
		.ended = on_ended,
	};
	int r = 0;

	c->p = *params;
	c->conf = params->conf;
	sshlink_adopt(&c->link, -1);
	if (params->proxied) {
		sshlink_adopt(&c->link, params->proxy_fd);
	} else if (first != NULL) {
		be_quiet(c);
		login.quiet = true;
		login.keys_only = params->keys_only;
		login.secret = &first->secret;
		login.tickets = &first->tickets;
		hold_to(first, &login);
		r = sshlink_open_further(&c->link, &first->link, c->conf);
	} else {
		if (params->keep_answer)
			login.secret = &c->secret;
		r = params->back != NULL && params->back->kind != 0 ?
		    log_in_by(c, params->back, &login) : 0;
		if (r == 0)
			r = sshlink_open(&c->link, params->conf);
	}
	login.conf = c->conf;
	/* The link is connected by now: tell the caller of a lost connection by
	 * ERR_CLOSED, as the description of sshclient_new() says. */
	if (r == 0 && (r = sshlogin_new(&c->login, &login)) != 0 &&
	    connection_is_lost(r))
		r = ERR_CLOSED;
	if (r != 0) {
		sshclient_free(c);
		return r;
	}
	prepare_survive(c);
	*out = c;
	return 0;
}

static void
free_expected(struct expected_login *e)
{
	if (e == NULL)
		return;
	hostcheck_free(e->hostcheck);
	free(e->user);
	free(e->login);
	free(e);
}

static int
stand_in(struct sshclient *c, const struct connection_identity *identity)
{
	struct expected_login *e = c->expected = xcalloc(1, sizeof *e);
	int r = sshlink_set_address(&c->link, identity->address,
	    identity->port);

	e->user = xstrdup(identity->user);
	e->login = xstrdup(identity->login);
	return r != 0 ? r :
	    hostcheck_new_vouched(&e->hostcheck, c->conf, identity->address,
		identity->port, buf_span(&identity->host_key));
}

int
sshclient_new_by_identity(struct sshclient **out,
    const struct sshclient_params *params,
    const struct connection_identity *identity)
{
	struct sshclient *c = xcalloc(1, sizeof *c);
	int r;

	c->p = *params;
	c->conf = params->conf;
	sshlink_adopt(&c->link, -1);
	if ((r = stand_in(c, identity)) != 0) {
		sshclient_free(c);
		return r;
	}
	*out = c;
	return 0;
}

bool
sshclient_measure(const struct sshclient *c, struct why_slow *out, bool limits)
{
	uint64_t at_ms = 0;
	const struct tcp_numbers *remote = metrics_remote(c->metrics, &at_ms);

	if (!c->ready || c->login == NULL ||
	    !why_slow_measure(out, &c->began, sshlogin_packet(c->login),
		c->channels, remote, at_ms, limits))
		return false;
	out->fixed_windows = c->conf->data.hpn_disabled ||
	    !c->conf->data.tcp_rcv_buf_poll;
	return true;
}

const char *
sshclient_peer(const struct sshclient *c)
{
	return c->login != NULL ? kex_id_server(sshlogin_kex(c->login)) : NULL;
}

static void
tell_why_slow(const struct sshclient *c)
{
	struct why_slow w;

	if (log_get_level() >= LOG_LVL_VERBOSE &&
	    sshclient_measure(c, &w, true))
		why_slow_log(&w);
}

void
sshclient_free(struct sshclient *c)
{
	if (c == NULL)
		return;
	if (c->p.first == NULL && !c->p.proxied)
		tell_why_slow(c);
	sshclient_lose_tickets(c);
	survive_free(c->survive);
	if (c->login != NULL)
		sshlogin_disconnect(c->login);
	loop_off_turn(c->p.loop, on_settle_turn, c);
	metrics_free(c->metrics);
	private_forwards_free(c->from_server.private_forwards);
	keystroke_pace_free(c->pace);
	forwards_free(c->from_server.forwards);
	channels_free(c->channels);
	hostlearn_free(c->from_server.hostlearn);
	sshlogin_free(c->login);
	sshlink_close(&c->link);
	free_expected(c->expected);
	hostcheck_free(c->vouched);
	prompt_free(c->secret.answer);
	login_tickets_clear(&c->tickets);
	free(c);
}

bool
sshclient_is_predictable(const struct sshclient *c)
{
	return sshlogin_is_predictable(c->login);
}

int
sshclient_log_in(struct sshclient *c)
{
	return sshlogin_log_in(c->login);
}

bool
sshclient_is_answered(const struct sshclient *c)
{
	return sshlogin_answer_ms(c->login) != 0;
}

bool
sshclient_was_refused(const struct sshclient *c)
{
	const struct userauth *user = c->login != NULL ?
	    sshlogin_userauth(c->login) : NULL;

	return user != NULL && userauth_was_refused(user);
}

enum sshclient_further
sshclient_further(struct sshclient *c)
{
	switch (c->secret.effort) {
	case USERAUTH_SILENT:
		/* A proxy command may have asked the user, and another process
		 * may have used keys that this one does not have: neither is
		 * known here. */
		return c->link.proxy != 0 || c->expected != NULL ?
		    SSHCLIENT_FURTHER_POSSIBLE : SSHCLIENT_FURTHER_LIKELY;
	case USERAUTH_ONE_ANSWER:
		return SSHCLIENT_FURTHER_POSSIBLE;
	case USERAUTH_INTERACTIVE:
		break;
	}
	return sshclient_further_by_ticket(c);
}

void
sshclient_forget_answer(struct sshclient *c)
{
	if (c->secret.answer == NULL)
		return;
	prompt_free(c->secret.answer);
	c->secret = (struct userauth_secret){ .effort =
						  USERAUTH_INTERACTIVE };
}

int
sshclient_tell_identity(const struct sshclient *c,
    struct connection_identity *out)
{
	const struct hostcheck *host = sshlogin_hostcheck(c->login);
	const struct userauth *user = sshlogin_userauth(c->login);
	struct span key;

	*out = (struct connection_identity){ 0 };
	/* The identity has an address, which a connection through a proxy does
	 * not have. */
	if (c->link.address == NULL || host == NULL || user == NULL ||
	    hostcheck_distrusted(host) || !userauth_can_be_repeated(user))
		return ERR_UNSUPPORTED;
	key = hostcheck_accepted(host);
	out->login = userauth_key_hint(user);
	if (key.len == 0 || out->login == NULL)
		return ERR_UNSUPPORTED;
	buf_put(&out->host_key, key.p, key.len);
	out->address = xstrdup(c->link.address);
	out->port = c->link.port;
	out->user = xstrdup(c->conf->host.user);
	out->rtt_us = tcp_rtt_us(c->link.fd);
	return buf_err(&out->host_key);
}

void
sshclient_tell_transferred(const struct sshclient *c)
{
	if (c->began_ms != 0 && !c->p.proxied)
		tell_transferred(sshlogin_packet(c->login),
		    clock_ms() - c->began_ms);
}

struct channels *
sshclient_channels(const struct sshclient *c)
{
	return c->channels;
}

bool
sshclient_is_distrusted(const struct sshclient *c)
{
	return sshlogin_is_distrusted(c->login);
}

struct forwards *
sshclient_forwards(const struct sshclient *c)
{
	return c->from_server.forwards;
}

int
sshclient_fd(const struct sshclient *c)
{
	return c->link.fd;
}

void
sshclient_leave_link(struct sshclient *c)
{
	sshlink_close_fds(&c->link);
}

bool
sshclient_leave_none(struct sshclient *c)
{
	return none_switch_leave(&c->none);
}

void
sshclient_fill(const struct sshclient *c, struct session_params *s)
{
	s->conf = c->conf;
	s->loop = c->p.loop;
	s->packet = sshlogin_packet(c->login);
	s->kex = sshlogin_kex(c->login);
	s->channels = c->channels;
	s->private_forwards = c->from_server.private_forwards;
	s->forwards = c->from_server.forwards;
	s->peer_traits = sshclient_peer_traits(c);
	s->quiet = c->p.first != NULL;
	s->began_ms = c->began_ms;
	/* Even if this program takes the data, standard error of the server's
	 * program goes to the user. */
	if (s->io != NULL)
		s->stdio.err = STDERR_FILENO;
}
