/* SPDX-License-Identifier: ISC */
/*
 * Key exchange by GSSAPI (RFC 4462 section 2, RFC 8732): Diffie-Hellman as in
 * the other methods. But a MIC over the exchange hash proves who the server is,
 * and not a signature. In a group exchange the client asks for the group first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kex-internal.h"
#include "peer-version.h"

/* ---- life --------------------------------------------------------------- */

int
kex_set_gss(struct kex *k, const struct kex_gss_hooks *hooks,
    const char *methods)
{
	char *copy = strdup(methods);

	if (copy == NULL)
		return ERR_NOMEM;
	free(k->gss.methods);
	k->gss.methods = copy;
	k->gss.hooks = *hooks;
	k->gss.ticket = KEX_TICKET_THERE;
	return 0;
}

void
kex_gss_free(struct kex *k)
{
	free(k->gss.methods);
	free(k->gss.sent_kex);
	free(k->gss.sent_hostkeys);
}

void
kex_gss_end_exchange(struct kex *k)
{
	struct kex_gss *g = &k->gss;

	g->began = g->complete = false;
	g->steps = 0;
	g->ticket = KEX_TICKET_UNKNOWN;
	buf_clear(&g->hostkey);
}

bool
kex_is_gss(const struct kex *k)
{
	return k->kem_alg != NULL && k->kem_alg->gss_prefix != NULL;
}

bool
kex_gss_offered(const struct kex *k)
{
	const struct kex_gss *g = &k->gss;

	if (g->methods == NULL || k->server)
		return g->methods != NULL;
	return g->ticket == KEX_TICKET_THERE && (!k->first_done || g->used);
}

int
kex_gss_wait(struct kex *k)
{
	struct kex_gss *g = &k->gss;
	int r = 0;

	if (k->server || !k->first_done || !g->used ||
	    g->ticket == KEX_TICKET_THERE || g->ticket == KEX_TICKET_NONE)
		return 0;
	if (g->ticket == KEX_TICKET_UNKNOWN) {
		g->ticket = KEX_TICKET_AWAITED;
		r = g->hooks.prepare(g->hooks.arg);
	}
	return r != 0 ? r : 1;
}

int
kex_gss_ready(struct kex *k, bool ticket)
{
	int r;

	if (k->gss.ticket != KEX_TICKET_AWAITED)
		return ERR_ARGUMENT;
	k->gss.ticket = ticket ? KEX_TICKET_THERE : KEX_TICKET_NONE;
	if ((r = kex_start(k)) != 0 || !k->got_init)
		return r;
	return kex_begin(k, k->gss.peer_follows);
}

int
kex_gss_renew(struct kex *k)
{
	if (kex_running(k) || k->gss.ticket != KEX_TICKET_UNKNOWN)
		return 0;
	k->gss.ticket = KEX_TICKET_THERE;
	return kex_start(k);
}

/* ---- both sides --------------------------------------------------------- */

static int
send_token(struct kex *k, const struct buf *token)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_KEXGSS_CONTINUE);
	buf_put_string_buf(&b, token);
	return kex_send_and_clear(k, &b);
}

/* Gives a token of the peer to GSSAPI. out: the answer to send, also after an
 * error. */
static int
step(struct kex *k, struct span token, struct buf *out)
{
	struct kex_gss *g = &k->gss;
	int r;

	if (!g->began || g->complete || g->steps++ >= KEX_GSS_STEPS_MAX)
		return ERR_PROTOCOL;
	if (token.len > KEX_GSS_TOKEN_MAX)
		return ERR_LIMIT;
	r = g->hooks.step(g->hooks.arg, token, out, &g->complete);
	if (r == 0 && !g->complete && buf_len(out) == 0)
		r = ERR_PROTOCOL; /* without token both sides would wait */
	return r;
}

/* ---- the client's side -------------------------------------------------- */

int
kex_gss_client_begin(struct kex *k)
{
	struct kex_gss *g = &k->gss;
	struct buf b, token = { 0 };
	int r = g->hooks.first(g->hooks.arg, &token);

	buf_reset(&k->client_value);
	if (r == 0)
		r = kem_client_init(k->kem, &k->client_value);
	if (r == 0) {
		g->began = true;
		buf_init(&b);
		buf_put_u8(&b, SSH_MSG_KEXGSS_INIT);
		buf_put_string_buf(&b, &token);
		buf_put_string_buf(&b, &k->client_value);
		r = kex_send_and_clear(k, &b);
	}
	buf_clear(&token);
	return r;
}

static int
client_on_hostkey(struct kex *k, struct rd r)
{
	struct span blob = rd_string(&r);
	int err = rd_end(&r);

	if (err != 0)
		return err;
	if (blob.len == 0 || buf_len(&k->gss.hostkey) > 0 || k->sent_newkeys ||
	    strcmp(k->result.hostkey_alg, "null") == 0)
		return ERR_PROTOCOL;
	buf_put(&k->gss.hostkey, blob.p, blob.len);
	return buf_err(&k->gss.hostkey);
}

