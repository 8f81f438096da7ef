/* SPDX-License-Identifier: ISC */
#include "server/session/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels.h"
#include "cipher.h"
#include "connection.h"
#include "forward/forwarded.h"
#include "kex.h"
#include "packet.h"
#include "server/kexlog.h"
#include "server/privs.h"
#include "server/session/channel-use.h"
#include "server/session/chroot.h"
#include "server/session/forward-fields.h"
#include "server/session/forward-listen.h"
#include "server/session/forward-tunnel.h"
#include "server/session/hostprove.h"
#include "server/session/none-allowed.h"
#include "server/session/services.h"
#include "server/session/session-calls.h"
#include "server/session/session-events.h"
#include "server/session/session-share.h"
#include "server/session/session-survive.h"
#include "server/session/session.h"

struct serve {
	const struct serve_params *params;
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct connection *connection;
	struct channels *channels;
	struct channel_use *use;
	struct sessions *sessions;
	struct session_events *events; /* NULL: there is no EventLog */
	struct session_share *share;   /* share of the limited rates; NULL: no
				        * rate is limited */
	struct session_survive *survive; /* NULL: the session ends with its
					  * connection */
	struct hostprove *hostprove;
	struct service_owners owners; /* the state of the services' handlers */
	struct services *services;
	struct loop_fd *monitor_watch;
	int status; /* exit status of this process */
	/* Text of /etc/nologin, read before chroot(); or NULL. */
	char *nologin;
};

static int
on_hostkey_blob(void *arg, const char *alg, struct buf *out)
{
	const struct serve *sv = arg;
	struct span blob;
	int r = hostkeys_blob(sv->params->keys, alg, &blob);

	if (r == 0)
		buf_put(out, blob.p, blob.len);
	return r;
}

static int
on_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	const struct serve *sv = arg;

	return monitor_sign_rekey(sv->params->monitor_fd, alg, data, signature);
}

static int
on_gss_step(void *arg, struct span token, struct buf *out, bool *complete)
{
	const struct serve *sv = arg;

	return monitor_call_gss_step(sv->params->monitor_fd,
	    MONITOR_GSS_STEP_REKEY, token, out, complete);
}

static int
on_gss_sign(void *arg, struct span hash, struct buf *mic)
{
	const struct serve *sv = arg;

	return monitor_call_gss_sign(sv->params->monitor_fd,
	    MONITOR_GSS_SIGN_REKEY, hash, mic);
}

/* Offers key exchange by GSSAPI; methods NULL: does not. */
static int
offer_gss(struct serve *sv, const char *methods)
{
	const struct kex_gss_hooks hooks = { .arg = sv,
		.step = on_gss_step,
		.sign = on_gss_sign };

	return methods != NULL ? kex_set_gss(sv->kex, &hooks, methods) : 0;
}

static void
on_kex_done(void *arg, bool first)
{
	const struct serve *sv = arg;

	(void)first;
	kexlog_result(sv->kex, sv->params->remote);
}

/* Requests that come after USERAUTH_SUCCESS are ignored (RFC 4252 section
 * 5.1). */
static int
on_auth(void *arg, uint8_t type, struct rd payload)
{
	(void)arg;
	(void)payload;
	return type == SSH_MSG_USERAUTH_REQUEST ? 0 : ERR_PROTOCOL;
}

static void
on_ended(void *arg, int err)
{
	struct serve *sv = arg;
	const struct serve_params *p = sv->params;
	const char *user = p->user->name, *text;
	uint32_t reason = 0;

	if (err == ERR_DISCONNECTED) {
		text = packet_disconnect_text(sv->packet, &reason);
		log_info("Received disconnect from %s:%u: %s", p->peer_text,
		    reason, text);
		log_info("Disconnected from user %s %s", user, p->peer_text);
	} else if (err == ERR_CLOSED) {
		log_info("Connection closed by %s", p->peer_text);
	} else if (err == ERR_TIMEOUT) {
		log_info("Timeout, client not responding from user %s %s",
		    user, p->peer_text);
	} else if (err == ERR_SYSTEM) {
		log_info("Connection reset by %s", p->peer_text);
	} else {
		log_info("Disconnecting user %s %s: %s", user, p->peer_text,
		    err_text(err));
	}
	if (err == ERR_CLOSED || err == ERR_SYSTEM || err == ERR_TIMEOUT)
		monitor_lost(p->monitor_fd);
	loop_stop(sv->loop);
}

/* The monitor sends only answers, which the functions that ask wait for. So
 * when the loop finds the socket readable, the monitor has ended, and this
 * process ends as well. */
static void
on_monitor_gone(void *arg, int fd, int events)
{
	struct serve *sv = arg;

	(void)fd;
	(void)events;
	loop_stop(sv->loop);
}

