/* SPDX-License-Identifier: ISC */
/*
 * Public key authentication (RFC 4252 section 7, RFC 8332, and
 * publickey-hostbound-v00@openssh.com, whose signature names the host).
 *
 * A key whose public half is at hand is first offered without a signature,
 * so that no passphrase is asked for in vain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/prompt.h"
#include "client/userauth-internal.h"
#include "keys/agent-client.h"
#include "keys/key.h"
#include "keys/keyfile.h"

#define METHOD_PLAIN "publickey"
#define METHOD_BOUND "publickey-hostbound-v00@openssh.com"

struct identity {
	struct key *pub;  /* NULL: not known without the passphrase */
	struct key *priv; /* loaded */
	char *path;	  /* file; NULL: in the agent only */
	char *name;	  /* for texts: path or comment */
	bool in_agent;
	bool spent; /* it was tried, or it already did its part */
};

struct pubkey_state {
	struct identity *v; /* in the order of trying */
	size_t n;
	size_t current; /* whose answer is awaited */
	char *alg;	/* signature algorithm of it */
	struct agent *agent;
};

void
pubkey_state_free(struct pubkey_state *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		key_free(s->v[i].pub);
		key_free(s->v[i].priv);
		free(s->v[i].path);
		free(s->v[i].name);
	}
	free(s->v);
	free(s->alg);
	agent_close(s->agent);
	free(s);
}

/* ---- the list of keys --------------------------------------------------- */

static struct identity *
add_identity(struct pubkey_state *s)
{
	s->v = xrecallocarray(s->v, s->n, s->n + 1, sizeof *s->v);
	return &s->v[s->n++];
}

static void
add_file(const struct userauth *ua, struct pubkey_state *s, const char *path)
{
	struct identity *id;
	struct key *pub = NULL;
	int r = keyfile_load_public(path, &pub, NULL);

	if (r != 0 && access(path, F_OK) == -1) {
		if (ua->p.conf->identity_file_given)
			log_info("Identity file %s: %s", path,
			    err_text(ERR_SYSTEM));
		else
			log_debug3("no identity %s", path);
		return;
	}
	for (size_t i = 0; i < s->n; i++) {
		if ((pub != NULL && s->v[i].pub != NULL &&
			key_equal_public(pub, s->v[i].pub)) ||
		    strcmp(s->v[i].path, path) == 0) {
			key_free(pub);
			return;
		}
	}
	id = add_identity(s);
	id->pub = r == 0 ? pub : NULL;
	id->path = xstrdup(path);
	id->name = xstrdup(path);
}

/* $SSH_AUTH_SOCK, or what IdentityAgent says; NULL: none. */
static char *
agent_path(const struct client_conf *conf)
{
	const char *text = conf->identity_agent, *env = NULL;
	char *path;

	if (text == NULL || strcmp(text, "SSH_AUTH_SOCK") == 0)
		env = "SSH_AUTH_SOCK";
	else if (text[0] == '$' && text[1] != '{')
		env = text + 1;
	if (env != NULL) {
		const char *value = getenv(env);

		return value != NULL && *value != '\0' ? xstrdup(value) : NULL;
	}
	if (strcmp(text, "none") == 0 ||
	    client_conf_expand(conf, CLIENT_TOKENS_PATH, "IdentityAgent", text,
		&path) != 0)
		return NULL;
	return path;
}

static int
open_agent(const struct client_conf *conf, struct pubkey_state *s,
    struct agent_key **keys, size_t *count)
{
	char *path = agent_path(conf);
	int r = ERR_NOT_FOUND;

	*keys = NULL;
	*count = 0;
	if (path != NULL) {
		r = agent_open(&s->agent, path);
		if (r == 0)
			r = agent_list(s->agent, keys, count);
		if (r != 0)
			log_debug("agent at %s: %s", path, err_text(r));
	}
	free(path);
	return r;
}

static bool
is_placed(const struct pubkey_state *s, const struct key *k)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].pub != NULL && key_equal_public(s->v[i].pub, k))
			return true;
	return false;
}

/* Takes an identity out of `from` to the end of `to`. */
static void
move_identity(struct pubkey_state *to, struct identity *from)
{
	*add_identity(to) = *from;
	memset(from, 0, sizeof *from);
}

