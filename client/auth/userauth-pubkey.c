/* SPDX-License-Identifier: ISC */
/*
 * Public key authentication (RFC 4252 section 7, RFC 8332, and
 * publickey-hostbound-v00@openssh.com, whose signature names the host).
 *
 * A key whose public half is known is first offered without a signature, so
 * that the user is not asked for the passphrase of a key that the server does
 * not accept. If the server answers every request in its turn (RFC 4252 section
 * 5.1), the first few keys are offered at once, without waiting for answers.
 * The server counts each refusal, also of keys behind the one that it accepts,
 * so only as many are offered at once as strict servers allow tries.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/str.h"
#include "client/auth/agent-add.h"
#include "client/auth/userauth-internal.h"
#include "client/auth/userauth-sk.h"
#include "keys/agent-client.h"
#include "keys/key.h"
#include "keys/keyfile.h"
#include "keys/sk-client.h"

#define METHOD_PLAIN "publickey"
#define METHOD_BOUND "publickey-hostbound-v00@openssh.com"

/* ---- one key ------------------------------------------------------------ */

/* The algorithm's name in a signature: for an algorithm with certificates, that
 * of the plain key. */
static const char *
plain_alg(const char *alg)
{
	const struct key_alg *row = key_alg_by_cert_name(alg);

	return row != NULL ? row->name : alg;
}

/*
 * Chooses the signature algorithm for the key: the first one of
 * PubkeyAcceptedAlgorithms that the server accepts, or just the first one if
 * the server did not say what it accepts. Caller frees; NULL: there is none.
 */
static char *
choose_alg(const struct userauth *ua, const struct key *k)
{
	const char *pos = ua->p.conf->algs.pubkey_accepted_algorithms, *name;
	const char *theirs = ua->server_sig_algs;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);

		if (key_serves(k, copy) && sk_can_sign(copy) &&
		    (theirs == NULL || csv_has(theirs, plain_alg(copy))))
			return copy;
		free(copy);
	}
	return NULL;
}

/* Appends the request without its signature. With the host-bound method it has
 * the host key too. */
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
	log_error("Load key \"%s\": bad permissions", path); /* as stock */
}

/* Loads the private key of the file: first without a passphrase, then with the
 * one that the user gives. */
static int
load_private(struct userauth *ua, struct candidate *c)
{
	int tries = ua->p.conf->auth.number_of_password_prompts, r;
	char *text, *pass, *comment = NULL;

	r = keyfile_load_private(c->path, NULL, true, &c->priv, &comment);
	if (r != ERR_PASSPHRASE || ua->p.conf->auth.batch_mode)
		goto out;
	xasprintf(&text, "Enter passphrase for key '%s': ", c->path);
	while (r == ERR_PASSPHRASE && tries-- > 0) {
		pass = prompt_ask(text, PROMPT_HIDDEN);
		if (pass == NULL || *pass == '\0') {
			prompt_free(pass);
			break;
		}
		r = keyfile_load_private(c->path, pass, true, &c->priv,
		    &comment);
		prompt_free(pass);
		if (r == ERR_PASSPHRASE)
			log_debug("wrong passphrase for %s", c->path);
		else if (r == 0)
			userauth_keep_answer(ua, NULL);
	}
	free(text);
out:
	if (r == ERR_PERMISSION)
		warn_permissions(c->path);
	else if (r != 0 && r != ERR_PASSPHRASE)
		log_error("Load key \"%s\": %s", c->path, err_text(r));
	if (r == 0 && c->pub != NULL && !key_same_identity(c->pub, c->priv)) {
		log_error("Load key \"%s\": the private key is not that of "
			  "the %s",
		    c->path, key_is_cert(c->pub) ? "certificate" :
						   ".pub file beside it");
		key_free(c->priv);
		c->priv = NULL;
		r = ERR_FORMAT;
	}
	if (r == 0)
		agent_add_loaded(ua->p.conf, c->path, c->priv, comment);
	if (r == 0 && c->issued)
		agent_add_certificate(ua->p.conf, c->pub, c->priv);
	free(comment);
	return r;
}

/* Can the private key sign without asking the user? (A key of the agent cannot
 * be expected to: the agent may ask.) */
static bool
is_loaded(const struct userauth *ua, const struct candidate *c)
{
	return c->priv != NULL ||
	    (!c->in_agent && pubkey_loaded(ua->pubkey, c) != NULL);
}

/* Has data signed by a loaded private key, a security key, a token or the
 * agent. Appends the signature. */
static int
sign_with(struct userauth *ua, const struct candidate *c, const char *alg,
    struct span data, struct buf *signature)
{
	const struct pubkey_state *s = ua->pubkey;
	const struct key *k;

