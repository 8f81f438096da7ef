/* SPDX-License-Identifier: ISC */
#include "server/monitor/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/tokens.h"
#include "keys/key.h"
#include "keys/revoked-keys.h"
#include "server/monitor/auth-keys.h"
#include "server/monitor/auth-passwd.h"
#include "server/monitor/login-rules.h"
#include "server/monitor/loginrec.h"
#include "server/privs.h"

enum { BANNER_MAX = 64 * 1024, REVOKED_MAX = 64 * 1024 * 1024 };

/* ---- life ------------------------------------------------------------- */

static char *
enabled_methods(const struct server_conf *c)
{
	struct buf b = { 0 };
	char *s;

	if (c->login.pubkey_authentication)
		buf_printf(&b, "publickey,");
	if (c->login.password_authentication)
		buf_printf(&b, "password,");
	/* Without PAM there is no dialogue to lead. */
	if (c->login.kbd_interactive_authentication && c->login.use_pam)
		buf_printf(&b, "keyboard-interactive,");
	if (buf_len(&b) > 0)
		buf_truncate(&b, buf_len(&b) - 1);
	s = buf_dup_string(&b);
	buf_clear(&b);
	if (s == NULL)
		fatal("out of memory");
	return s;
}

char *
login_methods_of_all(const struct server_conf *c)
{
	struct auth_methods m = { 0 };
	char *enabled, *list = NULL;

	if (server_conf_has_match(c) || c->login.permit_empty_passwords)
		return NULL;
	enabled = enabled_methods(c);
	if (auth_methods_init(&m, &c->login.authentication_methods, enabled) ==
	    0)
		list = auth_methods_next(&m);
	auth_methods_clear(&m);
	free(enabled);
	return list;
}

static void
make_conf(struct login *l)
{
	const struct server_conf_spec spec = { .user = l->user->name,
		.host = l->peer->host,
		.addr = l->peer->address,
		.laddr = l->peer->local_address,
		.lport = l->peer->local_port,
		.invalid_user = !l->user->valid };

	if (server_conf_for(&l->state->conf, &spec, &l->conf) != 0)
		fatal("cannot make the configuration for user %s",
		    l->user->name);
	log_set_level((enum log_level)l->conf.log.log_level);
}

static void
start_pam(struct login *l)
{
	const struct peer *p = l->peer;
	char *text;

	l->pam =
	    pam_new(l->conf.login.pam_service_name, l->user->name, p->host);
	if (l->pam == NULL) {
		l->allowed = false;
		return;
	}
	xasprintf(&text, "%s %u %s %u", p->address, p->port,
	    p->local_address, p->local_port);
	pam_set_variable(l->pam, "SSH_CONNECTION", text);
	free(text);
}

struct login *
login_new(const struct server_state *state, const struct peer *peer,
    struct span session_id, const char *name, const char *service)
{
	struct login *l = xcalloc(1, sizeof *l);
	char *account = xstrndup(name, strcspn(name, ":")), *enabled;

	l->state = state;
	l->peer = peer;
	l->session_id = session_id;
	l->name = xstrdup(name);
	l->service = xstrdup(service);
	l->user = user_lookup(account);
	free(account);
	permits_init(&l->permits);
	make_conf(l);
	l->name_ok = l->allowed = login_rules_allow(l);
	if (strcmp(service, "ssh-connection") != 0) {
		log_info("user %s asks for the service \"%s\"", name, service);
		l->allowed = false;
	}
	enabled = enabled_methods(&l->conf);
	if (auth_methods_init(&l->methods,
		&l->conf.login.authentication_methods, enabled) != 0) {
		log_error("AuthenticationMethods leaves no way in for user %s",
		    name);
		l->allowed = false;
	}
	free(enabled);
	if (l->conf.login.use_pam && geteuid() == 0)
		start_pam(l);
	return l;
}

void
login_free(struct login *l)
{
	if (l == NULL)
		return;
	pam_free(l->pam);
	auth_methods_clear(&l->methods);
	permits_clear(&l->permits);
	strlist_clear(&l->used_keys);
	decoys_clear(&l->decoys);
	buf_clear(&l->auth_info);
	server_conf_clear(&l->conf);
	user_free(l->user);
	free(l->name);
	free(l->service);
	free(l);
}

