/* SPDX-License-Identifier: ISC */
/*
 * Makes the list of the user's keys, plain and with certificates, in the order
 * in which they will be tried (client/auth/userauth-order.h). Then the key that
 * worked last time goes to the front.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/auth/agent-add.h"
#include "client/auth/userauth-internal.h"
#include "keys/agent-client.h"
#include "keys/cert.h"
#include "keys/key.h"
#include "keys/keyfile.h"

static void
candidate_clear(struct candidate *c)
{
	key_free(c->pub);
	key_free(c->priv);
	free(c->path);
	free(c->name);
	free(c->alg);
}

void
pubkey_state_free(struct pubkey_state *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		candidate_clear(&s->v[i]);
	free(s->v);
	agent_close(s->agent);
	p11_end(s->p11);
	free(s);
}

void
pubkey_forget(struct pubkey_state *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		key_free(s->v[i].priv);
		s->v[i].priv = NULL;
	}
	agent_close(s->agent);
	s->agent = NULL;
	p11_end(s->p11);
	s->p11 = NULL;
}

/* ---- files -------------------------------------------------------------- */

struct key_mark
pubkey_mark(const struct key *k)
{
	struct buf blob = { 0 };
	struct key_mark mark;
	int r = key_to_blob(k, &blob);

	if (r == 0)
		r = digest_once(DIGEST_SHA256, buf_data(&blob),
		    buf_len(&blob), mark.sha256);
	if (r != 0)
		fatal("%s", err_text(r));
	buf_clear(&blob);
	return mark;
}

bool
pubkey_is(const struct candidate *c, const struct key_mark *mark)
{
	return c->pub != NULL &&
	    memcmp(c->mark.sha256, mark->sha256, sizeof mark->sha256) == 0;
}

struct candidate *
pubkey_add(struct pubkey_state *s, struct key *pub,
    const struct key_mark *mark)
{
	size_t room = s->room;
	struct candidate *c;

	if (s->n == room) {
		s->room = MAX((size_t)16, 2 * room);
		s->v = xrecallocarray(s->v, room, s->room, sizeof *s->v);
	}
	c = &s->v[s->n++];
	*c = (struct candidate){ .pub = pub, .mark = *mark };
	return c;
}

static enum key_rank
rank_of(const struct key *k)
{
	return k != NULL && key_is_cert(k) ? KEY_RANK_CERTIFICATE :
					     KEY_RANK_PLAIN;
}

/* Is there a candidate with this key already, or, if the key is not known (mark
 * NULL), one of this file? */
static bool
is_placed(const struct pubkey_state *s, const struct key_mark *mark,
    const char *path)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct candidate *c = &s->v[i];

		if (mark != NULL ? pubkey_is(c, mark) :
				   c->pub == NULL && strcmp(c->path, path) == 0)
			return true;
	}
	return false;
}

/* A file of CertificateFile or IdentityFile, as given by the user or by
 * default. */
struct named_file {
	const char *path;
	bool is_explicit;
	enum key_group group;
};

/* Makes a candidate of the file, unless there is one. Takes k, its public key
 * or certificate (NULL: not known). path: the file of the private key (NULL:
 * none known). */
static void
place_file(struct pubkey_state *s, const struct named_file *f, struct key *k,
    const char *path)
{
	struct key_mark mark = { { 0 } };
	struct candidate *c;

	if (k != NULL)
		mark = pubkey_mark(k);
	if (is_placed(s, k != NULL ? &mark : NULL, path)) {
		key_free(k);
		return;
	}
	c = pubkey_add(s, k, &mark);
	c->path = path != NULL ? xstrdup(path) : NULL;
	c->name = xstrdup(f->path);
	c->priority = (struct key_priority){ f->group, f->is_explicit,
		rank_of(k) };
}

