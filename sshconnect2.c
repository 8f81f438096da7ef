/* SPDX-License-Identifier: ISC */
#include "sshconnect2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "compat/bsd.h"
#include "crypto/kem.h"
#include "client/connect/gss-kex.h"
#include "client/connect/login-ident.h"
#include "client/hosts/hints.h"
#include "client/hosts/hostcheck.h"
#include "client/hosts/hostlearn.h"
#include "client/connect/tell-end.h"
#include "client/auth/userauth.h"
#include "client/connect/weak-crypto.h"
#include "connection-resume.h"
#include "kex.h"
#include "keys/key.h"
#include "packet.h"
#include "peer-version.h"

enum { LAST_LINE_MAX = 256 };

enum login_state {
	LOGIN_EXCHANGING,     /* identifications, then keys */
	LOGIN_KEYS_ONLY,      /* keys are agreed on; waits for
			       * sshlogin_log_in() */
	LOGIN_AUTHENTICATING, /* the authentication will start at once, or has
			       * started */
	LOGIN_AUTHENTICATED,
	LOGIN_ENDED,
};

struct sshlogin {
	struct sshlogin_params p;
	struct hostcheck *hostcheck;
	struct packet *packet;
	struct kex *kex;
	struct connection *connection;
	struct gss_kex *gss; /* NULL: keys are not exchanged by GSSAPI */
	struct userauth *userauth;
	struct sshlink_watch *watch; /* until the server's identification has
				      * arrived; then NULL */
	struct loop_timer *timeout; /* ConnectTimeout */
	struct loop_timer *auth_timer; /* starts the authentication after the
					* key exchange */
	char *ident, *peer_ident;
	uint64_t began_ms, answer_ms; /* see sshlogin_answer_ms() */
	/* The last line that the server sent in front of its identification,
	 * or in place of one; or NULL. */
	char *last_line;
	/* blob of the host key, and its signature, in the first exchange */
	struct buf host_key, host_signature;
	struct hints_file hints_file; /* path NULL: no hints are kept */
	struct hints hints; /* of the last connection to this host; empty: there
			     * are none */
	enum login_state state;
	bool sent_optimistic; /* p.send_optimistic() was called */
};

/* ---- the end of the connection ------------------------------------------ */

static const char *
peer_name(const struct sshlogin *l)
{
	return l->p.link->address != NULL ? l->p.link->address :
					    l->p.conf->host.hostname;
}

static void
report_end(const struct sshlogin *l, int err)
{
	const struct tell_end t = { .conf = l->p.conf,
		.link = l->p.link,
		.name = peer_name(l),
		.packet = l->packet,
		.kex = l->kex,
		.last_line = l->last_line,
		.identified = l->peer_ident != NULL,
		.authenticated = l->state == LOGIN_AUTHENTICATED };

	tell_end(&t, err);
}

/* With p.quiet, makes all messages from here on debug messages. Returns what
 * log_demote() needs to undo that. */
static bool
demote_log(const struct sshlogin *l)
{
	return log_demote(l->p.quiet);
}

/* Sets hints_file, if it is not set yet and hints are kept. */
static void
find_hints_file(struct sshlogin *l)
{
	const char *file = hostcheck_hints_file(l->hostcheck);

	if (l->hints_file.path == NULL && file != NULL)
		hints_file_init(&l->hints_file, file,
		    hostcheck_name(l->hostcheck));
}

/* Forgets the host's hints if the first exchange failed after a guess. RFC 4253
 * section 7 has servers ignore a wrong guess, but some fail. */
static void
drop_bad_hints(const struct sshlogin *l)
{
	char *kex, *hostkey;
	int r;

	if (l->hints.kex == NULL || l->kex == NULL ||
	    kex_first_done(l->kex) || !kex_peer_first(l->kex, &kex, &hostkey))
		return;
	free(kex);
	free(hostkey);
	r = hints_forget(&l->hints_file);
	if (r != 0)
		log_debug("%s: %s", l->hints_file.path, err_text(r));
}

