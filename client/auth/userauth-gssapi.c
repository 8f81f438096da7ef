/* SPDX-License-Identifier: ISC */
/*
 * Authentication by a Kerberos ticket: gssapi-with-mic (RFC 4462 section 3).
 * The ticket is looked for before anything is sent. A server of this project
 * needs one token and one MIC, which are sent together with the request. With
 * other servers each token waits for the server's answer, and the server has to
 * prove itself too.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/auth/gss-login.h"
#include "client/auth/userauth-internal.h"
#include "gss/gss-wire.h"

enum { LOGINS_MAX = 4 }; /* in one connection; limits a server that asks again
			  * and again */

struct gssapi_state {
	struct gss_login *login; /* the child that makes tokens; NULL: no more
				  * are needed */
	struct gss_proof proof;	 /* what was made and is to be sent */
	unsigned logins, tokens; /* logins: so far; tokens: received from the
				  * server in this login */
	bool agreed;		 /* the server has agreed to the last request */
	bool ahead;		 /* the proof was sent together with the
				  * request */
};

static void
end_login(struct gssapi_state *s)
{
	gss_login_end(s->login);
	s->login = NULL;
	gss_proof_clear(&s->proof);
}

void
gssapi_state_free(struct gssapi_state *s)
{
	if (s == NULL)
		return;
	end_login(s);
	free(s);
}

static bool
gssapi_enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.gssapi_authentication != 0;
}

static int
start_login(struct userauth *ua, char **why)
{
	const struct client_conf *conf = ua->p.conf;
	struct gssapi_state *s = ua->gssapi;
	struct buf data = { 0 };
	/* The ticket is not delegated to a host whose key is not trusted,
	 * because it could then act as the user. */
	struct gss_request request = {
		.delegate = conf->auth.gssapi_delegate_credentials &&
		    !ua->p.no_passwords,
		.mutual = !ua->p.forgives };
	int r;

	gss_wire_put_signed(&data,
	    buf_span(&ua->session_id),
	    conf->host.user, "ssh-connection", "gssapi-with-mic");
	gss_login_target(&request, conf, ua->p.address);
	request.signed_data = buf_span(&data);
	if ((r = buf_err(&data)) == 0)
		r = gss_login_start(&s->login, &request,
		    conf->tcp.connect_timeout, &s->proof, why);
	buf_clear(&data);
	return r;
}

static int
send_string(struct userauth *ua, uint8_t type, const struct buf *body)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, type);
	buf_put_string_buf(&b, body);
	return userauth_send(ua, &b);
}

/* Sends the next token, and if the proof is complete, also the MIC, after which
 * nothing more is to be done here. */
static int
send_proof(struct userauth *ua)
{
	struct gssapi_state *s = ua->gssapi;
	int r = 0;

	if (buf_len(&s->proof.token) > 0)
		r = send_string(ua, SSH_MSG_USERAUTH_GSSAPI_TOKEN,
		    &s->proof.token);
	if (r != 0 || !s->proof.complete)
		return r;
	if (ua->p.conf->auth.gssapi_delegate_credentials &&
	    !s->proof.delegated)
		log_verbose("GSSAPI: the ticket was not delegated");
	r = send_string(ua, SSH_MSG_USERAUTH_GSSAPI_MIC, &s->proof.mic);
	end_login(s);
	return r;
}

static int
send_request(struct userauth *ua)
{
	struct gssapi_state *s = ua->gssapi;
	struct buf b;
	int r;

	buf_init(&b);
	userauth_put_request(ua, &b, "gssapi-with-mic");
	gss_wire_put_request(&b);
	r = userauth_send(ua, &b);
	s->ahead = ua->p.forgives && s->proof.complete;
	if (r == 0 && s->ahead) {
		ua->signed_first = ua->state == USERAUTH_SERVICE_REQUESTED;
		r = send_proof(ua);
	}
	return r;
}

static void
log_why(const struct userauth *ua, int err, char *why)
{
	log_debug("GSSAPI: no ticket for %s: %s", ua->p.conf->host.hostname,
	    why != NULL && *why != '\0' ? why : err_text(err));
	free(why);
}

