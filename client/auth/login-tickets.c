/* SPDX-License-Identifier: ISC */
#include "client/auth/login-tickets.h"

#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"
#include "keys/key.h"

enum {
	VERSION = 1,
	SECRET_LEN = 32,
	/* Limits in seconds: tickets that the server lets live longer are given
	 * up by then. */
	LIFETIME_MAX_S = 3600,
	BACK_MAX_S = 7 * 24 * 3600,
};

void
login_tickets_put_request(struct buf *b, uint32_t beside, uint32_t instead)
{
	buf_put_u8(b, VERSION);
	buf_put_u32(b, beside);
	buf_put_u32(b, instead);
}

static int
derive(const struct login_ticket_binding *b, uint8_t kind, struct span secret,
    uint8_t *key)
{
	struct buf text = { 0 };
	int r;

	buf_put(&text, LOGIN_TICKET_METHOD, sizeof LOGIN_TICKET_METHOD - 1);
	buf_put_u8(&text, kind);
	buf_put_string(&text, b->session_id.p, b->session_id.len);
	buf_put_cstring(&text, b->user);
	buf_put_string(&text, b->hostkey.p, b->hostkey.len);
	if ((r = buf_err(&text)) == 0)
		r = digest_hmac(DIGEST_SHA256, secret.p, secret.len,
		    buf_data(&text), buf_len(&text), key);
	buf_clear(&text);
	return r;
}

/* Reads a ticket of the reply. It is kept if its kind is known and there is
 * room. */
static int
take_one(struct login_tickets *t, const struct login_ticket_binding *b,
    struct rd *r, uint64_t now_ms)
{
	struct span name = rd_string(r), secret = rd_string(r);
	uint8_t kind = rd_u8(r);
	uint32_t seconds = rd_u32(r);
	uint32_t most = kind == LOGIN_TICKET_BESIDE ? LIFETIME_MAX_S :
						      BACK_MAX_S;
	struct login_ticket one = { .kind = kind };
	int err = rd_err(r);

	if (err != 0)
		return err;
	if (name.len != LOGIN_TICKET_NAME_LEN || secret.len != SECRET_LEN)
		return ERR_FORMAT;
	if ((err = derive(b, kind, secret, one.key)) != 0)
		return err;
	memcpy(one.name, name.p, name.len);
	one.end_ms = now_ms + (uint64_t)MIN(seconds, most) * 1000;
	if (kind == LOGIN_TICKET_INSTEAD)
		t->back = one;
	else if (kind == LOGIN_TICKET_BESIDE && t->n < ARRAY_LEN(t->v))
		t->v[t->n++] = one;
	explicit_bzero(&one, sizeof one);
	return 0;
}

int
login_tickets_take_reply(struct login_tickets *t,
    const struct login_ticket_binding *b, struct rd r, uint64_t now_ms)
{
	uint32_t n = rd_u32(&r);
	struct login_ticket back = t->back;
	size_t before = t->n;
	int err = rd_err(&r);

	/* If the count is too large, rd reports an error at the end of the
	 * message. */
	while (err == 0 && n-- > 0)
		err = take_one(t, b, &r, now_ms);
	if (err == 0)
		err = rd_end(&r);
	if (err != 0) {
		explicit_bzero(t->v + before,
		    (ARRAY_LEN(t->v) - before) * sizeof *t->v);
		t->n = before;
		t->back = back;
	}
	explicit_bzero(&back, sizeof back);
	return err;
}

size_t
login_tickets_count(struct login_tickets *t, uint64_t now_ms)
{
	for (size_t i = 0; i < t->n;) {
		if (now_ms < t->v[i].end_ms) {
			i++;
			continue;
		}
		t->v[i] = t->v[--t->n];
		explicit_bzero(&t->v[t->n], sizeof t->v[t->n]);
	}
	return t->n;
}

void
login_tickets_lose(struct login_tickets *t)
{
	explicit_bzero(t->v, sizeof t->v);
	t->n = 0;
	t->lost = true;
}

bool
login_tickets_may_return(const struct login_tickets *t, uint64_t now_ms)
{
	return t->lost &&
	    (t->back.kind == LOGIN_TICKET_INSTEAD ||
		t->back.kind == LOGIN_TICKET_GRANT) &&
	    now_ms < t->back.end_ms;
}

bool
login_tickets_take(struct login_tickets *t, uint64_t now_ms,
    struct login_ticket *out)
{
	if (login_tickets_count(t, now_ms) == 0) {
		if (!login_tickets_may_return(t, now_ms))
			return false;
		*out = t->back;
		return true;
	}
	*out = t->v[--t->n];
	explicit_bzero(&t->v[t->n], sizeof t->v[t->n]);
	return true;
}

void
login_tickets_clear(struct login_tickets *t)
{
	explicit_bzero(t, sizeof *t);
}

static int
put_proof(struct buf *request, const struct login_ticket *t,
    const struct buf *data)
{
	uint8_t proof[LOGIN_TICKET_KEY_LEN];
	struct buf signature = { 0 };
	int r;

	if (t->kind == LOGIN_TICKET_GRANT) {
		r = key_sign(t->signer, "ssh-ed25519", buf_span(data),
		    &signature);
		if (r == 0)
			buf_put_string_buf(request, &signature);
		buf_clear(&signature);
		return r;
	}
	r = digest_hmac(DIGEST_SHA256, t->key, sizeof t->key, buf_data(data),
	    buf_len(data), proof);
	if (r == 0)
		buf_put_string(request, proof, sizeof proof);
	return r;
}

int
login_ticket_put(struct buf *request, const struct login_ticket *t,
    struct span session_id)
{
	static const char label[] = "client";
	struct buf data = { 0 };
	int r;

	buf_put_u8(request, VERSION);
	buf_put_string(request, t->name, sizeof t->name);
	buf_put_u8(request, t->kind);
	buf_put(&data, label, sizeof label - 1);
	buf_put_string(&data, session_id.p, session_id.len);
	buf_put_buf(&data, request);
	if ((r = buf_err(&data)) == 0)
		r = put_proof(request, t, &data);
	buf_clear(&data);
	return r != 0 ? r : buf_err(request);
}