/* Forgets the user's key of the hints if the server refused it, so that the
 * next time no further connections are started in the expectation that it
 * works. A server may take connections that do not log in for attacks. */
static void
drop_refused_key(struct sshlogin *l)
{
	int r;

	if (l->hints.fingerprint == NULL || l->state == LOGIN_AUTHENTICATED ||
	    l->userauth == NULL || l->p.first != NULL ||
	    !userauth_was_refused(l->userauth))
		return;
	free(l->hints.fingerprint);
	l->hints.fingerprint = NULL;
	r = hints_keep(&l->hints_file, &l->hints);
	if (r != 0)
		log_debug("%s: %s", l->hints_file.path, err_text(r));
}

static void
end(struct sshlogin *l, int err)
{
	bool was_demoted = demote_log(l);

	if (l->state == LOGIN_ENDED)
		goto out;
	drop_bad_hints(l);
	drop_refused_key(l);
	loop_cancel(l->p.loop, l->timeout);
	loop_cancel(l->p.loop, l->auth_timer);
	l->timeout = l->auth_timer = NULL;
	if (connection_is_lost(err) && l->p.complete != NULL &&
	    l->p.complete(l->p.arg))
		log_debug("the server is gone: %s", err_text(err));
	else
		report_end(l, err);
	l->state = LOGIN_ENDED;
	l->p.ended(l->p.arg, err);
out:
	(void)log_demote(was_demoted);
}

static void
on_ended(void *arg, int err)
{
	end(arg, err);
}

static void
on_timeout(void *arg)
{
	struct sshlogin *l = arg;
	bool was_demoted = demote_log(l);

	l->timeout = NULL;
	log_error("Connection to %s port %u timed out before %s.",
	    peer_name(l), l->p.link->port,
	    l->userauth != NULL ? "the user was authenticated" :
				  "the keys were agreed on");
	l->state = LOGIN_ENDED;
	l->p.ended(l->p.arg, ERR_TIMEOUT);
	(void)log_demote(was_demoted);
}

static void
start_limit(struct sshlogin *l)
{
	int seconds = l->p.conf->tcp.connect_timeout;

	loop_cancel(l->p.loop, l->timeout);
	l->timeout = seconds <= 0 || l->state == LOGIN_ENDED ? NULL :
	    loop_after(l->p.loop, (uint64_t)seconds * 1000, on_timeout, l);
}

/* With p.watched, starts ConnectTimeout again: the server has answered, and
 * what this end did after that (perhaps asking the user) is done. */
static void
renew_limit(struct sshlogin *l)
{
	if (l->p.watched && l->state != LOGIN_AUTHENTICATED)
		start_limit(l);
}

/* ---- authentication ----------------------------------------------------- */

