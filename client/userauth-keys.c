/* SPDX-License-Identifier: ISC */
/*
 * The user's keys, in the order in which they will be tried: those of the
 * agent, then those of files; the one that worked last time is the first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/agent-add.h"
#include "client/userauth-internal.h"
#include "keys/agent-client.h"
#include "keys/key.h"
#include "keys/keyfile.h"

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
		free(s->v[i].alg);
	}
	free(s->v);
	agent_close(s->agent);
	free(s);
}

static struct candidate *
add_candidate(struct pubkey_state *s)
{
	s->v = xrecallocarray(s->v, s->n, s->n + 1, sizeof *s->v);
	return &s->v[s->n++];
}

static void
add_file(const struct userauth *ua, struct pubkey_state *s, const char *path)
{
	struct candidate *c;
	struct key *pub = NULL;
	int r = keyfile_load_public(path, &pub, NULL);

	if (r != 0 && access(path, F_OK) == -1) {
		if (ua->p.conf->auth.identity_file_given)
			log_info("Identity file %s: %s", path,
			    err_text(ERR_SYSTEM));
		else
			log_debug3("no identity %s", path);
		return;
	}
	/* The private key can log in without the certificate beside it, which
	 * is not offered in this version. */
	if (r == 0 && key_is_cert(pub)) {
		key_free(pub);
		pub = NULL;
		r = ERR_KEY_TYPE;
	}
	for (size_t i = 0; i < s->n; i++) {
		if ((pub != NULL && s->v[i].pub != NULL &&
			key_equal_public(pub, s->v[i].pub)) ||
		    strcmp(s->v[i].path, path) == 0) {
			key_free(pub);
			return;
		}
	}
	c = add_candidate(s);
	c->pub = r == 0 ? pub : NULL;
	c->path = xstrdup(path);
	c->name = xstrdup(path);
}

static struct span
span_of(const struct buf *b)
{
	return (struct span){ buf_data(b), buf_len(b) };
}

/* Tells the agent which host this is for. An agent that does not know that
 * request has no keys that are bound to hosts. */
static int
bind_agent(const struct userauth *ua, struct agent *a)
{
	int r = 0;

	if (buf_len(&ua->host_signature) > 0)
		r = agent_bind(a, span_of(&ua->hostkey),
		    span_of(&ua->session_id), span_of(&ua->host_signature),
		    false);
	if (r == ERR_AGENT)
		log_debug("the agent does not bind keys to destinations");
	return r == ERR_AGENT ? 0 : r;
}

static int
open_agent(const struct userauth *ua, struct pubkey_state *s,
    struct agent_key **keys, size_t *count)
{
	char *path = client_conf_agent(ua->p.conf);
	int r = ERR_NOT_FOUND;

	*keys = NULL;
	*count = 0;
	if (path != NULL) {
		r = agent_open(&s->agent, path);
		if (r == 0)
			r = bind_agent(ua, s->agent);
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

/* Moves a candidate to the end of `to`; *from is empty then. */
static void
move_candidate(struct pubkey_state *to, struct candidate *from)
{
	*add_candidate(to) = *from;
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
			move_candidate(s, &files->v[i]);
			break;
		}
	}
	for (size_t j = 0; j < count && !named_only; j++) {
		struct candidate *c;

		/* Certificates are not offered in this version. */
		if (key_is_cert(keys[j].key) || is_placed(s, keys[j].key))
			continue;
		c = add_candidate(s);
		c->in_agent = true;
		c->pub = keys[j].key;
		c->name = keys[j].comment;
		keys[j].key = NULL;
		keys[j].comment = NULL;
	}
	for (size_t i = 0; i < files->n; i++)
		if (files->v[i].path != NULL)
			move_candidate(s, &files->v[i]);
}

static bool
is_hinted(const struct userauth *ua, const struct candidate *c)
{
	char *fp;
	bool same;

	if (ua->key_hint == NULL || c->pub == NULL)
		return false;
	fp = key_fingerprint(c->pub, DIGEST_SHA256);
	same = fp != NULL && strcmp(fp, ua->key_hint) == 0;
	free(fp);
	return same;
}

bool
pubkey_is_hinted_first(const struct userauth *ua)
{
	return ua->pubkey->n > 0 && is_hinted(ua, &ua->pubkey->v[0]);
}

/* The key that worked last time goes to the front. */
static void
put_hinted_first(const struct userauth *ua, struct pubkey_state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct candidate hinted = s->v[i];

		if (!is_hinted(ua, &hinted))
			continue;
		memmove(s->v + 1, s->v, i * sizeof *s->v);
		s->v[0] = hinted;
		return;
	}
}

/*
 * A key that worked last time, or that is the only one, will have to sign
 * anyway, so it signs the first request. Not those of an agent: it may ask the
 * user for a confirmation, which would be for nothing if the server refuses the
 * key.
 */
static void
load_if_it_signs_first(const struct userauth *ua, struct pubkey_state *s)
{
	struct candidate *c = s->v;
	struct key *priv = NULL;
	char *comment = NULL;

	if (s->n == 0 || c->path == NULL || c->pub == NULL ||
	    (s->n > 1 && !is_hinted(ua, c)))
		return;
	if (keyfile_load_private(c->path, NULL, true, &priv, &comment) != 0)
		return;
	if (key_equal_public(c->pub, priv)) {
		c->priv = priv;
		if (!c->in_agent)
			agent_add_loaded(ua->p.conf, c->path, priv, comment);
		c->in_agent = false;
	} else {
		key_free(priv);
	}
	free(comment);
}

char *
pubkey_used(const struct userauth *ua)
{
	const struct pubkey_state *s = ua->pubkey;
	const struct candidate *c;

	if (s == NULL || s->current >= s->n)
		return NULL;
	c = &s->v[s->current];
	return c->pub != NULL ? key_fingerprint(c->pub, DIGEST_SHA256) :
				 NULL;
}

int
pubkey_make_list(struct userauth *ua)
{
	const struct client_conf *conf = ua->p.conf;
	struct pubkey_state files = { 0 }, *s = xcalloc(1, sizeof *s);
	struct strlist paths = { 0 };
	struct agent_key *keys;
	size_t count;
	int r;

	ua->pubkey = s;
	r = client_conf_expand_list(conf, "IdentityFile",
	    &conf->auth.identity_file, &paths);
	if (r != 0)
		return r;
	for (size_t i = 0; i < paths.n; i++)
		add_file(ua, &files, paths.v[i]);
	strlist_clear(&paths);
	(void)!open_agent(ua, s, &keys, &count);
	merge(s, &files, keys, count, conf->auth.identities_only);
	agent_keys_free(keys, count);
	free(files.v);
	put_hinted_first(ua, s);
	if (ua->state == USERAUTH_SERVICE_REQUESTED)
		load_if_it_signs_first(ua, s);
	for (size_t i = 0; i < s->n; i++)
		log_debug("key to try: %s%s",
		    s->v[i].name != NULL ? s->v[i].name : "(no comment)",
		    s->v[i].in_agent ? " (agent)" : "");
	return 0;
}
