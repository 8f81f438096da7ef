/* SPDX-License-Identifier: ISC */
/*
 * "publickey" (RFC 4252 section 7) in the monitor: is a key welcome, and has
 * the client signed with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/tokens.h"
#include "keys/key.h"
#include "keys/revoked-keys.h"
#include "packet.h"
#include "server/monitor/auth-keys.h"
#include "server/monitor/login-internal.h"

enum {
	ALG_MAX = 256, /* bytes of an algorithm's name */
	REVOKED_MAX = 64 * 1024 * 1024,
};

/* "ED25519 SHA256:..."; caller frees. */
static char *
key_text(const struct login *l, const struct key *k)
{
	char *print = key_fingerprint(k,
	    (enum digest_alg)l->conf.algs.fingerprint_hash);
	char *text;

	xasprintf(&text, "%s %s", key_short_name(k),
	    print != NULL ? print : "?");
	free(print);
	return text;
}

/* "ssh-ed25519 AAAA..."; NULL if memory is out. Caller frees. */
static char *
key_line(const struct key *k)
{
	struct buf b = { 0 };
	char *line = NULL;

	if (key_format_line(k, NULL, &b) == 0)
		line = buf_dup_string(&b);
	if (line != NULL)
		line[strcspn(line, "\n")] = '\0';
	buf_clear(&b);
	return line;
}

/* RevokedKeys: a list that cannot be read revokes everything. */
static bool
is_revoked_by(const char *path, const struct key *k)
{
	struct buf list = { 0 };
	bool revoked = false;
	int r = file_read(path, &list, REVOKED_MAX);

	if (r == 0)
		r = revoked_keys_find(&list, k, &revoked);
	if (r != 0)
		log_error("RevokedKeys %s: %s: all keys are refused", path,
		    err_text(r));
	buf_clear(&list);
	return revoked || r != 0;
}

static bool
is_revoked(const struct login *l, const struct key *k)
{
	for (size_t i = 0; i < l->conf.login.revoked_keys.n; i++)
		if (is_revoked_by(l->conf.login.revoked_keys.v[i], k))
			return true;
	return false;
}

/* Caller frees. */
static char *
keys_path(const struct login *l, const char *pattern)
{
	char uid[24], *path = NULL, *full, bad;

	snprintf(uid, sizeof uid, "%u", (unsigned)l->user->uid);
	{
		const struct token tokens[] = { { 'h', l->user->home },
			{ 'U', uid }, { 'u', l->user->name } };

		if (tokens_expand(pattern, tokens, ARRAY_LEN(tokens), &path,
			&bad) != 0) {
			log_error("AuthorizedKeysFile \"%s\": bad token",
			    pattern);
			return NULL;
		}
	}
	full = user_path(l->user, path);
	free(path);
	return full;
}

/* environment= of the key, as PermitUserEnvironment lets it through. */
static void
filter_env(const struct login *l, struct permits *p)
{
	struct strlist kept = { 0 };

	for (size_t i = 0; i < p->env.n; i++) {
		char *name = xstrndup(p->env.v[i],
		    strcspn(p->env.v[i], "="));

		if (server_conf_permits_variable(&l->conf, name) &&
		    strlist_add(&kept, p->env.v[i]) != 0)
			fatal("out of memory");
		free(name);
	}
	strlist_clear(&p->env);
	p->env = kept;
}

/* "FILE:LINE", if the key is in one of the user's files; else NULL. Caller
 * frees. */
static char *
find_authorized(struct login *l, struct span identity, struct permits *p)
{
	const struct authkeys_query q = {.user = l->user,
	    .identity = identity,
	    .address = l->peer->address,
	    .host = l->peer->host,
	    .strict_modes = l->conf.login.strict_modes != 0,
	    .user_environment =
		l->conf.session.permit_user_environment != NULL};
	char *found = NULL;
	unsigned line;

	for (size_t i = 0;
	    found == NULL && i < l->conf.login.authorized_keys_file.n; i++) {
		char *path =
		    keys_path(l, l->conf.login.authorized_keys_file.v[i]);

		if (path != NULL &&
		    authkeys_search(&q, path, p, &line) == 0) {
			xasprintf(&found, "%s:%u", path, line);
			filter_env(l, p);
		}
		free(path);
	}
	return found;
}

/* May keys of this kind log in, whosever they are? */
static bool
policy_allows(const struct login *l, const char *alg, const struct key *k)
{
	if (!key_serves(k, alg) ||
	    !csv_has(l->conf.algs.pubkey_accepted_algorithms, alg)) {
		log_info("userauth_pubkey: signature algorithm %s is not in "
			 "PubkeyAcceptedAlgorithms",
		    alg);
		return false;
	}
	if (key_check_length(k, (unsigned)l->conf.algs.required_rsa_size) !=
	    0) {
		log_info("refusing key of user %s: it is too short", l->name);
		return false;
	}
	return true;
}