static bool
same_text(const char *a, const char *b)
{
	return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Keeps hints for the next connection: the server's first methods, and how the
 * user logged in. */
static void
save_hints(struct sshlogin *l)
{
	struct hints now = { 0 };
	int r;

	/* The first connection keeps the hints for its further connections. */
	if (l->p.first != NULL)
		return;
	/* Hints are only kept if there is a known_hosts. At the first contact
	 * with a host it may just have been made. */
	find_hints_file(l);
	if (l->hints_file.path == NULL || hostcheck_distrusted(l->hostcheck) ||
	    !kex_peer_first(l->kex, &now.kex, &now.hostkey))
		return;
	/* Our order of methods decides. If the server's first method was not
	 * agreed on, it cannot be guessed. */
	if (strcmp(now.kex, kex_result(l->kex)->kex) != 0)
		strlcpy(now.kex, "-", strlen(now.kex) + 1);
	now.fingerprint = userauth_key_hint(l->userauth);
	now.interactive = userauth_effort(l->userauth) != USERAUTH_SILENT;
	if (!same_text(now.kex, l->hints.kex) ||
	    !same_text(now.hostkey, l->hints.hostkey) ||
	    !same_text(now.fingerprint, l->hints.fingerprint) ||
	    now.interactive != l->hints.interactive) {
		r = hints_keep(&l->hints_file, &now);
		if (r != 0)
			log_debug("%s: %s", l->hints_file.path,
			    err_text(r));
	}
	hints_clear(&now);
}

/* Did the expected login (p.login_by) succeed? With another key the server may
 * have other rules for the same user. */
static bool
is_let_in_rightly(const struct sshlogin *l)
{
	char *by;
	bool right;

	if (l->p.login_by == NULL)
		return true;
	by = userauth_key_hint(l->userauth);
	right = same_text(by, l->p.login_by);
	free(by);
	return right;
}

static int
conclude_auth(struct sshlogin *l)
{
	int r;

	if (!is_let_in_rightly(l)) {
		log_error("this connection was let in by another key");
		return ERR_DENIED;
	}
	if (l->sent_optimistic && userauth_has_failure(l->userauth)) {
		/* The server has dropped the messages that arrived before the
		 * user was authenticated: send them again. */
		if ((r = packet_replay(l->packet)) != 0)
			return r;
	} else {
		packet_forget(l->packet);
	}
	if ((r = packet_authenticated(l->packet)) != 0)
		return r;
	l->state = LOGIN_AUTHENTICATED;
	gss_kex_settle(l->gss);
	loop_cancel(l->p.loop, l->timeout);
	l->timeout = NULL;
	tell_authenticated(l->p.conf->host.hostname, peer_name(l),
	    l->p.link, userauth_method(l->userauth));
	save_hints(l);
	l->p.authenticated(l->p.arg);
	return 0;
}

static int
on_auth(void *arg, uint8_t type, struct rd payload)
{
	struct sshlogin *l = arg;
	bool was_demoted;
	int r;

	if (l->userauth == NULL)
		return ERR_PROTOCOL;
	was_demoted = demote_log(l);
	userauth_set_extensions(l->userauth, kex_server_sig_algs(l->kex),
	    kex_peer_hostbound(l->kex));
	(void)rd_u8(&payload); /* type */
	r = userauth_input(l->userauth, type, payload);
	if (r == USERAUTH_UNKNOWN)
		r = connection_unimplemented(l->connection);
	else if (r == USERAUTH_DONE)
		r = conclude_auth(l);
	else if (r == 0 && type != SSH_MSG_USERAUTH_BANNER)
		renew_limit(l);
	(void)log_demote(was_demoted);
	return r;
}

/*
 * May messages of the session be sent right behind the request of the
 * authentication? Not with compression: it begins when the authentication
 * succeeds, so it is not known yet whether they have to be compressed.
 */
static bool
may_send_optimistic(const struct sshlogin *l)
{
	return l->p.send_optimistic != NULL &&
	    userauth_expects_success(l->userauth) &&
	    (kex_peer_traits(l->kex) & PEER_TAKES_AHEAD) != 0 &&
	    !hostcheck_distrusted(l->hostcheck) &&
	    strcmp(kex_result(l->kex)->comp_tx, "none") == 0 &&
	    strcmp(kex_result(l->kex)->comp_rx, "none") == 0;
}

static int
start_auth(struct sshlogin *l)
{
	const uint32_t traits = kex_peer_traits(l->kex);
	struct userauth_params params = {
		.conf = l->p.conf,
		.packet = l->packet,
		.session_id = kex_session_id(l->kex),
		.hostkey = kex_hostkey(l->kex),
		.host_signature = buf_span(&l->host_signature),
		.no_passwords = hostcheck_distrusted(l->hostcheck),
		.in_order = (traits & PEER_ANSWERS_IN_ORDER) != 0,
		.forgives = (traits & PEER_FORGIVES) != 0,
		.address = l->p.link->address,
		.gss_sign = kex_is_gss(l->kex) ? gss_kex_sign : NULL,
		.gss_arg = l->gss,
		.key_hint = l->p.login_by != NULL ? l->p.login_by :
						    l->hints.fingerprint,
		.hinted_only = l->p.login_by != NULL,
		.secret = l->p.secret,
		.tickets = l->p.tickets,
		.resume = l->p.resume,
	};
	int r = userauth_new(&l->userauth, &params);

	if (r != 0)
		return r;
	userauth_set_extensions(l->userauth, kex_server_sig_algs(l->kex),
	    kex_peer_hostbound(l->kex));
	if ((r = userauth_start(l->userauth)) != 0 || !may_send_optimistic(l))
		return r;
	l->sent_optimistic = true;
	packet_record(l->packet, true);
	r = l->p.send_optimistic(l->p.arg);
	packet_record(l->packet, false);
	return r;
}

static void
on_auth_timer(void *arg)
{
	struct sshlogin *l = arg;
	bool was_demoted = demote_log(l);
	int r;

	l->auth_timer = NULL;
	if (l->state != LOGIN_ENDED && (r = start_auth(l)) != 0)
		end(l, r);
	else
		renew_limit(l);
	(void)log_demote(was_demoted);
}

/* Starts the authentication in the next turn of the loop. Then the packets that
 * arrived together with NEWKEYS have been read, among which EXT_INFO may be. */
static void
start_auth_soon(struct sshlogin *l)
{
	l->state = LOGIN_AUTHENTICATING;
	l->auth_timer = loop_after(l->p.loop, 0, on_auth_timer, l);
	if (l->auth_timer == NULL)
		end(l, ERR_NOMEM);
}

/* ---- key exchange ------------------------------------------------------- */

static int
on_hostkey(void *arg, struct span blob, const char *alg)
{
	struct sshlogin *l = arg;
	bool was_demoted = demote_log(l);
	int r;

	(void)alg;
	r = hostcheck_key(l->hostcheck, blob);
	/* The check may have asked the user or run a command, so the time limit
	 * starts again. */
	if (l->timeout != NULL)
		start_limit(l);
	(void)log_demote(was_demoted);
	return r;
}

static int
on_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span signature)
{
	struct sshlogin *l = arg;
	struct key *k;
	int r = key_from_blob(blob, &k);

	if (r != 0)
		return r;
	r = key_serves(k, alg) ? key_verify(k, alg, data, signature) :
				 ERR_KEY_TYPE;
	key_free(k);
	if (r == 0 && buf_len(&l->host_signature) == 0) {
		buf_put(&l->host_key, blob.p, blob.len);
		buf_put(&l->host_signature, signature.p, signature.len);
		if ((r = buf_err(&l->host_key)) == 0)
			r = buf_err(&l->host_signature);
	}
	return r;
}