static void
on_unused(void *arg)
{
	struct serve *sv = arg;

	log_info("terminating inactive connection from user %s %s",
	    sv->params->user->name, sv->params->peer_text);
	sv->status = 255;
	loop_stop(sv->loop);
}

/* A signal ends the process in an orderly way, so that the sockets and files
 * that it made for the connection are removed. */
static void
on_end_signal(void *arg, int signo)
{
	struct serve *sv = arg;

	log_info("Exiting on signal %d", signo);
	sv->status = 255;
	loop_stop(sv->loop);
}

static int
catch_signals(struct serve *sv)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(signals) && r == 0; i++)
		r = loop_on_signal(sv->loop, signals[i], on_end_signal, sv);
	return r;
}

static int
import_state(struct serve *sv)
{
	const struct serve_params *p = sv->params;
	struct rd packet = rd_from_buf(p->packet_state);
	struct rd kex = rd_from_buf(p->kex_state);
	int r;

	if ((r = packet_import(sv->packet, &packet)) != 0 ||
	    (r = kex_import(sv->kex, &kex)) != 0)
		return r;
	buf_clear(p->packet_state);
	buf_clear(p->kex_state);
	return packet_authenticated(sv->packet);
}

static int
offer_services(struct serve *sv)
{
	const struct forwarded_params forwarded = { .loop = sv->loop,
		.channels = sv->channels,
		.family = sv->params->conf->listen.address_family };
	struct service_owners *o = &sv->owners;
	int r;

	*o = (struct service_owners){ .params = sv->params,
		.connection = sv->connection,
		.channels = sv->channels,
		.packet = sv->packet,
		.sessions = sv->sessions,
		.hostprove = sv->hostprove,
		.kex = sv->kex,
		.survive = sv->survive };
	if ((r = forwarded_list_new(&o->forwarded, &forwarded)) != 0)
		return r;
	o->listens = forward_listens_new(sv->loop, o);
	o->tunnels = forward_tunnels_new(sv->loop);
	sessions_set_tunnels(sv->sessions, o->tunnels);
	return services_new(&sv->services, o);
}

static void
apply_settings(struct serve *sv)
{
	const struct server_conf *conf = sv->params->conf;
	const struct connection_settings settings = {
		.dynamic_windows = conf->data.tcp_rcv_buf_poll &&
		    !conf->data.hpn_disabled,
		.threads = conf->data.cipher_threads,
		.form = (enum packet_form)conf->data.cipher_form,
		.deny_keystream = conf->data.disable_mtaes != 0,
	};

	connection_apply(&settings, sv->packet, sv->kex, sv->channels);
}

/* Makes the object for key exchanges over p. The first exchange was made by
 * hpnsshd-auth, and is not noted in the object yet. */
static int
new_kex(void *arg, struct packet *packet, struct kex **out)
{
	struct serve *sv = arg;
	const struct serve_params *p = sv->params;
	const struct kex_hooks hooks = { .arg = sv,
		.hostkey_blob = on_hostkey_blob,
		.sign = on_sign,
		.done = on_kex_done };
	char *algs = hostkeys_algs(p->keys, p->conf->algs.host_key_algorithms);
	const struct kex_proposal mine = {.kex = p->conf->algs.kex_algorithms,
	    .hostkey = algs,
	    .cipher = p->conf->algs.ciphers,
	    .mac = p->conf->algs.macs,
	    .compression = p->conf->algs.compression == SERVER_COMPRESSION_NO
			       ? "none"
			       : "none,zlib@openssh.com"};
	int r = kex_new(out, packet, &hooks, &mine, p->id_local, NULL);

	free(algs);
	return r;
}

static bool
on_lost(void *arg, int err)
{
	const struct serve *sv = arg;

	/* After all sessions have ended and all data has arrived, the client
	 * has no reason to come back. */
	if (sessions_are_over(sv->sessions) && channels_complete(sv->channels))
		return false;
	return session_survive_lost(sv->survive, err);
}

/* Called when the session has lost its connection (waits), or goes on over
 * another one. */
static void
on_waits(void *arg, bool waits)
{
	struct serve *sv = arg;

	sessions_wait(sv->sessions, waits);
	if (waits)
		return;
	apply_settings(sv);
	channel_use_again(sv->use);
}

static void
begin_survive(struct serve *sv)
{
	const struct session_survive_params params = { .serve = sv->params,
		.loop = sv->loop,
		.packet = sv->packet,
		.connection = sv->connection,
		.arg = sv,
		.new_kex = new_kex,
		.waits = on_waits };

	if (session_survive_allowed(sv->params))
		sv->survive = session_survive_new(&params);
}

/* In the flight in which the login succeeds: nobody waits for it. */
static void
tell_client(const struct serve *sv)
{
	const struct strlist *lines = sv->params->client_lines;

	for (size_t i = 0; i < lines->n; i++)
		forward_tell(sv->packet, lines->v[i]);
}