/* The number of the key's type in OpenSSH, which its programs print with -v. */
static int
number_of_type(const struct key *k)
{
	static const struct {
		const char *name;
		int number;
	} known[] = { { "RSA", 0 }, { "ECDSA", 2 }, { "ED25519", 3 },
		{ "RSA-CERT", 4 }, { "ECDSA-CERT", 6 }, { "ED25519-CERT", 7 },
		{ "ECDSA-SK", 10 }, { "ECDSA-SK-CERT", 11 },
		{ "ED25519-SK", 12 }, { "ED25519-SK-CERT", 13 } };
	enum { NO_KEY = -1, NONE_OF_THEIRS = 14 };

	if (k == NULL)
		return NO_KEY;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(key_short_name(k), known[i].name) == 0)
			return known[i].number;
	return NONE_OF_THEIRS;
}

static bool
is_user_certificate(const struct key *k)
{
	return key_is_cert(k) && key_cert(k)->kind == CERT_USER;
}

static void
add_certificate_file(struct pubkey_state *s, const struct named_file *f)
{
	struct key *k = NULL;
	int r = keyfile_load_public(f->path, &k, NULL);
	char *path;

	log_debug("certificate file %s type %d", f->path,
	    number_of_type(r == 0 ? k : NULL));
	if (r == 0 && !is_user_certificate(k)) {
		key_free(k);
		r = ERR_KEY_TYPE;
	}
	if (r != 0) {
		log_info("Certificate file %s: %s", f->path,
		    r == ERR_KEY_TYPE ? "it holds no certificate of a user" :
					err_text(r));
		return;
	}
	path = xstrndup(f->path, keyfile_private_len(f->path));
	place_file(s, f, k, strcmp(path, f->path) != 0 ? path : NULL);
	free(path);
}

/* Makes candidates of the certificates beside an IdentityFile. */
static void
add_beside(struct pubkey_state *s, const struct named_file *f)
{
	static const char *const ends[] = { "-cert", "-cert.pub" };
	int number = number_of_type(NULL);

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct key *k = NULL;
		char *path;

		xasprintf(&path, "%s%s", f->path, ends[i]);
		if (keyfile_load_public(path, &k, NULL) == 0 &&
		    is_user_certificate(k)) {
			number = number_of_type(k);
			place_file(s, f, k, f->path);
		} else {
			key_free(k);
		}
		free(path);
	}
	log_debug("identity file %s-cert type %d", f->path, number);
}

/* Adds an IdentityFile whose .pub file is a certificate. The certificate
 * becomes a candidate, and its plain key another one, because the private key
 * can log in without the certificate too. */
static void
add_certified(struct pubkey_state *s, const struct named_file *f,
    struct key *cert)
{
	char *path = xstrndup(f->path, keyfile_private_len(f->path));
	struct key *plain = NULL;

	if (key_public_of(key_identity(cert), &plain) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	if (is_user_certificate(cert))
		place_file(s, f, cert, path);
	else
		key_free(cert);
	place_file(s, f, plain, path);
	free(path);
}

/* Makes a candidate of an IdentityFile. missing: also if the file does not
 * exist. */
static void
add_identity_file(const struct userauth *ua, struct pubkey_state *s,
    const struct named_file *f, bool missing)
{
	struct key *pub = NULL;
	int r = keyfile_load_public(f->path, &pub, NULL);

	log_debug("identity file %s type %d", f->path,
	    number_of_type(r == 0 ? pub : NULL));
	if (r == 0 && key_is_cert(pub))
		add_certified(s, f, pub);
	else if (r == 0 || missing || access(f->path, F_OK) == 0)
		place_file(s, f, r == 0 ? pub : NULL, f->path);
	else
		log_debug3("no identity %s", f->path);
	if (ua->p.conf->auth.certificate_file.n == 0)
		add_beside(s, f);
}

static int
add_files(const struct userauth *ua, struct pubkey_state *s, const char *what,
    const struct strlist *names, enum key_group group, bool missing)
{
	const struct client_conf *conf = ua->p.conf;
	struct strlist paths = { 0 };
	int r = client_conf_expand_list(conf, what, names, &paths);

	for (size_t i = 0; r == 0 && i < paths.n; i++) {
		const struct named_file f = { paths.v[i],
			client_conf_is_explicit(conf, names->v[i]), group };

		if (group == KEY_OF_CERTIFICATE_FILE)
			add_certificate_file(s, &f);
		else
			add_identity_file(ua, s, &f, missing);
	}
	strlist_clear(&paths);
	return r;
}

/* ---- the agent ---------------------------------------------------------- */

/* Tells the agent for which host it will sign, so that it can use keys that are
 * bound to that host. An agent that does not know this request has no such
 * keys, so that is no error. */
static int
bind_agent(const struct userauth *ua, struct agent *a)
{
	int r = 0;

	if (buf_len(&ua->host_signature) > 0)
		r = agent_bind(a, buf_span(&ua->hostkey),
		    buf_span(&ua->session_id), buf_span(&ua->host_signature),
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

/* Moves the candidate with this public key to the end of the list. NULL: there
 * is no such candidate. */
static struct candidate *
move_to_end(struct pubkey_state *s, const struct key_mark *mark)
{
	for (size_t i = 0; i < s->n; i++) {
		struct candidate c;

		if (!pubkey_is(&s->v[i], mark))
			continue;
		c = s->v[i];
		memmove(s->v + i, s->v + i + 1,
		    (s->n - i - 1) * sizeof *s->v);
		s->v[s->n - 1] = c;
		return &s->v[s->n - 1];
	}
	return NULL;
}

static struct candidate *
find(struct pubkey_state *s, const struct key_mark *mark,
    enum key_group group)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].priority.group == group &&
		    pubkey_is(&s->v[i], mark))
			return &s->v[i];
	return NULL;
}

