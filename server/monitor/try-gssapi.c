/* SPDX-License-Identifier: ISC */
/*
 * "gssapi-with-mic" (RFC 4462 section 3) in the monitor: exchanges tokens until
 * it is known who the client is, then checks a MIC that binds this to the
 * connection. For a user who may not log in the dialogue is the same up to its
 * end.
 */
#include "base/log.h"
#include "base/mem.h"
#include "gss/gss-wire.h"
#include "gss/gss.h"
#include "packet.h"
#include "server/monitor/gss-exchange.h"
#include "server/monitor/login-internal.h"
#include "server/privs.h"

/* State of the dialogue. */
struct talk {
	const struct login_request *q;
	struct gss_acceptor *acceptor;
	struct buf in;	/* the client's last message, type first */
	struct buf out; /* our next message, type first */
};

/* Sends t->out and waits for a message of the type want, which has one string.
 * *string is borrowed from t->in. ERR_DENIED: another message came. */
static int
converse(struct talk *t, uint8_t want, struct span *string)
{
	const struct login_dialogue *d = t->q->dialogue;
	struct rd r;
	uint8_t type;
	int err;

	buf_reset(&t->in);
	if ((err = d->converse(d->arg, &t->out, &t->in)) != 0)
		return err;
	buf_reset(&t->out);
	r = rd_from_buf(&t->in);
	type = rd_u8(&r);
	if (type == SSH_MSG_USERAUTH_GSSAPI_ERRTOK)
		log_verbose("GSSAPI: the client gives up");
	else if (type != want)
		log_verbose("GSSAPI: message %u of the client has no place",
		    type);
	if (type != want)
		return ERR_DENIED;
	*string = rd_string(&r);
	return rd_end(&r) == 0 ? 0 : ERR_DENIED;
}

static int
agree(struct talk *t, struct span *token)
{
	const struct login *l = t->q->login;
	struct span oid = gss_wire_kerberos();

	buf_put_u8(&t->out, SSH_MSG_USERAUTH_GSSAPI_RESPONSE);
	buf_put_string(&t->out, oid.p, oid.len);
	log_verbose("Postponed gssapi-with-mic for %s%s from %s port %u ssh2 "
		    "[preauth]",
	    l->name_ok ? "" : "invalid user ", l->name, l->peer->address,
	    l->peer->port);
	return converse(t, SSH_MSG_USERAUTH_GSSAPI_TOKEN, token);
}

/* Handles a token and writes our answer to t->out. After ERR_DENIED that tells
 * the client why. */
static int
step(struct talk *t, struct span token, bool *complete)
{
	struct buf reply = { 0 };
	int r = ERR_DENIED;

	*complete = false;
	if (token.len <= GSS_TOKEN_MAX)
		r = gss_acceptor_step(t->acceptor, token, &reply, complete);
	if (r != 0)
		log_verbose("GSSAPI: %s", gss_acceptor_error(t->acceptor));
	if (buf_len(&reply) > 0) {
		buf_put_u8(&t->out,
		    r == 0 ? SSH_MSG_USERAUTH_GSSAPI_TOKEN :
			     SSH_MSG_USERAUTH_GSSAPI_ERRTOK);
		buf_put_string_buf(&t->out, &reply);
	}
	buf_clear(&reply);
	return r;
}

static int
exchange_tokens(struct talk *t, struct span *mic)
{
	bool complete = false;
	struct span token;
	int r = agree(t, &token);

	for (int i = 0; r == 0 && i < GSS_STEPS_MAX; i++) {
		if ((r = step(t, token, &complete)) != 0)
			return r;
		if (complete)
			return converse(t, SSH_MSG_USERAUTH_GSSAPI_MIC, mic);
		/* Without an answer both sides would wait for each other. */
		if (buf_len(&t->out) == 0)
			return ERR_DENIED;
		r = converse(t, SSH_MSG_USERAUTH_GSSAPI_TOKEN, &token);
	}
	return r != 0 ? r : ERR_DENIED;
}

static int
verify(struct talk *t, struct span mic)
{
	const struct login *l = t->q->login;
	struct buf data = { 0 };
	int r = ERR_DENIED;

	gss_wire_put_signed(&data, l->session_id, l->name, l->service,
	    t->q->method->name);
	if (mic.len <= GSS_MIC_MAX && buf_err(&data) == 0)
		r = gss_acceptor_verify(t->acceptor,
		    buf_span(&data), mic);
	if (r != 0)
		log_verbose("GSSAPI: the MIC is wrong: %s",
		    gss_acceptor_error(t->acceptor));
	buf_clear(&data);
	return r;
}

/* The user's file .k5login decides, so the user's rights are taken. */
bool
login_gss_may_be_user(const struct login *l, const struct gss_acceptor *client)
{
	bool may;

	if (!l->name_ok || privs_enter(l->user) != 0)
		return false;
	may = gss_acceptor_may_be(client, l->user->name);
	privs_leave();
	if (may)
		log_info("Authorized to %s, krb5 principal %s (krb5_kuserok)",
		    l->user->name, gss_acceptor_principal(client));
	return may;
}

char *
login_gss_text(const struct gss_acceptor *client)
{
	const char *principal = gss_acceptor_principal(client);

	return principal != NULL ? xstrdup(principal) : NULL;
}

/* 0: the client has proven to be a principal that may log in as this user.
 * ERR_DENIED, ERR_CANCELLED. */
static int
lead_dialogue(struct talk *t)
{
	struct span mic;
	int r = exchange_tokens(t, &mic);

	if (r == 0)
		r = verify(t, mic);
	if (r == 0 && !login_gss_may_be_user(t->q->login, t->acceptor))
		r = ERR_DENIED;
	return r;
}

/* Leads the dialogue. The login keeps the context, which becomes t->ticket. */
static int
try_dialogue(struct talk *talk, struct login_try *t)
{
	int r;

	t->checked = true;
	r = lead_dialogue(talk);
	if (r != 0 && r != ERR_DENIED)
		return r;
	t->ok = r == 0;
	t->what = login_gss_text(talk->acceptor);
	buf_put_buf(&t->info, &talk->out);
	t->ticket = talk->acceptor;
	talk->acceptor = NULL;
	return 0;
}

int
login_try_gssapi(const struct login_request *q, struct login_try *t)
{
	bool kerberos = rd_bool(q->in);
	struct talk talk = { .q = q };
	struct login *l = q->login;
	int r = rd_end(q->in);

	if (r != 0)
		return r;
	if (kerberos && auth_methods_may(&l->methods, q->method->name) &&
	    gss_exchange_acceptor(&l->conf, &talk.acceptor) == 0)
		r = try_dialogue(&talk, t);
	gss_acceptor_free(talk.acceptor);
	buf_clear(&talk.in);
	buf_clear(&talk.out);
	return r;
}