char *
login_banner(const struct login *l)
{
	struct buf b = { 0 };
	char *text = NULL;

	if (l->conf.login.banner == NULL)
		return NULL;
	if (file_read(l->conf.login.banner, &b, BANNER_MAX) == 0)
		text = buf_dup_string(&b);
	buf_clear(&b);
	return text;
}

/* ---- the end of every try ---------------------------------------------- */

struct try {
	const char *method, *device; /* device may be NULL */
	const char *shown; /* in the log line, if not the method; or NULL */
	bool ok;
	const char *what; /* key type and fingerprint, or NULL */
	const char *line; /* the key as a public key line, or NULL */
	const struct permits *permits; /* that come with it, or NULL */
	bool must_change; /* the password was right, but is too old */
};

static void
log_try(const struct login *l, const struct try *t, const char *verdict)
{
	const char *method = t->shown != NULL ? t->shown : t->method;
	enum log_level level = LOG_LVL_INFO;

	/* A client that offers its keys one by one is no news. */
	if (!t->ok && strcmp(method, "password") != 0 && l->name_ok &&
	    l->failures < l->conf.login.max_auth_tries / 2)
		level = LOG_LVL_VERBOSE;
	log_msg(level, "%s %s%s%s for %s%s from %s port %u ssh2%s%s", verdict,
	    method, t->device != NULL ? "/" : "",
	    t->device != NULL ? t->device : "",
	    l->name_ok ? "" : "invalid user ", l->name, l->peer->address,
	    l->peer->port, t->what != NULL ? ": " : "",
	    t->what != NULL ? t->what : "");
}

static void
record_failure(const struct login *l)
{
	const struct loginrec rec = { .user = l->name,
		.host = l->peer->host,
		.tty = "ssh:notty",
		.pid = getpid(),
		.uid = l->user->uid };

	if (geteuid() == 0)
		loginrec_failed(&rec);
}

/* What a try proves comes with permits of its own: the login has what all of
 * its proofs allow. */
static bool
restrict_login(struct login *l, const struct try *t)
{
	const char *why;

	if (t->permits == NULL || permits_merge(&l->permits, t->permits,
				      &why) == 0)
		return true;
	log_info("User %s from %s not allowed because the options of the keys "
		 "contradict each other: %s",
	    l->user->name, l->peer->host, why);
	return false;
}

/* On record for ExposeAuthInfo, and for the modules of the next step. */
static void
add_auth_info(struct login *l, const struct try *t)
{
	char *text;

	buf_printf(&l->auth_info, "%s%s%s\n", t->method,
	    t->line != NULL ? " " : "", t->line != NULL ? t->line : "");
	if (l->pam == NULL)
		return;
	if ((text = buf_dup_string(&l->auth_info)) == NULL)
		fatal("out of memory");
	pam_set_variable(l->pam, "SSH_AUTH_INFO_0", text);
	free(text);
}

/* Once enough was proven: what the account itself has to say. */
static bool
account_agrees(struct login *l, const struct pam_talk *talk)
{
	bool must_change = false;

	if (l->pam == NULL)
		return true;
	if (pam_check_account(l->pam, talk, &must_change) != 0) {
		log_info("Access denied for user %s by PAM account "
			 "configuration",
		    l->user->name);
		return false;
	}
	l->must_change = l->must_change || must_change;
	return true;
}

/* Whoever has to change the password gets a terminal for it, and no more. */
static void
limit_to_change(struct login *l)
{
	struct permits least;
	const char *why;

	log_info("password of user %s has to be changed", l->user->name);
	permits_init_session_only(&least);
	if (permits_merge(&l->permits, &least, &why) != 0)
		fatal("permits: %s", why);
	permits_clear(&least);
}

/* The methods' own result, put under the rules that apply on top of it. */
static void
conclude(struct login *l, struct try *t, const struct pam_talk *talk,
    struct monitor_verdict *v)
{
	int r;