static int
begin(struct serve *sv)
{
	const struct serve_params *p = sv->params;
	const struct connection_hooks hooks = { .arg = sv,
		.auth = on_auth,
		.lost = on_lost,
		.ended = on_ended };
	int r;

	sv->loop = loop_new();
	sv->packet = packet_new(p->socket_fd, p->socket_fd, true);
	if (sv->loop == NULL || sv->packet == NULL)
		fatal("out of memory");
	if ((r = new_kex(sv, sv->packet, &sv->kex)) != 0 ||
	    (r = offer_gss(sv, p->gss_kex)) != 0 ||
	    (r = import_state(sv)) != 0 ||
	    (r = kex_set_moduli(sv->kex, p->conf->listen.moduli_file)) != 0 ||
	    (r = channels_new(&sv->channels, sv->packet, sv->loop)) != 0 ||
	    (r = hostprove_new(&sv->hostprove, sv->channels, sv->kex, p)) !=
		0 ||
	    (r = connection_new(&sv->connection, sv->loop, sv->packet,
		 sv->kex, &hooks)) != 0)
		return r;
	if (p->conf->algs.rekey_limit.bytes != 0 ||
	    p->conf->algs.rekey_limit.seconds != 0)
		packet_set_rekey_limit(sv->packet,
		    p->conf->algs.rekey_limit.bytes,
		    (uint32_t)p->conf->algs.rekey_limit.seconds);
	connection_set_channels(sv->connection, sv->channels);
	apply_settings(sv);
	if ((r = channel_use_new(&sv->use, sv->loop, sv->channels, p,
		 on_unused, sv)) != 0)
		return r;
	none_offer(sv->kex, p->conf);
	sv->sessions = sessions_new(sv->loop, sv->packet, sv->kex, p,
	    sv->nologin);
	sv->events = session_events_new(sv->loop, p->monitor_fd, p->conf);
	session_events_measure(sv->events, sv->packet, p->socket_fd, p->conf);
	sessions_set_events(sv->sessions, sv->events);
	sv->share = session_share_new(sv->loop, sv->channels, p->monitor_fd,
	    p->conf);
	begin_survive(sv);
	tell_client(sv);
	if ((r = offer_services(sv)) != 0 || (r = catch_signals(sv)) != 0)
		return r;
	sv->monitor_watch = loop_watch(sv->loop, p->monitor_fd, LOOP_READ,
	    on_monitor_gone, sv);
	if (p->conf->session.client_alive_interval > 0)
		connection_set_alive(sv->connection,
		    (uint32_t)p->conf->session.client_alive_interval,
		    p->conf->session.client_alive_count_max > 0 ?
			(uint32_t)p->conf->session.client_alive_count_max :
			CONNECTION_ALIVE_NO_END);
	log_debug("Entering interactive session for SSH2.");
	connection_kick(sv->connection);
	return 0;
}

static void
finish(struct serve *sv)
{
	kexlog_throughput(sv->packet, sv->params->remote,
	    clock_ms() - sv->params->began_ms);
	sessions_free(sv->sessions);
	session_events_end(sv->events, sv->packet, sv->params->socket_fd,
	    kex_result(sv->kex)->cipher_rx);
	forwarded_list_free(sv->owners.forwarded);
	forward_listens_free(sv->owners.listens);
	forward_tunnels_free(sv->owners.tunnels);
	log_verbose("Closing connection to %s", sv->params->peer_text);
	session_survive_free(sv->survive);
	connection_free(sv->connection);
	session_share_free(sv->share);
	channel_use_free(sv->use);
	channels_free(sv->channels);
	services_free(sv->services);
	hostprove_free(sv->hostprove);
	kex_free(sv->kex);
	packet_free(sv->packet);
	loop_free(sv->loop);
	free(sv->nologin);
}

/*
 * Becomes the user, after entering the ChrootDirectory if there is one. There,
 * files that libraries read (accounts, modules, time zones) may be written by
 * the user. So all that needs such files is done before; after that, until this
 * process is the user's, it makes only system calls.
 */
static void
become_user(struct serve *sv)
{
	const struct serve_params *p = sv->params;

	if (p->conf->session.chroot_directory != NULL) {
		log_connect();
		sv->nologin = session_nologin(p->user);
		tzset();
		cipher_load_wide_gcm();
		chroot_enter(p->conf->session.chroot_directory, p->user);
	}
	privs_become(p->user);
}

int
serve_run(const struct serve_params *params)
{
	struct serve sv = { .params = params };
	int r;

	become_user(&sv);
	signal(SIGPIPE, SIG_IGN);
	fd_raise_limit();
	cipher_use_wide_gcm();
	if ((r = begin(&sv)) != 0)
		fatal("cannot take the connection over: %s", err_text(r));
	mem_give_back();
	r = loop_run(sv.loop);
	if (r != 0)
		log_error("loop: %s", err_text(r));
	finish(&sv);
	return r == 0 ? sv.status : 255;
}
