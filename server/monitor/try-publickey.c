/* SPDX-License-Identifier: ISC */
/*
 * "publickey" (RFC 4252 section 7) in the monitor: is a key welcome, and has
 * the client signed with it.
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
    struct monitor_verdict *v)
{
	struct login *l = q->login;
	struct login_try t = { .method = q->method };
	struct permits permits = { 0 };
	struct key *k = NULL;
	char *text = NULL;

	/* Who asks which keys would do has tried to get in. */
	l->checked = true;
	if (auth_methods_may(&l->methods, q->method->name) &&
	    login_key_is_welcome(l, alg, blob, &k, &permits)) {
		v->result = MONITOR_KEY_OK;
		v->methods = auth_methods_next(&l->methods);
		log_verbose("Postponed publickey for %s from %s port %u ssh2 "
			    "[preauth]",
		    l->shown_name, l->peer->address, l->peer->port);
	} else {
		if (k != NULL)
			t.what = text = login_key_text(l, k);
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

	l->checked = true;
	if (auth_methods_may(&l->methods, q->method->name) &&
	    login_key_is_welcome(l, s->alg, s->blob, &k, &permits) &&
	    (!s->hostbound || hostkeys_own(&l->state->keys, s->hostkey))) {
		put_signed_data(q, s, &data);
		signed_data = (struct span){ buf_data(&data), buf_len(&data) };
		t.ok = buf_err(&data) == 0 &&
		    login_signature_is_good(l, k, s->alg, signed_data,
			s->signature, &permits);
	}
	if (k != NULL)
		t.what = text = login_key_text(l, k);
	if (t.ok) {
		t.permits = &permits;
		t.line = line = login_key_line(k);
	}
	login_conclude(l, &t, NULL, v);
	if (t.ok)
		login_key_was_used(l, k);
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