	if (t->ok && !l->allowed)
		t->ok = false;
	if (t->ok && !auth_methods_may(&l->methods, t->method))
		t->ok = false;
	if (t->ok && !login_rules_root_may(l, t->method, t->permits)) {
		log_info("ROOT LOGIN REFUSED FROM %s port %u",
		    l->peer->address, l->peer->port);
		t->ok = false;
	}
	if (t->ok && !restrict_login(l, t))
		t->ok = false;
	v->result = MONITOR_FAILURE;
	if (t->ok) {
		add_auth_info(l, t);
		r = auth_methods_done(&l->methods, t->method, t->device);
		l->must_change = l->must_change || t->must_change;
		if (r == 1 && !account_agrees(l, talk)) {
			l->allowed = false;
			t->ok = false;
		} else {
			l->complete = r == 1;
			if (l->complete && l->must_change)
				limit_to_change(l);
			v->result = r == 1 ? MONITOR_SUCCESS : MONITOR_PARTIAL;
		}
	}
	v->methods = auth_methods_next(&l->methods);
	log_try(l, t,
	    l->complete ? "Accepted" : t->ok ? "Partial" : "Failed");
	if (v->result == MONITOR_FAILURE) {
		l->failures++;
		v->counts = true;
	}
}

/* ---- none and password -------------------------------------------------- */

/* Whatever the password is, this method lets the user not in. */
static bool
is_in_vain(const struct login *l, const char *method)
{
	return !l->allowed || !login_rules_root_may(l, method, NULL);
}

/* PAM looks at the age of a password together with the account. */
static bool
is_young_enough(const struct login *l, bool *must_change)
{
	enum passwd_age age = passwd_age(l->user);

	if (age == PASSWD_TOO_OLD)
		log_info("User %s from %s not allowed because password "
			 "expired too long ago",
		    l->user->name, l->peer->host);
	*must_change = age == PASSWD_MUST_CHANGE;
	return age != PASSWD_TOO_OLD;
}

static bool
password_is_right(struct login *l, const char *password, bool *must_change)
{
	bool empty_ok = l->conf.login.permit_empty_passwords;

	*must_change = false;
	if (l->pam == NULL)
		return passwd_check(l->user, password, empty_ok) &&
		    is_young_enough(l, must_change);
	pam_set_in_vain(l->pam, is_in_vain(l, "password"));
	return pam_check_password(l->pam, password, empty_ok) == 0;
}

/* A secret was wrong: it has to take as long for every user. since_us: CPU
 * time when it was begun to be checked. */
static void
even_out(struct login *l, size_t secret_len, uint64_t since_us)
{
	const struct passwd_effort effort = { .password_len = secret_len,
		.by_pam = l->pam != NULL,
		.spent_us = decoy_cpu_us() - since_us };

	if (l->decoys.settings.n == 0)
		decoys_load_system(&l->decoys);
	passwd_even_out(&l->decoys, l->user, &effort);
}

void
login_try_none(struct login *l, struct monitor_verdict *v)
{
	struct try t = { .method = "none" };
	uint64_t since_us = decoy_cpu_us();

	/* Only where empty passwords are let in does "none" stand for one. */
	if (l->methods.any && l->conf.login.permit_empty_passwords &&
	    l->conf.login.password_authentication) {
		l->checked = true;
		if (password_is_right(l, "", &t.must_change)) {
			t.method = "password";
			t.shown = "none";
			t.ok = true;
			conclude(l, &t, NULL, v);
			return;
		}
		even_out(l, 0, since_us);
	}
	v->result = MONITOR_FAILURE;
	v->counts = true;
	v->methods = auth_methods_next(&l->methods);
	/* The first one is the usual opening question. None is logged: what
	 * counts lines of failures would count every login as one. */
	if (l->asked_none)
		l->failures++;
	l->asked_none = true;
}

void
login_try_password(struct login *l, const char *password,
    struct monitor_verdict *v)
{
	struct try t = { .method = "password" };
	bool asked = auth_methods_may(&l->methods, t.method);
	uint64_t since_us = decoy_cpu_us();

	if (asked) {
		/* The first empty one only asks if there is a password. */
		if (password[0] == '\0' && !l->tried_empty) {
			l->tried_empty = true;
			t.shown = "none";
		}
		l->checked = true;
		t.ok = password_is_right(l, password, &t.must_change);
	}
	conclude(l, &t, NULL, v);
	if (asked && !t.ok) {
		even_out(l, strlen(password), since_us);
		record_failure(l);
	}
}