/*
 * Keys that the agent holds come first, those named in the configuration
 * before the others; then the files that have to be read.
 */
static void
merge(struct pubkey_state *s, struct pubkey_state *files,
    struct agent_key *keys, size_t count, bool named_only)
{
	for (size_t i = 0; i < files->n; i++) {
		for (size_t j = 0; j < count; j++) {
			if (files->v[i].pub == NULL ||
			    !key_equal_public(files->v[i].pub, keys[j].key))
				continue;
			files->v[i].in_agent = true;
			move_identity(s, &files->v[i]);
			break;
		}
	}
	for (size_t j = 0; j < count && !named_only; j++) {
		struct identity *id;

		if (is_placed(s, keys[j].key))
			continue;
		id = add_identity(s);
		id->in_agent = true;
		id->pub = keys[j].key;
		id->name = keys[j].comment;
		keys[j].key = NULL;
		keys[j].comment = NULL;
	}
	for (size_t i = 0; i < files->n; i++)
		if (files->v[i].path != NULL)
			move_identity(s, &files->v[i]);
}

static bool
is_hinted(const struct userauth *ua, const struct identity *id)
{
	char *fp;
	bool same;

	if (ua->key_hint == NULL || id->pub == NULL)
		return false;
	fp = key_fingerprint(id->pub, DIGEST_SHA256);
	same = fp != NULL && strcmp(fp, ua->key_hint) == 0;
	free(fp);
	return same;
}

/* The key that worked last time goes to the front. */
static void
put_hinted_first(const struct userauth *ua, struct pubkey_state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct identity hinted = s->v[i];

		if (!is_hinted(ua, &hinted))
			continue;
		memmove(s->v + 1, s->v, i * sizeof *s->v);
		s->v[0] = hinted;
		return;
	}
}

/*
 * A key that worked last time, or that is the only one, will have to sign
 * anyway, so it does it at once. Not those of an agent: it may want a
 * confirmation, which nobody should be asked for in vain.
 */
static void
load_if_sure(const struct userauth *ua, struct pubkey_state *s)
{
	struct identity *id = s->v;
	struct key *priv = NULL;

	if (s->n == 0 || id->path == NULL || id->pub == NULL ||
	    (s->n > 1 && !is_hinted(ua, id)))
		return;
	if (keyfile_load_private(id->path, NULL, true, &priv, NULL) != 0)
		return;
	if (key_equal_public(id->pub, priv)) {
		id->priv = priv;
		id->in_agent = false;
	} else {
		key_free(priv);
	}
}

char *
pubkey_used(const struct userauth *ua)
{
	const struct pubkey_state *s = ua->pubkey;
	const struct identity *id;

	if (s == NULL || s->current >= s->n)
		return NULL;
	id = &s->v[s->current];
	return id->path != NULL && id->pub != NULL ?
	    key_fingerprint(id->pub, DIGEST_SHA256) :
	    NULL;
}

static int
make_list(struct userauth *ua)
{
	const struct client_conf *conf = ua->p.conf;
	struct pubkey_state files = { 0 }, *s = xcalloc(1, sizeof *s);
	struct strlist paths = { 0 };
	struct agent_key *keys;
	size_t count;
	int r;

	ua->pubkey = s;
	r = client_conf_expand_list(conf, "IdentityFile",
	    &conf->identity_file, &paths);
	if (r != 0)
		return r;
	for (size_t i = 0; i < paths.n; i++)
		add_file(ua, &files, paths.v[i]);
	strlist_clear(&paths);
	(void)!open_agent(conf, s, &keys, &count);
	merge(s, &files, keys, count, conf->identities_only);
	agent_keys_free(keys, count);
	free(files.v);
	put_hinted_first(ua, s);
	if (!ua->service_accepted)
		load_if_sure(ua, s);
	for (size_t i = 0; i < s->n; i++)
		log_debug("key to try: %s%s",
		    s->v[i].name != NULL ? s->v[i].name : "(no comment)",
		    s->v[i].in_agent ? " (agent)" : "");
	return 0;
}

/* ---- one key ------------------------------------------------------------ */

/*
 * The signature algorithm: ours in our order, as far as the server told that
 * it takes them. A server that told nothing is asked with our first one.
 */