	if (is_loaded(ua, c)) {
		k = pubkey_loaded(s, c);
		return key_sk(k) != NULL ?
		    userauth_sk_sign(ua, c, k, plain_alg(alg), data,
			signature) :
		    key_sign(k, plain_alg(alg), data, signature);
	}
	if (c->in_token && !c->in_agent)
		return pubkey_token_sign(ua, key_identity(c->pub),
		    plain_alg(alg), data, signature);
	if (c->plain_in_agent)
		return agent_sign(s->agent, key_identity(c->pub),
		    plain_alg(alg), data, signature);
	return agent_sign(s->agent, c->pub, alg, data, signature);
}

static int
sign(struct userauth *ua, struct candidate *c, const char *alg,
    const struct buf *request, struct buf *signature)
{
	struct buf data = { 0 };
	int r;

	if (!c->in_agent && !c->in_token && !is_loaded(ua, c) &&
	    (r = load_private(ua, c)) != 0)
		return r;
	buf_put_string_buf(&data, &ua->session_id);
	buf_put_buf(&data, request);
	if ((r = buf_err(&data)) == 0) {
		r = sign_with(ua, c, alg,
		    buf_span(&data),
		    signature);
		if (r != 0)
			log_error("Signing with the %s key %s failed: %s",
			    key_short_name(c->pub), c->name, err_text(r));
	}
	buf_clear(&data);
	return r;
}

/* Sends the request with a signature. 1: sent; 0: the key could not sign; or an
 * error. */
static int
send_signed(struct userauth *ua, struct candidate *c)
{
	struct buf b = { 0 }, signature = { 0 };
	int r = put_key_request(ua, &b, c->alg, c->pub, true);

	if (r != 0)
		goto out;
	if (sign(ua, c, c->alg, &b, &signature) != 0)
		goto out;
	buf_put_string_buf(&b, &signature);
	if ((r = userauth_send(ua, &b)) != 0)
		goto out;
	ua->pubkey->current = (size_t)(c - ua->pubkey->v);
	ua->pubkey->signing = true;
	r = 1;
out:
	c->accepted = false;
	buf_clear(&b);
	buf_clear(&signature);
	return r;
}

static int
send_offer(struct userauth *ua, struct candidate *c)
{
	struct pubkey_state *s = ua->pubkey;
	struct buf b = { 0 };
	int r = put_key_request(ua, &b, c->alg, c->pub, false);

	if (r == 0)
		r = userauth_send(ua, &b);
	buf_clear(&b);
	if (r != 0)
		return r;
	s->flight[s->in_flight++] = (size_t)(c - s->v);
	return 1;
}

/* Prepares a key for a try: gets its public half and chooses the algorithm.
 * False: the key cannot be tried, which was logged. */
static bool
prepare(struct userauth *ua, struct candidate *c)
{
	if (c->pub == NULL && c->priv == NULL && load_private(ua, c) != 0)
		return false;
	if (c->pub == NULL && key_public_of(c->priv, &c->pub) != 0)
		return false;
	if (key_check_length(c->pub,
		(unsigned)ua->p.conf->algs.required_rsa_size) != 0) {
		log_info("Skipping %s key %s: too short (RequiredRSASize)",
		    key_short_name(c->pub), c->name);
		return false;
	}
	if (!userauth_sk_has_provider(ua, c))
		return false;
	free(c->alg);
	if ((c->alg = choose_alg(ua, c->pub)) == NULL) {
		log_debug("Skipping %s key %s: no mutual signature algorithm",
		    key_short_name(c->pub), c->name);
		c->left_out = true;
		return false;
	}
	return true;
}

bool
pubkey_try_left_out(struct userauth *ua)
{
	struct pubkey_state *s = ua->pubkey;
	bool any = false;

	for (size_t i = 0; s != NULL && i < s->n; i++) {
		struct candidate *c = &s->v[i];

		if (!c->left_out)
			continue;
		c->left_out = c->tried = false;
		any = true;
	}
	return any;
}

/* Logs what happened (`what`) to a key. */
static void
log_key(const char *what, const struct candidate *c)
{
	struct buf text = { 0 };

	pubkey_describe(c, &text);
	log_debug("%s: %.*s", what, (int)buf_len(&text),
	    (const char *)buf_data(&text));
	buf_clear(&text);
}

static int
try_candidate(struct userauth *ua, struct candidate *c)
{
	int r;

	if (!c->accepted && !prepare(ua, c))
		return 0;
	if (c->accepted)
		return send_signed(ua, c);
	log_key("Offering public key", c);
	log_debug("it would sign by %s", c->alg);
	if (!is_loaded(ua, c) || key_sk(c->pub) != NULL)
		return send_offer(ua, c);
	r = send_signed(ua, c);
	ua->signed_first = r == 1 && ua->state == USERAUTH_SERVICE_REQUESTED;
	return r;
}

/* ---- the method --------------------------------------------------------- */

static bool
pubkey_enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.pubkey_authentication != CLIENT_PUBKEY_NO;
}