/* Adds a key of the agent, or marks the candidate that has the same key. The
 * agent's keys keep the order in which the agent lists them. named_only
 * (IdentitiesOnly): no keys that the configuration does not name. */
static void
add_agent_key(struct pubkey_state *s, struct agent_key *k, bool named_only)
{
	struct key_mark mark = pubkey_mark(k->key);
	struct candidate *c = find(s, &mark, KEY_OF_CERTIFICATE_FILE);

	if (c != NULL) {
		c->in_agent = true;
		return;
	}
	if (key_is_cert(k->key) && !is_user_certificate(k->key))
		return;
	c = move_to_end(s, &mark);
	if (c == NULL && named_only)
		return;
	if (c != NULL) {
		c->priority.group = KEY_OF_AGENT_NAMED;
	} else {
		c = pubkey_add(s, k->key, &mark);
		c->name = k->comment;
		c->priority = (struct key_priority){ KEY_OF_AGENT, false,
			rank_of(k->key) };
		k->key = NULL;
		k->comment = NULL;
	}
	c->in_agent = true;
}

static void
add_agent(const struct userauth *ua, struct pubkey_state *s)
{
	struct agent_key *keys;
	size_t count;

	(void)!open_agent(ua, s, &keys, &count);
	for (size_t i = 0; i < count; i++)
		add_agent_key(s, &keys[i], ua->p.conf->auth.identities_only);
	agent_keys_free(keys, count);
}

/* ---- who signs for a certificate ---------------------------------------- */

/* The candidate with the plain key of this certificate; NULL: there is none. */
static const struct candidate *
find_plain(const struct pubkey_state *s, const struct key *cert)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].pub != NULL && !key_is_cert(s->v[i].pub) &&
		    key_same_identity(s->v[i].pub, cert))
			return &s->v[i];
	return NULL;
}

/* Finds what will sign for a certificate: a file with the private key, the
 * agent or a token. False: nothing can, which was logged. */
static bool
find_signer(const struct pubkey_state *s, struct candidate *c)
{
	const struct candidate *plain;

	if (c->in_agent || c->in_token || c->pub == NULL ||
	    !key_is_cert(c->pub))
		return true;
	plain = find_plain(s, c->pub);
	if (plain != NULL && plain->path != NULL) {
		free(c->path);
		c->path = xstrdup(plain->path);
	}
	if (plain != NULL && plain->in_agent)
		c->in_agent = c->plain_in_agent = true;
	c->in_token = plain != NULL && plain->in_token;
	if (c->in_agent || c->in_token ||
	    (c->path != NULL && access(c->path, F_OK) == 0))
		return true;
	log_info("Certificate %s: there is no private key for it", c->name);
	return false;
}

static void
find_signers(struct pubkey_state *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (find_signer(s, &s->v[i]))
			continue;
		candidate_clear(&s->v[i]);
		memset(&s->v[i], 0, sizeof s->v[i]);
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].name != NULL || s->v[i].pub != NULL)
			s->v[kept++] = s->v[i];
	s->n = kept;
}