static void
on_kex_done(void *arg, bool first)
{
	struct sshlogin *l = arg;
	const struct kex_result *k = kex_result(l->kex);

	int r = 0;

	if (!first) {
		log_debug("new keys are in use");
		if (l->p.rekeyed != NULL)
			r = l->p.rekeyed(l->p.arg);
		if (r != 0)
			end(l, r);
		return;
	}
	/* From here on the login may wait for the user, so there is no limit;
	 * but with BatchMode nobody is asked, except that with keys_only the
	 * first login may wait for the user. */
	if (l->p.keys_only || (!l->p.conf->auth.batch_mode && !l->p.watched)) {
		loop_cancel(l->p.loop, l->timeout);
		l->timeout = NULL;
	}
	weak_crypto_warn(l->p.conf, k);
	if (l->p.keys_only)
		l->state = LOGIN_KEYS_ONLY;
	else
		start_auth_soon(l);
}

int
sshlogin_log_in(struct sshlogin *l)
{
	bool was_demoted = demote_log(l);
	int r = hostcheck_confirm(l->hostcheck);

	(void)log_demote(was_demoted);
	if (r != 0)
		return r;
	l->p.keys_only = false;
	if (l->state == LOGIN_KEYS_ONLY) {
		if (l->p.conf->auth.batch_mode || l->p.watched)
			start_limit(l);
		start_auth_soon(l);
	}
	return 0;
}

uint64_t
sshlogin_answer_ms(const struct sshlogin *l)
{
	return l->peer_ident != NULL ? MAX(l->answer_ms, 1) : 0;
}