/* All that can be said about the key without a signature, by four checks that
 * know nothing of each other: parsing, policy, lookup, revocation. *k is the
 * key if it could be read at all. Caller clears *p. */
static bool
acceptable(struct login *l, const char *alg, struct span blob,
    struct key **k, struct permits *p)
{
	struct buf identity = { 0 };
	char *where, *text;
	bool ok;
	int r = key_from_blob(blob, k);

	if (r != 0) {
		*k = NULL;
		log_debug("public key of user %s: %s", l->name, err_text(r));
		return false;
	}
	/* A line with its key must not let a certificate in. */
	if (key_is_cert(*k) || !policy_allows(l, alg, *k) ||
	    key_identity_of_blob(blob, &identity) != 0)
		return false;
	where = find_authorized(l,
	    (struct span){ buf_data(&identity), buf_len(&identity) }, p);
	buf_clear(&identity);
	ok = where != NULL && l->allowed && !is_revoked(l, *k);
	if (ok) {
		text = key_text(l, *k);
		log_verbose("Accepted key %s found at %s", text, where);
		free(text);
	}
	free(where);
	return ok;
}

static void
query(const struct login_request *q, const char *alg, struct span blob,
    struct monitor_verdict *v)
{
	struct login *l = q->login;
	struct login_try t = { .method = q->method };
	struct permits permits = { 0 };
	struct key *k = NULL;
	char *text = NULL;

	if (auth_methods_may(&l->methods, q->method->name) &&
	    acceptable(l, alg, blob, &k, &permits)) {
		v->result = MONITOR_KEY_OK;
		v->methods = auth_methods_next(&l->methods);
		log_verbose("Postponed publickey for %s from %s port %u ssh2 "
			    "[preauth]",
		    l->name, l->peer->address, l->peer->port);
	} else {
		if (k != NULL)
			t.what = text = key_text(l, k);
		login_conclude(l, &t, NULL, v);
	}
	permits_clear(&permits);
	key_free(k);
	free(text);
}

struct signed_request {
	const char *alg;
	struct span blob, signature;
	bool hostbound;
	struct span hostkey; /* with hostbound */
};

/* RFC 4252 section 7: what the client has signed. The monitor puts it
 * together from what it knows itself. */
static void
put_signed_data(const struct login_request *q, const struct signed_request *s,
    struct buf *b)
{
	const struct login *l = q->login;
	const struct auth_method *m = q->method;

	buf_put_string(b, l->session_id.p, l->session_id.len);
	buf_put_u8(b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(b, l->name);
	buf_put_cstring(b, l->service);
	buf_put_cstring(b, s->hostbound ? m->alias : m->name);
	buf_put_bool(b, true);
	buf_put_cstring(b, s->alg);
	buf_put_string(b, s->blob.p, s->blob.len);
	if (s->hostbound)
		buf_put_string(b, s->hostkey.p, s->hostkey.len);
}

static void
verify(const struct login_request *q, const struct signed_request *s,
    struct monitor_verdict *v)
{
	struct login *l = q->login;
	struct login_try t = { .method = q->method };
	struct permits permits = { 0 };
	struct buf data = { 0 };
	struct key *k = NULL;
	char *text = NULL, *line = NULL;
	struct span signed_data;

	if (auth_methods_may(&l->methods, q->method->name) &&
	    acceptable(l, s->alg, s->blob, &k, &permits) &&
	    (!s->hostbound || hostkeys_own(&l->state->keys, s->hostkey))) {
		l->checked = true;
		put_signed_data(q, s, &data);
		signed_data = (struct span){ buf_data(&data), buf_len(&data) };
		t.ok = buf_err(&data) == 0 &&
		    key_verify(k, s->alg, signed_data, s->signature) == 0;
	}
	if (k != NULL)
		t.what = text = key_text(l, k);
	/* Where two keys are asked for, it can not be the same one twice. */
	if (t.ok && strlist_has(&l->used_keys, text))
		t.ok = false;
	if (t.ok) {
		t.permits = &permits;
		t.line = line = key_line(k);
	}
	login_conclude(l, &t, NULL, v);
	if (t.ok && strlist_add(&l->used_keys, text) != 0)
		fatal("out of memory");
	permits_clear(&permits);
	key_free(k);
	free(text);
	free(line);
	buf_clear(&data);
}

int
login_try_publickey(const struct login_request *q, struct monitor_verdict *v)
{
	bool is_signed = rd_bool(q->in);
	char *alg = rd_cstring(q->in, ALG_MAX);
	struct signed_request s = { .alg = alg, .blob = rd_string(q->in) };
	int r;

	if (is_signed) {
		s.hostbound = rd_bool(q->in);
		s.hostkey = rd_string(q->in);
		s.signature = rd_string(q->in);
	}
	r = rd_end(q->in);
	if (r == 0 && is_signed)
		verify(q, &s, v);
	else if (r == 0)
		query(q, alg, s.blob, v);
	free(alg);
	return r;
}
