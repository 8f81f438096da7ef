/* SPDX-License-Identifier: ISC */
/*
 * "publickey" (RFC 4252 section 7) in the monitor: answers whether a key would
 * be accepted, and checks signatures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "packet.h"
#include "server/monitor/login-internal.h"

enum { ALG_MAX = 256 }; /* bytes of an algorithm's name */

static void
query(const struct login_request *q, const char *alg, struct span blob,
    struct login_try *t)
{
	struct login *l = q->login;

	if (login_key_is_welcome(l, alg, blob, &t->key, &t->permits)) {
		t->outcome = LOGIN_KEY_OK;
		log_verbose("Postponed publickey for %s from %s port %u ssh2 "
			    "[preauth]",
		    l->shown_name, l->peer->address, l->peer->port);
	} else if (t->key != NULL) {
		t->what = login_key_text(l, t->key);
	}
}

struct signed_request {
	const char *alg;
	struct span blob, signature;
	bool hostbound;
	struct span hostkey; /* the server's host key, if hostbound */
};

/* Writes the data that the client must have signed (RFC 4252 section 7).
 * Session, user and service are taken from what the monitor knows, not from the
 * request. */
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
    struct login_try *t)
{
	struct login *l = q->login;
	struct buf data = { 0 };
	struct span signed_data;

	if (login_key_is_welcome(l, s->alg, s->blob, &t->key, &t->permits) &&
	    (!s->hostbound || hostkeys_own(&l->state->keys, s->hostkey))) {
		put_signed_data(q, s, &data);
		signed_data = buf_span(&data);
		t->ok = buf_err(&data) == 0 &&
		    login_signature_is_good(l, t->key, s->alg, signed_data,
			s->signature, &t->permits);
	}
	if (t->key != NULL)
		t->what = login_key_text(l, t->key);
	t->has_permits = t->ok;
	if (t->ok)
		t->line = login_key_line(t->key);
	buf_clear(&data);
}

int
login_try_publickey(const struct login_request *q, struct login_try *t)
{
	bool is_signed = rd_bool(q->in);
	char *alg = rd_cstring(q->in, ALG_MAX);
	struct signed_request s = { .alg = alg, .blob = rd_string(q->in) };
	bool may = auth_methods_may(&q->login->methods, q->method->name);
	int r;

	if (is_signed) {
		s.hostbound = rd_bool(q->in);
		s.hostkey = rd_string(q->in);
		s.signature = rd_string(q->in);
	}
	r = rd_end(q->in);
	/* Also a client that only asks which keys are accepted has tried to log
	 * in. */
	t->checked = r == 0;
	if (t->checked && may && is_signed)
		verify(q, &s, t);
	else if (t->checked && may)
		query(q, alg, s.blob, t);
	free(alg);
	return r;
}