bool
sshlogin_is_predictable(const struct sshlogin *l)
{
	return l->hints.fingerprint != NULL && !l->hints.interactive &&
	    !hostcheck_distrusted(l->hostcheck);
}

bool
sshlogin_is_distrusted(const struct sshlogin *l)
{
	return l->hostcheck != NULL && hostcheck_distrusted(l->hostcheck);
}

/*
 * Our key exchange methods. A guess is right only if both ends have the same
 * first method, so the server's first one (from the hints) goes to the front of
 * ours. This is done only for a post-quantum method: with another one in front,
 * we would not notice that the server has got a post-quantum method since.
 */
static char *
kex_list(const struct sshlogin *l)
{
	const char *list = l->p.conf->algs.kex_algorithms, *hint = l->hints.kex;
	const struct kem_alg *alg = hint != NULL ? kem_by_name(hint) : NULL;

	return hints_put_first(list,
	    alg != NULL && alg->post_quantum ? hint : NULL);
}

static char *
hostkey_list(const struct sshlogin *l)
{
	char *list = hostcheck_algorithms(l->hostcheck), *out;
	const char *hint = l->hints.hostkey;

	if (hint == NULL || l->p.conf->algs.host_key_order_given ||
	    !hostcheck_knows(l->hostcheck, hint))
		return list;
	out = hints_put_first(list, hint);
	free(list);
	return out;
}

/* A key exchange by GSSAPI has gone on, or failed (err). */
static void
on_gss_moved(void *arg, int err)
{
	struct sshlogin *l = arg;

	if (err != 0)
		end(l, err);
	else
		connection_kick(l->connection);
}

/* Starts the key exchange. l->peer_ident may be NULL: the server's
 * identification has not arrived yet. */
static int
start_kex(struct sshlogin *l)
{
	const struct client_conf *conf = l->p.conf;
	char *methods = kex_list(l), *hostkeys = hostkey_list(l);
	struct kex_proposal mine = {
	    .kex = methods,
	    .hostkey = hostkeys,
	    .cipher = conf->algs.ciphers,
	    .mac = conf->algs.macs,
	    .compression = conf->algs.compression ? "zlib@openssh.com,none"
						  : "none,zlib@openssh.com",
	};
	struct kex_hooks kex_hooks = {
		.arg = l,
		.check_hostkey = on_hostkey,
		.verify = on_verify,
		.done = on_kex_done,
	};
	const struct gss_kex_params gss = { .conf = conf,
		.address = l->p.link->address,
		.hostcheck = l->hostcheck,
		.loop = l->p.loop,
		.arg = l,
		.moved = on_gss_moved };
	int r;

	r = kex_new(&l->kex, l->packet, &kex_hooks, &mine, l->ident,
	    l->peer_ident);
	if (r == 0 && (r = gss_kex_offer(&l->gss, &gss, l->kex)) == 0) {
		const char *first = gss_kex_methods(l->gss);

		if (first == NULL)
			first = methods;
		kex_set_guess(l->kex, hints_is_first(first, l->hints.kex) &&
			hints_is_first(hostkeys, l->hints.hostkey));
		r = kex_start(l->kex);
	}
	free(methods);
	free(hostkeys);
	return r;
}

static bool
on_lost(void *arg, int err)
{
	const struct sshlogin *l = arg;

	return l->state == LOGIN_AUTHENTICATED && l->p.lost(l->p.arg, err);
}

/* The server's identification has arrived: starts to exchange packets. */
static int
start_packets(struct sshlogin *l)
{
	struct connection_hooks hooks = {
		.arg = l,
		.auth = on_auth,
		.lost = l->p.lost != NULL ? on_lost : NULL,
		.ended = on_ended,
	};
	int r;

	renew_limit(l);
	l->answer_ms = clock_ms() - l->began_ms;
	if (l->kex == NULL)
		r = start_kex(l);
	else
		r = kex_set_remote_id(l->kex, l->peer_ident);
	if (r == 0)
		r = connection_new(&l->connection, l->p.loop, l->packet,
		    l->kex, &hooks);
	if (r == 0)
		connection_kick(l->connection);
	return r;
}