static int
gssapi_next(struct userauth *ua)
{
	struct gssapi_state *s = ua->gssapi;
	char *why = NULL;
	int r;

	if (s == NULL)
		s = ua->gssapi = xcalloc(1, sizeof *s);
	/* Only one request is made, until a partial success resets this. */
	ua->exhausted[USERAUTH_ID_gssapi] = true;
	if (s->logins++ >= LOGINS_MAX)
		return 0;
	end_login(s);
	s->agreed = false;
	s->tokens = 0;
	r = start_login(ua, &why);
	if (r != 0) {
		log_why(ua, r, why);
		gss_proof_clear(&s->proof);
		return 0;
	}
	free(why);
	r = send_request(ua);
	return r != 0 ? r : 1;
}

/* RESPONSE: the server agrees to a mechanism, which has to be Kerberos. */
static int
on_response(struct userauth *ua, struct rd body)
{
	struct span oid = rd_string(&body);
	int r = rd_end(&body);

	if (r != 0)
		return r;
	if (!gss_wire_is_kerberos(oid)) {
		log_error("The server wants another mechanism of GSSAPI than "
			  "was offered.");
		return ERR_PROTOCOL;
	}
	if (ua->gssapi->agreed)
		return ERR_PROTOCOL;
	ua->gssapi->agreed = true;
	return ua->gssapi->ahead ? 0 : send_proof(ua);
}

/* TOKEN of the server. If it is wrong, the server has not proven who it is.
 * Then the next method is tried at once; its request makes the server drop this
 * one. */
static int
on_token(struct userauth *ua, struct rd body)
{
	struct gssapi_state *s = ua->gssapi;
	struct span token = rd_string(&body);
	char *why = NULL;
	int r = rd_end(&body);

	if (r != 0)
		return r;
	if (!s->agreed || s->login == NULL || ++s->tokens > GSS_STEPS_MAX)
		return ERR_PROTOCOL;
	gss_proof_clear(&s->proof);
	r = gss_login_step(s->login, token, &s->proof, &why);
	if (r != 0) {
		log_why(ua, r, why);
		end_login(s);
		return userauth_advance(ua);
	}
	free(why);
	return send_proof(ua);
}

/* ERROR: a text of the server about the refusal that will follow. */
static int
on_error(struct rd body)
{
	struct buf clean = { 0 };
	struct span text;
	char *shown;
	int r;

	(void)rd_u32(&body); /* major status */
	(void)rd_u32(&body); /* minor status */
	text = rd_string(&body);
	(void)rd_string(&body); /* language */
	if ((r = rd_end(&body)) != 0)
		return r;
	text.len = MIN(text.len, (size_t)USERAUTH_TEXT_MAX);
	userauth_put_clean(&clean, text);
	shown = buf_dup_string(&clean);
	buf_clear(&clean);
	if (shown != NULL)
		log_verbose("GSSAPI: the server says: %s", shown);
	free(shown);
	return 0;
}

static int
gssapi_input(struct userauth *ua, uint8_t type, struct rd body)
{
	switch (type) {
	case SSH_MSG_USERAUTH_GSSAPI_RESPONSE:
		return on_response(ua, body);
	case SSH_MSG_USERAUTH_GSSAPI_TOKEN:
		return on_token(ua, body);
	case SSH_MSG_USERAUTH_GSSAPI_ERROR:
		return on_error(body);
	case SSH_MSG_USERAUTH_GSSAPI_ERRTOK:
		(void)rd_string(&body);
		log_verbose("GSSAPI: the server does not take the ticket");
		return rd_end(&body);
	default:
		return USERAUTH_UNKNOWN;
	}
}

static bool
gssapi_refused(struct userauth *ua)
{
	end_login(ua->gssapi);
	return false;
}

static char *
gssapi_used(const struct userauth *ua)
{
	(void)ua;
	return xstrdup("gssapi-with-mic");
}

const struct userauth_ops userauth_gssapi = {
	.goes_first = true,
	.enabled = gssapi_enabled,
	.next = gssapi_next,
	.input = gssapi_input,
	.refused = gssapi_refused,
	.used_key = gssapi_used,
};
