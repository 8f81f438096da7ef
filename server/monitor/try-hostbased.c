/* SPDX-License-Identifier: ISC */
/*
 * "hostbased" (RFC 4252 section 9) in the monitor: the client's host signs for
 * its user. The host is recognized by its key, as in known_hosts files; lists
 * of hosts (rhosts.h) say for which accounts its users may log in.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/libc.h"
#include "keys/cert.h"
#include "keys/knownhosts.h"
#include "packet.h"
#include "server/monitor/authorized-certs.h"
#include "server/monitor/authorized-files.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/rhosts.h"
#include "server/privs.h"

enum {
	ALG_MAX = 256, /* bytes of an algorithm's name */
	HOST_MAX = 1025, /* bytes of a host's name, with the dot at its end */
	KNOWN_MAX = 64 * 1024 * 1024, /* bytes of a known_hosts file of the
				       * user */
};

struct host_request {
	char *alg, *host, *client_user; /* owned; host is the name as it was
					 * sent */
	struct span blob, signature;
};

/* ---- is the key known for that host? ----------------------------------- */

static void
add_user_file(const struct login *l, const char *name, struct buf *lines)
{
	char *path = user_path(l->user, name);
	FILE *f = authfiles_open(l->user, path,
	    l->conf.login.strict_modes != 0);

	if (f != NULL) {
		if (fd_read_file(fileno(f), lines, KNOWN_MAX) != 0)
			log_info("User %s: cannot read %s", l->user->name,
			    path);
		buf_put_u8(lines, '\n');
		fclose(f);
	}
	free(path);
}

/* Reads the user's known_hosts files with the user's rights. */
static int
user_lines(const struct login *l, struct buf *lines)
{
	int r;

	if (l->conf.login.ignore_user_known_hosts)
		return 0;
	if ((r = privs_enter(l->user)) != 0)
		return r;
	add_user_file(l, ".ssh/known_hosts", lines);
	add_user_file(l, ".ssh/known_hosts2", lines);
	privs_leave();
	return buf_err(lines);
}

static int
system_files(struct strlist *files)
{
	int r = strlist_add(files, SYSCONFDIR "/ssh_known_hosts");

	return r != 0 ? r : strlist_add(files, SYSCONFDIR "/ssh_known_hosts2");
}

/* Looks up a host's key. A certificate is known if a line with @cert-authority
 * has its authority, and neither its key nor the authority is revoked. */
static int
look_up(const struct knownhosts_sources *sources, const char *name,
    const struct key *k, struct knownhosts_found *found)
{
	const struct cert *c = key_cert(k);
	int r = knownhosts_check(sources, name, k, found);

	if (r != 0 || c == NULL || found->verdict == KNOWNHOSTS_IS_REVOKED)
		return r;
	knownhosts_found_clear(found);
	return knownhosts_find_ca(sources, name, c->ca, found);
}

static bool
is_known(const struct login *l, const struct key *k, const char *host)
{
	struct knownhosts_found found = { 0 };
	struct strlist files = { 0 };
	struct buf lines = { 0 };
	char *name = knownhosts_name(host, 22);
	bool known = false;
	int r = name != NULL ? system_files(&files) : ERR_NOMEM;

	if (r == 0)
		r = user_lines(l, &lines);
	if (r == 0) {
		const struct knownhosts_sources sources = { .files = &files,
			.lines = buf_span(&lines),
			.lines_name = "known_hosts of the user" };

		r = look_up(&sources, name, k, &found);
	}
	if (r != 0)
		log_error("known_hosts: %s", err_text(r));
	else
		known = found.verdict == KNOWNHOSTS_OK;
	if (known)
		log_debug("host key of %s is known: %s:%u", host, found.path,
		    found.line);
	else if (r == 0)
		log_info("hostbased: the %s key that %s shows is %s",
		    key_short_name(k), host,
		    found.verdict == KNOWNHOSTS_IS_REVOKED ? "revoked" :
		    found.verdict == KNOWNHOSTS_CHANGED ?
			"another one than it had" : "not known");
	knownhosts_found_clear(&found);
	strlist_clear(&files);
	buf_clear(&lines);
	free(name);
	return known;
}

/* ---- may that host speak for the user? --------------------------------- */

/* The client's host name to check: the one that the address resolves to, or
 * with HostbasedUsesNameFromPacketOnly the one that the client sent (without
 * the dot at its end). */
static const char *
name_that_counts(const struct login *l, const struct host_request *h,
    const char *sent)
{
	if (l->conf.login.hostbased_packet_name)
		return sent;
	if (!str_equal_nocase(sent, l->peer->host))
		log_info("userauth_hostbased mismatch: client sends %s, but "
			 "we resolve %s to %s",
		    h->host, l->peer->address, l->peer->host);
	return l->peer->host;
}

static bool
may_speak(const struct login *l, const struct host_request *h,
    const char *host)
{
	const struct rhosts_rules rules = { .user = l->user,
		.strict_modes = l->conf.login.strict_modes != 0,
		.ignore = l->conf.login.ignore_rhosts };
	const struct rhosts_query q = { .host = host,
		.address = l->conf.login.hostbased_packet_name ?
		    host : l->peer->address,
		.client_user = h->client_user,
		.login = l->user->name,
		.in_netgroup = libc_in_netgroup };

	return *host != '\0' && rhosts_allow(&rules, &q);
}