/* ---- identification ----------------------------------------------------- */

static void
on_other_line(void *arg, const char *text)
{
	struct sshlogin *l = arg;

	log_debug("the server says before its identification: %.256s", text);
	if (*text == '\0')
		return;
	free(l->last_line);
	l->last_line = xstrndup(text, LAST_LINE_MAX);
}

static int
check_peer(const struct sshlogin *l)
{
	tell_identifications(l->p.conf, l->ident, l->peer_ident);
	if (peer_version_is_2(l->peer_ident))
		return 0;
	log_error("%s port %u does not speak SSH version 2: %.80s",
	    peer_name(l), l->p.link->port, l->peer_ident);
	return ERR_PROTOCOL;
}

static void
on_readable(void *arg, int fd, int events)
{
	struct sshlogin *l = arg;
	int r;

	(void)fd;
	if (events & LOOP_WRITE) {
		/* A connect(2) that did not wait has succeeded or failed. */
		r = packet_flush(l->packet);
		if (r == 0)
			sshlink_want_write(l->watch, false);
		else if (r != ERR_AGAIN)
			goto over;
	}
	r = packet_fill(l->packet);
	if (r == ERR_AGAIN)
		return;
	if (r >= 0)
		r = packet_read_identification(l->packet, &l->peer_ident,
		    on_other_line, l);
	if (r == 0)
		return;
over:
	sshlink_unwatch(l->watch);
	l->watch = NULL;
	if (r > 0 && (r = check_peer(l)) == 0)
		r = start_packets(l);
	if (r < 0)
		end(l, r);
}

/* ---- through a master's proxy ------------------------------------------- */

static void
on_proxied(void *arg)
{
	struct sshlogin *l = arg;

	l->auth_timer = NULL;
	log_verbose("Using a master's connection to %s.",
	    l->p.conf->host.hostname);
	l->p.authenticated(l->p.arg);
	connection_pause(l->connection, false);
}

static int
begin_proxied(struct sshlogin *l)
{
	const struct connection_hooks hooks = {
		.arg = l,
		.auth = on_auth,
		.ended = on_ended,
	};
	const struct sshlink *link = l->p.link;
	int r;

	if ((l->packet = packet_new(link->fd, link->fd_out, false)) == NULL)
		return ERR_NOMEM;
	packet_set_proxied(l->packet);
	if ((r = kex_new_proxied(&l->kex, l->packet)) != 0 ||
	    (r = connection_new(&l->connection, l->p.loop, l->packet, l->kex,
		 &hooks)) != 0)
		return r;
	l->state = LOGIN_AUTHENTICATED;
	connection_pause(l->connection, true); /* until the channels exist */
	l->auth_timer = loop_after(l->p.loop, 0, on_proxied, l);
	return 0;
}

/* ---- life --------------------------------------------------------------- */

static int
begin(struct sshlogin *l)
{
	const struct client_conf *conf = l->p.conf;
	const struct sshlink *link = l->p.link;
	bool hinted;
	int r;

	r = hostcheck_new(&l->hostcheck, conf, link->address, link->port);
	if (r == 0 && l->p.first != NULL)
		hostcheck_set_first(l->hostcheck, l->p.first, l->p.keys_only);
	if (r == 0)
		r = login_ident(conf, &l->ident);
	if (r != 0)
		return r;
	if ((l->packet = packet_new(link->fd, link->fd_out, false)) == NULL)
		return ERR_NOMEM;
	packet_set_rekey_limit(l->packet, conf->algs.rekey_limit.bytes,
	    (uint32_t)conf->algs.rekey_limit.seconds);
	l->watch = sshlink_watch(link, l->p.loop, on_readable, l);
	if (l->watch == NULL)
		return ERR_NOMEM;
	if (!l->p.proxy_may_ask || link->proxy == 0 ||
	    conf->auth.batch_mode)
		start_limit(l);
	r = packet_put_identification(l->packet, l->ident);
	find_hints_file(l);
	/* With hints, the key exchange starts before the server's
	 * identification arrives. */
	hinted = l->hints_file.path != NULL &&
	    hints_find(&l->hints_file, &l->hints) == 0;
	tell_fallback(conf, link, hinted);
	if (r == 0 && hinted)
		r = start_kex(l);
	if (r == 0 && (r = packet_flush(l->packet)) == ERR_SYSTEM &&
	    packet_fill(l->packet) > 0) /* the server may have said why */
		(void)!packet_read_identification(l->packet, &l->peer_ident,
		    on_other_line, l);
	if (r != ERR_AGAIN)
		return r;
	sshlink_want_write(l->watch, true);
	return 0;
}