/* ---- the order ---------------------------------------------------------- */

static void
put_in_order(struct pubkey_state *s)
{
	struct key_priority *priorities = xcalloc(s->n + 1, sizeof *priorities);
	struct candidate *v = xcalloc(s->n + 1, sizeof *v);
	size_t *order = xcalloc(s->n + 1, sizeof *order);

	for (size_t i = 0; i < s->n; i++)
		priorities[i] = s->v[i].priority;
	userauth_order(priorities, s->n, order);
	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[order[i]];
	free(s->v);
	s->v = v;
	s->room = s->n + 1;
	free(priorities);
	free(order);
}

/* The hint for a key: its fingerprint. For a certificate, the fingerprints of
 * its key and of its authority, so that a renewed certificate has the same
 * hint. Caller frees; NULL: memory is out. */
static char *
hint_of(const struct key *k)
{
	char *fp = key_fingerprint(k, DIGEST_SHA256), *ca, *hint;

	if (fp == NULL || !key_is_cert(k))
		return fp;
	ca = key_fingerprint(key_cert(k)->ca, DIGEST_SHA256);
	if (ca == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	xasprintf(&hint, "%s@%s", fp, ca);
	free(ca);
	free(fp);
	return hint;
}

static bool
is_hinted(const struct userauth *ua, const struct candidate *c)
{
	char *fp;
	bool same;

	if (ua->key_hint == NULL || c->pub == NULL)
		return false;
	fp = hint_of(c->pub);
	same = fp != NULL && strcmp(fp, ua->key_hint) == 0;
	free(fp);
	return same;
}

bool
pubkey_is_hinted_first(const struct userauth *ua)
{
	return ua->pubkey->n > 0 && is_hinted(ua, &ua->pubkey->v[0]);
}

/* Moves the key that worked last time to the front of the list. */
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

/* Keeps only the key that worked last time, and keys whose public half is not
 * known yet, because one of them may be that key. */
static void
drop_others(const struct userauth *ua, struct pubkey_state *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].pub == NULL || is_hinted(ua, &s->v[i]))
			s->v[kept++] = s->v[i];
		else
			candidate_clear(&s->v[i]);
	}
	s->n = kept;
}

const struct key *
pubkey_loaded(const struct pubkey_state *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].priv != NULL &&
		    (&s->v[i] == c || (c->pub != NULL &&
			key_same_identity(s->v[i].priv, c->pub))))
			return s->v[i].priv;
	return NULL;
}

/* Do all candidates have the same plain key? */
static bool
is_one_key(const struct pubkey_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!key_same_identity(s->v[0].pub, s->v[i].pub))
			return false;
	return true;
}

/*
 * Loads the private key of the first candidate if it worked last time or is the
 * only key: such a key will have to sign anyway, so it signs the first request.
 * This is not done for a key of the agent, which may ask the user for a
 * confirmation: that would be for nothing if the server refuses the key.
 */
static void
load_if_it_signs_first(const struct userauth *ua, struct pubkey_state *s)
{
	struct candidate *c = s->v;
	struct key *priv = NULL;
	char *comment = NULL;

	/* Security keys are left out too: the user would have to touch them. */
	if (s->n == 0 || c->path == NULL || c->pub == NULL ||
	    key_sk(c->pub) != NULL ||
	    (s->n > 1 && !is_hinted(ua, c) && !is_one_key(s)))
		return;
	if (keyfile_load_private(c->path, NULL, true, &priv, &comment) != 0)
		return;
	if (key_same_identity(c->pub, priv)) {
		c->priv = priv;
		if (!c->in_agent)
			agent_add_loaded(ua->p.conf, c->path, priv, comment);
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
	return c->pub != NULL ? hint_of(c->pub) : NULL;
}

bool
pubkey_used_is_security_key(const struct userauth *ua)
{
	const struct pubkey_state *s = ua->pubkey;

	return s != NULL && s->current < s->n &&
	    s->v[s->current].pub != NULL &&
	    key_sk(s->v[s->current].pub) != NULL;
}

void
pubkey_describe(const struct candidate *c, struct buf *out)
{
	char *fp;

	buf_printf(out, "%s ", c->name != NULL ? c->name : "");
	if (c->pub != NULL) {
		fp = key_fingerprint(c->pub, DIGEST_SHA256);
		buf_printf(out, "%s %s", key_short_name(c->pub),
		    fp != NULL ? fp : "");
		free(fp);
	}
	buf_printf(out, "%s%s%s", c->priority.is_explicit ? " explicit" : "",
	    c->in_token ? " token" : "", c->in_agent ? " agent" : "");
}

/* Will log_debug() be written anywhere? If not, the fingerprints of thousands
 * of keys need not be made. */
static bool
somebody_reads(void)
{
	return log_get_level() >= LOG_LVL_DEBUG1 || log_locations()->n > 0;
}

static void
log_list(const struct pubkey_state *s)
{
	if (!somebody_reads())
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct buf text = { 0 };

		pubkey_describe(&s->v[i], &text);
		log_debug("Will attempt key: %.*s", (int)buf_len(&text),
		    (const char *)buf_data(&text));
		buf_clear(&text);
	}
}