static bool
certificate_holds(const struct login *l, const struct key *k,
    const char *host)
{
	const struct cert *c = key_cert(k);
	const char *why;

	if (c == NULL)
		return true;
	why = cert_host_refusal(c, (uint64_t)time(NULL), host,
	    l->conf.algs.ca_signature_algorithms);
	if (why != NULL)
		authcert_log_refusal(c,
		    (enum digest_alg)l->conf.algs.fingerprint_hash, NULL, why);
	return why == NULL;
}

/* ---- the log ----------------------------------------------------------- */

/* Logs the accepted key in OpenSSH's words, with the client's user and host. */
static void
log_host(const struct login *l, const struct host_request *h,
    const struct key *k, const char *host)
{
	const struct cert *c = key_cert(k);
	const struct key *known = c != NULL ? c->ca : k;
	char *print = key_fingerprint(known,
	    (enum digest_alg)l->conf.algs.fingerprint_hash);
	const char *text = print != NULL ? print : "?";

	if (c != NULL)
		log_verbose("Accepted certificate ID \"%.*s\" signed by %s CA "
			    "%s from %s@%s",
		    AUTHCERT_ID_SHOWN, c->id, key_short_name(known), text,
		    h->client_user, host);
	else
		log_verbose("Accepted %s public key %s from %s@%s",
		    key_short_name(known), text, h->client_user, host);
	free(print);
}

/* The key, and for a failure also the client's user and host, for the log.
 * Caller frees. */
static char *
describe(const struct login *l, const struct host_request *h,
    const struct key *k, bool ok)
{
	char *key = login_key_text(l, k), *text;

	if (ok)
		return key;
	xasprintf(&text, "%s, client user \"%.100s\", client host \"%.100s\"",
	    key, h->client_user, h->host);
	free(key);
	return text;
}

/* ---- all of it --------------------------------------------------------- */

static bool
host_may(const struct login *l, const struct host_request *h,
    const struct key *k)
{
	size_t len = strlen(h->host);
	char *sent = xstrndup(h->host,
	    len > 0 && h->host[len - 1] == '.' ? len - 1 : len);
	const char *host = name_that_counts(l, h, sent);
	bool may = may_speak(l, h, host) && certificate_holds(l, k, host) &&
	    is_known(l, k, host);

	if (may)
		log_host(l, h, k, host);
	free(sent);
	return may;
}

static bool
is_welcome(struct login *l, const struct host_request *h, struct key **k)
{
	const struct login_key_list list = {
		.algorithms = l->conf.algs.hostbased_accepted_algorithms,
		.keyword = "HostbasedAcceptedAlgorithms",
		.shown = "userauth_hostbased" };
	bool may, demoted;

	if (!login_key_is_allowed(l, &list, h->alg, h->blob, k))
		return false;
	/* For users who may not log in, these log lines are not of interest. */
	demoted = log_demote(!l->allowed);
	may = !login_key_is_revoked(l, *k) && host_may(l, h, *k);
	(void)log_demote(demoted);
	return may && l->allowed;
}

/* Whether the signature of the client's host is right. Session, user and
 * service are taken from what the monitor knows, not from the request. */
static bool
signature_is_right(const struct login_request *q,
    const struct host_request *h, const struct key *k)
{
	const struct login *l = q->login;
	struct buf b = { 0 };
	bool right;

	buf_put_string(&b, l->session_id.p, l->session_id.len);
	buf_put_u8(&b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(&b, l->name);
	buf_put_cstring(&b, l->service);
	buf_put_cstring(&b, q->method->name);
	buf_put_cstring(&b, h->alg);
	buf_put_string(&b, h->blob.p, h->blob.len);
	buf_put_cstring(&b, h->host);
	buf_put_cstring(&b, h->client_user);
	right = buf_err(&b) == 0 &&
	    key_verify(k, h->alg, buf_span(&b),
		h->signature) == 0;
	buf_clear(&b);
	return right;
}

static void
try(const struct login_request *q, const struct host_request *h,
    struct login_try *t)
{
	struct login *l = q->login;

	if (auth_methods_may(&l->methods, q->method->name) &&
	    is_welcome(l, h, &t->key)) {
		t->checked = true;
		t->ok = signature_is_right(q, h, t->key);
	}
	if (t->key != NULL)
		t->what = describe(l, h, t->key, t->ok);
	if (t->ok)
		t->line = login_key_line(t->key);
}

int
login_try_hostbased(const struct login_request *q, struct login_try *t)
{
	struct host_request h = { .alg = rd_cstring(q->in, ALG_MAX) };
	int r;

	h.blob = rd_string(q->in);
	h.host = rd_cstring(q->in, HOST_MAX);
	h.client_user = rd_cstring(q->in, USER_NAME_MAX);
	h.signature = rd_string(q->in);
	r = rd_end(q->in);
	if (r == 0)
		try(q, &h, t);
	free(h.alg);
	free(h.host);
	free(h.client_user);
	return r;
}