bool
login_try_kbdint(struct login *l, const struct pam_talk *talk,
    struct monitor_verdict *v)
{
	struct try t = { .method = "keyboard-interactive", .device = "pam" };
	bool asked = l->pam != NULL && auth_methods_may(&l->methods, t.method);
	uint64_t since_us = decoy_cpu_us();
	int r = ERR_DENIED;

	if (asked) {
		l->checked = true;
		pam_set_in_vain(l->pam, is_in_vain(l, t.method));
		r = pam_check_dialogue(l->pam, talk,
		    l->conf.login.permit_empty_passwords);
		if (r == ERR_DENIED)
			log_error("PAM: %s for %s%s from %s",
			    pam_error(l->pam),
			    l->name_ok ? "" : "illegal user ", l->name,
			    l->peer->host);
	}
	if (r == ERR_CANCELLED)
		return false;
	t.ok = r == 0;
	conclude(l, &t, talk, v);
	if (!t.ok) {
		if (asked)
			even_out(l, pam_secret_len(l->pam), since_us);
		record_failure(l);
	}
	return true;
}

/* ---- publickey ---------------------------------------------------------- */

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
	const char *patterns = l->conf.session.permit_user_environment;
	struct strlist kept = { 0 };

	for (size_t i = 0; patterns != NULL && i < p->env.n; i++) {
		char *name = xstrndup(p->env.v[i],
		    strcspn(p->env.v[i], "="));

		if (str_match_list(name, patterns, false) == 1 &&
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
	if (!policy_allows(l, alg, *k) ||
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

void
login_query_key(struct login *l, const char *alg, struct span blob,
    struct monitor_verdict *v)
{
	struct try t = { .method = "publickey" };
	struct permits permits = { 0 };
	struct key *k = NULL;
	char *text = NULL;

	if (auth_methods_may(&l->methods, t.method) &&
	    acceptable(l, alg, blob, &k, &permits)) {
		v->result = MONITOR_KEY_OK;
		v->methods = auth_methods_next(&l->methods);
		log_verbose("Postponed publickey for %s from %s port %u ssh2 "
			    "[preauth]",
		    l->name, l->peer->address, l->peer->port);
	} else {
		if (k != NULL)
			t.what = text = key_text(l, k);
		conclude(l, &t, NULL, v);
	}
	permits_clear(&permits);
	key_free(k);
	free(text);
}

/* RFC 4252 section 7: what the client has signed. The monitor puts it
 * together from what it knows itself. */
static void
put_signed_data(const struct login *l, const struct login_signature *s,
    struct buf *b)
{
	buf_put_string(b, l->session_id.p, l->session_id.len);
	buf_put_u8(b, 50); /* SSH_MSG_USERAUTH_REQUEST */
	buf_put_cstring(b, l->name);
	buf_put_cstring(b, l->service);
	buf_put_cstring(b,
	    s->hostbound ? "publickey-hostbound-v00@openssh.com" :
			   "publickey");
	buf_put_bool(b, true);
	buf_put_cstring(b, s->alg);
	buf_put_string(b, s->blob.p, s->blob.len);
	if (s->hostbound)
		buf_put_string(b, s->hostkey.p, s->hostkey.len);
}

static bool
host_is_ours(const struct login *l, struct span hostkey)
{
	const struct hostkeys *h = &l->state->keys;

	for (size_t i = 0; i < h->n; i++)
		if (buf_len(&h->v[i].public) == hostkey.len &&
		    memcmp(buf_data(&h->v[i].public), hostkey.p,
			hostkey.len) == 0)
			return true;
	return false;
}

void
login_verify_key(struct login *l, const struct login_signature *s,
    struct monitor_verdict *v)
{
	struct try t = { .method = "publickey" };
	struct permits permits = { 0 };
	struct buf data = { 0 };
	struct key *k = NULL;
	char *text = NULL, *line = NULL;
	struct span signed_data;

	if (auth_methods_may(&l->methods, t.method) &&
	    acceptable(l, s->alg, s->blob, &k, &permits) &&
	    (!s->hostbound || host_is_ours(l, s->hostkey))) {
		l->checked = true;
		put_signed_data(l, s, &data);
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
	conclude(l, &t, NULL, v);
	if (t.ok && strlist_add(&l->used_keys, text) != 0)
		fatal("out of memory");
	permits_clear(&permits);
	key_free(k);
	free(text);
	free(line);
	buf_clear(&data);
}