static int
make_list(struct userauth *ua, struct pubkey_state *s, bool missing)
{
	const struct client_conf *conf = ua->p.conf;
	int r;

	pubkey_add_issued(ua, s);
	r = add_files(ua, s, "CertificateFile", &conf->auth.certificate_file,
	    KEY_OF_CERTIFICATE_FILE, missing);
	if (r == 0)
		r = add_files(ua, s, "IdentityFile",
		    &conf->auth.identity_file, KEY_OF_FILE, missing);
	if (r != 0)
		return r;
	pubkey_add_tokens(ua, s);
	add_agent(ua, s);
	find_signers(s);
	put_in_order(s);
	return 0;
}

/* Makes ua->pubkey with all keys that may be tried. */
static int
make_state(struct userauth *ua)
{
	struct pubkey_state *s = xcalloc(1, sizeof *s);
	int r;

	ua->pubkey = s;
	if ((r = make_list(ua, s, false)) != 0)
		return r;
	put_hinted_first(ua, s);
	if (ua->p.hinted_only)
		drop_others(ua, s);
	return 0;
}

int
pubkey_make_list(struct userauth *ua)
{
	int r = make_state(ua);

	if (r == 0)
		r = pubkey_renew_certificate(ua);
	if (r != 0)
		return r;
	if (ua->state == USERAUTH_SERVICE_REQUESTED)
		load_if_it_signs_first(ua, ua->pubkey);
	log_list(ua->pubkey);
	return 0;
}

int
pubkey_list_again(struct userauth *ua)
{
	struct pubkey_state *old = ua->pubkey;
	int r = make_state(ua);

	for (size_t i = 0; r == 0 && i < ua->pubkey->n; i++) {
		struct candidate *c = &ua->pubkey->v[i];

		for (size_t k = 0; !c->tried && k < old->n; k++)
			c->tried = old->v[k].tried && c->pub != NULL &&
			    pubkey_is(&old->v[k], &c->mark);
	}
	ua->pubkey->flight_sent = old->flight_sent;
	ua->pubkey->pin_was_wrong = old->pin_was_wrong;
	pubkey_state_free(old);
	return r;
}

/* Is there an algorithm for the key in PubkeyAcceptedAlgorithms? True for a key
 * whose type is not known yet. */
static bool
is_accepted(const struct client_conf *conf, const struct candidate *c)
{
	const char *pos = conf->algs.pubkey_accepted_algorithms, *name;
	bool found = c->pub == NULL;
	size_t len;

	while (!found && csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);

		found = key_serves(c->pub, copy);
		free(copy);
	}
	return found;
}

int
userauth_list_keys(const struct client_conf *conf, struct buf *out)
{
	struct userauth ua = { .p.conf = conf };
	struct pubkey_state *s = xcalloc(1, sizeof *s);
	int r = make_list(&ua, s, true);

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		if (!is_accepted(conf, &s->v[i]))
			continue;
		pubkey_describe(&s->v[i], out);
		buf_put_u8(out, '\n');
		r = buf_err(out);
	}
	pubkey_state_free(s);
	return r;
}