static char *
choose_alg(const struct userauth *ua, const struct key *k)
{
	const char *pos = ua->p.conf->pubkey_accepted_algorithms, *name;
	const char *theirs = ua->server_sig_algs;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);

		if (key_serves(k, copy) &&
		    (theirs == NULL || csv_has(theirs, copy)))
			return copy;
		free(copy);
	}
	return NULL;
}

/* Everything of the request up to the signature; the host key belongs to it
 * with the bound method. */
static int
put_key_request(const struct userauth *ua, struct buf *b, const char *alg,
    const struct key *k, bool with_signature)
{
	struct buf blob = { 0 };
	int r = key_to_blob(k, &blob);

	if (r == 0) {
		userauth_put_request(ua, b,
		    ua->hostbound ? METHOD_BOUND : METHOD_PLAIN);
		buf_put_bool(b, with_signature);
		buf_put_cstring(b, alg);
		buf_put_string_buf(b, &blob);
		if (ua->hostbound)
			buf_put_string_buf(b, &ua->hostkey);
		r = buf_err(b);
	}
	buf_clear(&blob);
	return r;
}

static void
warn_permissions(const char *path)
{
	struct stat sb;

	if (stat(path, &sb) == -1)
		memset(&sb, 0, sizeof sb);
	log_error("WARNING: UNPROTECTED PRIVATE KEY FILE! Permissions %04o "
		  "for '%s' are too open; this key is not used.",
	    (unsigned)(sb.st_mode & 07777), path);
}

/* Tries without a passphrase, then asks for one. */
static int
load_private(const struct userauth *ua, struct identity *id)
{
	int tries = ua->p.conf->number_of_password_prompts, r;
	char *text, *pass;

	r = keyfile_load_private(id->path, NULL, true, &id->priv, NULL);
	if (r != ERR_PASSPHRASE || ua->p.conf->batch_mode)
		goto out;
	xasprintf(&text, "Enter passphrase for key '%s': ", id->path);
	while (r == ERR_PASSPHRASE && tries-- > 0) {
		pass = prompt_ask(text, PROMPT_HIDDEN);
		if (pass == NULL || *pass == '\0') {
			prompt_free(pass);
			break;
		}
		r = keyfile_load_private(id->path, pass, true, &id->priv,
		    NULL);
		prompt_free(pass);
		if (r == ERR_PASSPHRASE)
			log_debug("wrong passphrase for %s", id->path);
	}
	free(text);
out:
	if (r == ERR_PERMISSION)
		warn_permissions(id->path);
	else if (r != 0 && r != ERR_PASSPHRASE)
		log_error("Load key \"%s\": %s", id->path, err_text(r));
	if (r == 0 && id->pub != NULL && !key_equal_public(id->pub, id->priv)) {
		log_error("Load key \"%s\": the private key is not that of "
			  "the .pub file beside it",
		    id->path);
		key_free(id->priv);
		id->priv = NULL;
		r = ERR_FORMAT;
	}
	return r;
}

static int
sign(struct userauth *ua, struct identity *id, const char *alg,
    const struct buf *request, struct buf *signature)
{
	struct buf data = { 0 };
	struct span text;
	int r;

	if (!id->in_agent && id->priv == NULL &&
	    (r = load_private(ua, id)) != 0)
		return r;
	buf_put_string_buf(&data, &ua->session_id);
	buf_put_buf(&data, request);
	if ((r = buf_err(&data)) == 0) {
		text = (struct span){ buf_data(&data), buf_len(&data) };
		r = id->in_agent ?
		    agent_sign(ua->pubkey->agent, id->pub, alg, text,
			signature) :
		    key_sign(id->priv, alg, text, signature);
		if (r != 0)
			log_error("Signing with the %s key %s failed: %s",
			    key_short_name(id->pub), id->name, err_text(r));
	}
	buf_clear(&data);
	return r;
}

/* 1 sent; 0 if the key is of no use after all. */
static int
send_signed(struct userauth *ua, struct identity *id, const char *alg)
{
	struct buf b = { 0 }, signature = { 0 };
	int r;

	if (id->pub == NULL && id->priv == NULL)
		return 0;
	r = put_key_request(ua, &b, alg,
	    id->pub != NULL ? id->pub : id->priv, true);
	if (r != 0)
		goto out;
	if (sign(ua, id, alg, &b, &signature) != 0)
		goto out;
	buf_put_string_buf(&b, &signature);
	r = userauth_send(ua, &b);
	if (r == 0)
		r = 1;
out:
	buf_clear(&b);
	buf_clear(&signature);
	return r;
}