static int
client_on_continue(struct kex *k, struct rd r)
{
	struct span token = rd_string(&r);
	struct buf out = { 0 };
	int err = rd_end(&r);

	if (err == 0)
		err = step(k, token, &out);
	if (err == 0 && buf_len(&out) > 0)
		err = send_token(k, &out);
	buf_clear(&out);
	return err;
}

/* Takes the last token of the server, if there is one. The GSSAPI context has
 * to be complete after it, as it is needed to check the MIC. */
static int
client_last_token(struct kex *k, bool there, struct span token)
{
	struct buf out = { 0 };
	int r = 0;

	if (there) {
		r = step(k, token, &out);
		if (r == 0 && buf_len(&out) > 0)
			r = ERR_PROTOCOL;
	}
	buf_clear(&out);
	return r != 0 ? r : k->gss.complete ? 0 : ERR_PROTOCOL;
}

/* Takes the host key that the server showed and the MIC has vouched for. A
 * server that shows a key has to show the same one in every exchange. */
static int
client_take_hostkey(struct kex *k)
{
	struct buf *shown = &k->gss.hostkey;
	int r;

	if (buf_len(shown) == 0)
		return 0;
	r = k->gss.hooks.hostkey(k->gss.hooks.arg, buf_span(shown));
	if (r != 0)
		return r;
	buf_reset(&k->hostkey);
	buf_put_buf(&k->hostkey, shown);
	return buf_err(&k->hostkey);
}

static int
client_conclude(struct kex *k, struct span value, struct span mic)
{
	struct kex_gss *g = &k->gss;
	uint8_t hash[DIGEST_MAX_LEN];
	struct buf shared;
	int r;

	buf_init_secret(&shared);
	if ((r = kem_client_finish(k->kem, value, &shared)) == 0)
		r = kex_exchange_hash(k, buf_span(&k->client_value), value,
		    &shared, hash);
	if (r == 0)
		r = g->hooks.verify(g->hooks.arg,
		    (struct span){ hash, digest_len(k->kem_alg->digest) },
		    mic);
	if (r == 0)
		r = client_take_hostkey(k);
	if (r == 0) {
		g->used = true;
		r = kex_take_secret(k, &shared, hash);
	}
	buf_clear(&shared);
	return r;
}

static int
client_on_complete(struct kex *k, struct rd r)
{
	struct span value = rd_string(&r), mic = rd_string(&r), token = { 0 };
	bool there = rd_bool(&r);
	int err;

	if (there)
		token = rd_string(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	if (!k->gss.began || k->sent_newkeys)
		return ERR_PROTOCOL;
	if ((err = client_last_token(k, there, token)) != 0)
		return err;
	return client_conclude(k, value, mic);
}

/* Logs the server's reason for ending the connection. */
static int
client_on_error(struct rd r)
{
	char clean[4 * KEX_GSS_TEXT_MAX + 1], *text;
	uint32_t major = rd_u32(&r), minor = rd_u32(&r);
	struct span message = rd_string(&r);
	int err;

	(void)rd_string(&r); /* language */
	if ((err = rd_end(&r)) != 0)
		return err;
	message.len = MIN(message.len, (size_t)KEX_GSS_TEXT_MAX);
	text = span_dup(message); /* NULL: message has a NUL */
	str_escape(clean, sizeof clean, text != NULL ? text : "");
	free(text);
	log_error("GSSAPI key exchange: the server says: %s (%#x, %u)", clean,
	    major, minor);
	return ERR_DENIED;
}

static int
client_input(struct kex *k, uint8_t type, struct rd r)
{
	switch (type) {
	case SSH_MSG_KEXGSS_HOSTKEY:
		return client_on_hostkey(k, r);
	case SSH_MSG_KEXGSS_CONTINUE:
		return client_on_continue(k, r);
	case SSH_MSG_KEXGSS_COMPLETE:
		return client_on_complete(k, r);
	case SSH_MSG_KEXGSS_ERROR:
		return client_on_error(r);
	case SSH_MSG_KEXGSS_GROUP:
		return k->kem_alg->group_exchange ? kex_client_on_group(k, r) :
						    ERR_PROTOCOL;
	default:
		return ERR_PROTOCOL;
	}
}

/* ---- the server's side -------------------------------------------------- */

/* Refuses the client: sends it the GSSAPI token (if there is one) that tells
 * the reason, and a text for clients that do not decode the token. */
static int
server_refuse(struct kex *k, const struct buf *token)
{
	static const uint32_t failure = 13U << 16; /* GSS_S_FAILURE */
	struct buf b;
	int r = 0;

	if (buf_len(token) > 0)
		r = send_token(k, token);
	if (r != 0)
		return r;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_KEXGSS_ERROR);
	buf_put_u32(&b, failure);
	buf_put_u32(&b, 0);
	buf_put_cstring(&b, "The ticket is not accepted.");
	buf_put_cstring(&b, ""); /* language */
	return kex_send_and_clear(k, &b);
}