/* Can the key be offered while an earlier offer is not answered yet? Not if it
 * would send a signed request, or need a passphrase to get its public half. */
static bool
can_follow(const struct userauth *ua, const struct candidate *c)
{
	return c->pub != NULL && !is_loaded(ua, c) && !c->accepted;
}

/* Sends the next requests for keys of the list. 1: some were sent; 0: no key is
 * left. */
static int
try_list(struct userauth *ua)
{
	struct pubkey_state *s = ua->pubkey;
	size_t room = ua->p.in_order && !s->flight_sent &&
		!pubkey_is_hinted_first(ua) ? FLIGHT_MAX : 1;
	int r;

	for (size_t i = 0; i < s->n; i++) {
		struct candidate *c = &s->v[i];

		if (c->tried)
			continue;
		if (s->in_flight > 0 && !can_follow(ua, c))
			break;
		c->tried = true;
		if ((r = try_candidate(ua, c)) < 0)
			return r;
		if (s->signing || s->in_flight == room)
			break;
	}
	s->flight_sent = true;
	return s->signing || s->in_flight > 0;
}

static int
pubkey_next(struct userauth *ua)
{
	bool more;
	int r;

	if (ua->pubkey == NULL && (r = pubkey_make_list(ua)) != 0)
		return r;
	if ((r = try_list(ua)) != 0)
		return r;
	r = pubkey_replace_refused(ua, &more);
	return r == 0 && more ? try_list(ua) : r;
}

static struct candidate *
take_from_flight(struct pubkey_state *s)
{
	size_t first = s->flight[0];

	s->in_flight--;
	memmove(s->flight, s->flight + 1, s->in_flight * sizeof *s->flight);
	return &s->v[first];
}

/* FAILURE: it answers the oldest request, which is an offer if there is one. */
static bool
pubkey_refused(struct userauth *ua)
{
	struct pubkey_state *s = ua->pubkey;

	if (s == NULL)
		return false;
	if (s->in_flight > 0)
		log_key("Server refuses key", take_from_flight(s));
	else
		s->signing = false;
	return s->in_flight > 0 || s->signing;
}

static bool
is_about(const struct candidate *c, struct span alg, struct span blob)
{
	struct buf mine = { 0 };
	bool same = key_to_blob(c->pub, &mine) == 0 &&
	    span_equals(alg, c->alg) && blob.len == buf_len(&mine) &&
	    memcmp(blob.p, buf_data(&mine), blob.len) == 0;

	buf_clear(&mine);
	return same;
}

/* PK_OK: the server accepts the oldest key that was offered. */
static int
pubkey_input(struct userauth *ua, uint8_t type, struct rd body)
{
	struct pubkey_state *s = ua->pubkey;
	struct span alg = rd_string(&body), blob = rd_string(&body);
	struct candidate *c;
	int r;

	if (type != SSH_MSG_USERAUTH_PK_OK || s == NULL || s->in_flight == 0)
		return USERAUTH_UNKNOWN;
	if ((r = rd_end(&body)) != 0)
		return r;
	c = take_from_flight(s);
	if (!is_about(c, alg, blob)) {
		log_error("The server accepts a key that was not offered.");
		return ERR_PROTOCOL;
	}
	log_key("Server accepts key", c);
	c->told = true;
	if (s->signing) {
		/* Another key has signed already. If the server refuses that,
		 * this key signs in its turn. */
		c->accepted = true;
		c->tried = false;
		return 0;
	}
	if ((r = send_signed(ua, c)) < 0)
		return r;
	return s->signing || s->in_flight > 0 ? 0 : userauth_advance(ua);
}

/* Logs for a key that signed without having been offered that the server
 * accepts it, as for other keys. */
static void
pubkey_succeeded(const struct userauth *ua)
{
	const struct pubkey_state *s = ua->pubkey;

	if (s == NULL || s->n == 0 || s->v[s->current].told)
		return;
	log_key("Server accepts key", &s->v[s->current]);
	log_debug2("it was not asked before the signature");
}

/* After a partial success, the key that had it (if a key had) is not tried
 * again; all other keys are. */
static void
pubkey_partial(struct userauth *ua)
{
	struct pubkey_state *s = ua->pubkey;

	if (s == NULL)
		return;
	if (ua->current == USERAUTH_ID_pubkey && s->n > 0)
		s->v[s->current].proven = true;
	for (size_t i = 0; i < s->n; i++) {
		s->v[i].accepted = false;
		s->v[i].tried = s->v[i].proven;
	}
}

const struct userauth_ops userauth_pubkey = {
	.goes_first = true,
	.enabled = pubkey_enabled,
	.next = pubkey_next,
	.input = pubkey_input,
	.refused = pubkey_refused,
	.partial = pubkey_partial,
	.succeeded = pubkey_succeeded,
	.used_key = pubkey_used,
};