static int
send_probe(struct userauth *ua, struct identity *id, const char *alg)
{
	struct buf b = { 0 };
	int r = put_key_request(ua, &b, alg, id->pub, false);

	if (r != 0) {
		buf_clear(&b);
		return r;
	}
	r = userauth_send(ua, &b);
	return r != 0 ? r : 1;
}

static int
try_identity(struct userauth *ua, struct identity *id)
{
	struct pubkey_state *s = ua->pubkey;
	const struct key *k;
	int r;

	if (id->pub == NULL && id->priv == NULL && load_private(ua, id) != 0)
		return 0;
	if (id->pub == NULL &&
	    key_public_of(id->priv, &id->pub) != 0)
		return 0;
	k = id->pub;
	if (key_check_length(k, (unsigned)ua->p.conf->required_rsa_size) != 0) {
		log_info("Skipping %s key %s: too short (RequiredRSASize)",
		    key_short_name(k), id->name);
		return 0;
	}
	free(s->alg);
	if ((s->alg = choose_alg(ua, k)) == NULL) {
		log_info("Skipping %s key %s: no mutual signature algorithm",
		    key_short_name(k), id->name);
		return 0;
	}
	log_debug("Offering public key: %s %s", id->name, s->alg);
	s->current = (size_t)(id - s->v);
	if (id->priv == NULL)
		return send_probe(ua, id, s->alg);
	r = send_signed(ua, id, s->alg);
	ua->sure = r == 1 && !ua->service_accepted;
	/* No PK_OK is awaited. */
	free(s->alg);
	s->alg = NULL;
	return r;
}

/* ---- the method --------------------------------------------------------- */

static bool
pubkey_enabled(const struct userauth *ua)
{
	return ua->p.conf->pubkey_authentication;
}

static int
pubkey_next(struct userauth *ua)
{
	int r;

	if (ua->pubkey == NULL && (r = make_list(ua)) != 0)
		return r;
	for (size_t i = 0; i < ua->pubkey->n; i++) {
		struct identity *id = &ua->pubkey->v[i];

		if (id->spent)
			continue;
		id->spent = true;
		if ((r = try_identity(ua, id)) != 0)
			return r;
	}
	return 0;
}

/* PK_OK: the server would take this key. */
static int
pubkey_input(struct userauth *ua, uint8_t type, struct rd body)
{
	struct pubkey_state *s = ua->pubkey;
	struct span alg = rd_string(&body), blob = rd_string(&body);
	struct buf mine = { 0 };
	struct identity *id;
	bool same;
	int r;

	if (type != SSH_MSG_USERAUTH_PK_OK || s == NULL || s->alg == NULL)
		return USERAUTH_UNKNOWN;
	if ((r = rd_end(&body)) != 0)
		return r;
	id = &s->v[s->current];
	if ((r = key_to_blob(id->pub, &mine)) != 0)
		goto out;
	same = blob.len == buf_len(&mine) &&
	    memcmp(blob.p, buf_data(&mine), blob.len) == 0;
	buf_clear(&mine);
	if (!same || !span_equals(alg, s->alg)) {
		log_error("The server accepts a key that was not offered.");
		return ERR_PROTOCOL;
	}
	log_debug("Server accepts key: %s", id->name);
	r = send_signed(ua, id, s->alg);
	/* One signature an answer. */
	free(s->alg);
	s->alg = NULL;
	if (r == 0)
		return userauth_advance(ua);
	return r < 0 ? r : 0;
out:
	buf_clear(&mine);
	return r;
}

/* The key that did its part stays spent; the others get another chance. */
static void
pubkey_partial(struct userauth *ua)
{
	struct pubkey_state *s = ua->pubkey;

	for (size_t i = 0; i < s->n; i++)
		if (i != s->current)
			s->v[i].spent = false;
}

const struct userauth_ops userauth_pubkey = {
	.name = "publickey",
	.enabled = pubkey_enabled,
	.next = pubkey_next,
	.input = pubkey_input,
	.partial = pubkey_partial,
};