int
sshlogin_new(struct sshlogin **out, const struct sshlogin_params *params)
{
	struct sshlogin *l = xcalloc(1, sizeof *l);
	int r;

	l->p = *params;
	l->began_ms = clock_ms();
	if ((r = l->p.proxied ? begin_proxied(l) : begin(l)) != 0) {
		report_end(l, r);
		sshlogin_free(l);
		return r;
	}
	*out = l;
	return 0;
}

void
sshlogin_free(struct sshlogin *l)
{
	if (l == NULL)
		return;
	sshlink_unwatch(l->watch);
	loop_cancel(l->p.loop, l->timeout);
	loop_cancel(l->p.loop, l->auth_timer);
	connection_free(l->connection);
	userauth_free(l->userauth);
	gss_kex_free(l->gss);
	kex_free(l->kex);
	packet_free(l->packet);
	hostcheck_free(l->hostcheck);
	free(l->ident);
	free(l->peer_ident);
	free(l->last_line);
	buf_clear(&l->host_key);
	buf_clear(&l->host_signature);
	hints_file_clear(&l->hints_file);
	hints_clear(&l->hints);
	free(l);
}

void
sshlogin_disconnect(struct sshlogin *l)
{
	if (l->state != LOGIN_ENDED && l->packet != NULL)
		packet_disconnect(l->packet, SSH_DISCONNECT_BY_APPLICATION,
		    "disconnected by user");
	l->state = LOGIN_ENDED;
}

static void
move_buf(struct buf *to, struct buf *from)
{
	buf_clear(to);
	*to = *from;
	*from = (struct buf){ 0 };
}

int
sshlogin_resume(struct sshlogin *l, struct sshlogin *fresh, uint64_t received)
{
	connection_suspend(fresh->connection);
	fresh->state = LOGIN_ENDED;
	/* The agent is told the host key and its signature with the new session
	 * identifier. */
	move_buf(&l->host_key, &fresh->host_key);
	move_buf(&l->host_signature, &fresh->host_signature);
	return connection_resume(l->connection, fresh->packet, fresh->kex,
	    received);
}

void
sshlogin_hold(struct sshlogin *fresh)
{
	connection_pause(fresh->connection, true);
}

struct packet *
sshlogin_packet(const struct sshlogin *l)
{
	return l->packet;
}

struct kex *
sshlogin_kex(const struct sshlogin *l)
{
	return l->kex;
}

struct connection *
sshlogin_connection(const struct sshlogin *l)
{
	return l->connection;
}

const struct hostcheck *
sshlogin_hostcheck(const struct sshlogin *l)
{
	return l->hostcheck;
}

const struct userauth *
sshlogin_userauth(const struct sshlogin *l)
{
	return l->userauth;
}

struct sshlogin_binding
sshlogin_binding(const struct sshlogin *l)
{
	return (struct sshlogin_binding){
		.hostkey = buf_span(&l->host_key),
		.session_id = kex_session_id(l->kex),
		.signature = buf_span(&l->host_signature),
	};
}

int
sshlogin_learn_hostkeys(const struct sshlogin *l, struct channels *chs,
    struct hostlearn **out)
{
	*out = NULL;
	if (l->p.proxied)
		return 0; /* the master learns the host's keys */
	return hostlearn_new(out, l->p.conf, l->hostcheck, l->kex, chs);
}