/* The server may send the client its host key: RFC 4462 leaves that to the
 * server. A client that knows the key needs no ticket for the next exchange. */
static bool
client_takes_hostkey(const struct kex *k)
{
	return strcmp(k->result.hostkey_alg, "null") != 0 &&
	    (k->peer_traits & PEER_REFUSES_GSS_HOSTKEY) == 0;
}

static int
server_send_hostkey(struct kex *k)
{
	struct buf b;
	int r;

	if (!client_takes_hostkey(k))
		return 0;
	r = k->hooks.hostkey_blob(k->hooks.arg, k->result.hostkey_alg,
	    &k->gss.hostkey);
	if (r != 0)
		return r;
	buf_reset(&k->hostkey);
	buf_put_buf(&k->hostkey, &k->gss.hostkey);
	if ((r = buf_err(&k->hostkey)) != 0)
		return r;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_KEXGSS_HOSTKEY);
	buf_put_string_buf(&b, &k->gss.hostkey);
	return kex_send_and_clear(k, &b);
}

static int
server_send_complete(struct kex *k, const struct buf *value,
    const struct buf *token, const uint8_t *hash)
{
	struct buf b, mic = { 0 };
	int r;

	r = k->gss.hooks.sign(k->gss.hooks.arg,
	    (struct span){ hash, digest_len(k->kem_alg->digest) }, &mic);
	if (r == 0) {
		buf_init(&b);
		buf_put_u8(&b, SSH_MSG_KEXGSS_COMPLETE);
		buf_put_string_buf(&b, value);
		buf_put_string_buf(&b, &mic);
		buf_put_bool(&b, buf_len(token) > 0);
		if (buf_len(token) > 0)
			buf_put_string_buf(&b, token);
		r = kex_send_and_clear(k, &b);
	}
	buf_clear(&mic);
	return r;
}

static int
server_conclude(struct kex *k, const struct buf *token)
{
	struct buf shared, value = { 0 };
	uint8_t hash[DIGEST_MAX_LEN];
	int r;

	buf_init_secret(&shared);
	r = kem_server_reply(k->kem, buf_span(&k->client_value), &value,
	    &shared);
	if (r == 0)
		r = server_send_hostkey(k);
	if (r == 0)
		r = kex_exchange_hash(k, buf_span(&k->client_value),
		    buf_span(&value), &shared, hash);
	if (r == 0)
		r = server_send_complete(k, &value, token, hash);
	if (r == 0)
		r = kex_take_secret(k, &shared, hash);
	buf_clear(&value);
	buf_clear(&shared);
	return r;
}

static int
server_on_token(struct kex *k, struct span token)
{
	struct buf out = { 0 };
	int r = step(k, token, &out), sent;

	if (r == ERR_DENIED) {
		if ((sent = server_refuse(k, &out)) != 0)
			r = sent;
	} else if (r == 0) {
		r = k->gss.complete ? server_conclude(k, &out) :
				      send_token(k, &out);
	}
	buf_clear(&out);
	return r;
}

static int
server_on_message(struct kex *k, uint8_t type, struct rd r)
{
	bool init = type == SSH_MSG_KEXGSS_INIT;
	bool gex = k->kem_alg->group_exchange;
	struct span token = rd_string(&r), value = { 0 };
	int err;

	if (init)
		value = rd_string(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	if ((!init && type != SSH_MSG_KEXGSS_CONTINUE) ||
	    init == k->gss.began || k->sent_newkeys ||
	    gex != k->gex.got_group)
		return ERR_PROTOCOL;
	if (init) {
		k->gss.began = true;
		buf_reset(&k->client_value);
		buf_put(&k->client_value, value.p, value.len);
		if ((err = buf_err(&k->client_value)) == 0 && !gex)
			err = kem_new(&k->kem, k->kem_alg);
		if (err != 0)
			return err;
	}
	return server_on_token(k, token);
}

static int
server_input(struct kex *k, uint8_t type, struct rd r)
{
	if (type != SSH_MSG_KEXGSS_GROUPREQ)
		return server_on_message(k, type, r);
	return k->kem_alg->group_exchange ? kex_server_on_group_request(k, r) :
					    ERR_PROTOCOL;
}

int
kex_gss_input(struct kex *k, uint8_t type, struct rd r)
{
	return k->server ? server_input(k, type, r) :
			   client_input(k, type, r);
}
