/* SPDX-License-Identifier: ISC */
#include "keys/sk-wire.h"

#include <string.h>

/* SK_WIRE_VERSION never changes between releases, as the helper and its callers
 * are installed together. It is there to notice a program that is no such
 * helper. */
enum { SK_WIRE_VERSION = 0x48534b01 };

/* ---- fields -------------------------------------------------------------- */

/* A text is sent with its NUL, so that the receiver can use it in the message's
 * buffer without a copy. */
static void
put_text(struct buf *out, const char *s)
{
	buf_put_string(out, s, s != NULL ? strlen(s) + 1 : 0);
}

static const char *
read_text(struct rd *rd)
{
	struct span s = rd_string(rd);

	if (rd_err(rd) != 0 || s.len == 0)
		return NULL;
	if (s.len > SK_TEXT_MAX)
		rd_fail(rd, ERR_LIMIT);
	else if (memchr(s.p, '\0', s.len) != s.p + s.len - 1)
		rd_fail(rd, ERR_FORMAT);
	return rd_err(rd) == 0 ? (const char *)s.p : NULL;
}

static struct span
read_field(struct rd *rd)
{
	struct span s = rd_string(rd);

	if (s.len > SK_FIELD_MAX)
		rd_fail(rd, ERR_LIMIT);
	return rd_err(rd) == 0 ? s : (struct span){ NULL, 0 };
}

static void
put_span(struct buf *out, struct span s)
{
	buf_put_string(out, s.p, s.len);
}

/* ---- requests ------------------------------------------------------------ */

int
sk_put_request(const struct sk_request *q, struct buf *out)
{
	buf_put_u32(out, SK_WIRE_VERSION);
	buf_put_u8(out, q->op);
	put_text(out, q->provider);
	put_text(out, q->device);
	put_text(out, q->pin);
	put_text(out, q->user);
	put_text(out, q->application);
	buf_put_u32(out, q->alg);
	buf_put_u8(out, q->flags);
	put_span(out, q->message);
	put_span(out, q->handle);
	if (buf_err(out) != 0)
		return buf_err(out);
	return buf_len(out) <= SK_REQUEST_MAX ? 0 : ERR_LIMIT;
}

int
sk_read_request(struct span message, struct sk_request *q)
{
	struct rd rd = rd_from_span(message);
	uint32_t version = rd_u32(&rd);

	*q = (struct sk_request){ .op = rd_u8(&rd) };
	q->provider = read_text(&rd);
	q->device = read_text(&rd);
	q->pin = read_text(&rd);
	q->user = read_text(&rd);
	q->application = read_text(&rd);
	q->alg = rd_u32(&rd);
	q->flags = rd_u8(&rd);
	q->message = rd_string(&rd);
	q->handle = read_field(&rd);
	if (rd_end(&rd) != 0)
		return rd_end(&rd);
	if (version != SK_WIRE_VERSION || q->op < SK_SIGN || q->op > SK_LOAD ||
	    q->provider == NULL || q->alg > SK_ALG_ED25519)
		return ERR_PROTOCOL;
	return q->op == SK_LOAD || q->application != NULL ? 0 : ERR_PROTOCOL;
}

/* ---- answers ------------------------------------------------------------- */

void
sk_put_head(struct buf *out, enum sk_op op, enum sk_status status)
{
	buf_put_u32(out, SK_WIRE_VERSION);
	buf_put_u8(out, op);
	buf_put_u8(out, status);
}

int
sk_read_head(struct span answer, enum sk_op op, struct rd *rd,
    enum sk_status *status)
{
	uint32_t version;
	uint8_t about, how;

	*rd = rd_from_span(answer);
	version = rd_u32(rd);
	about = rd_u8(rd);
	how = rd_u8(rd);
	if (rd_err(rd) != 0)
		return rd_err(rd);
	if (version != SK_WIRE_VERSION || about != op || how > SK_HAS_KEY)
		return ERR_PROTOCOL;
	*status = how;
	return how == SK_DONE ? 0 : rd_end(rd);
}

void
sk_put_signed(struct buf *out, const struct sk_signed *s)
{
	buf_put_u8(out, s->flags);
	buf_put_u32(out, s->counter);
	put_span(out, s->r);
	put_span(out, s->s);
}

int
sk_read_signed(struct rd *rd, struct sk_signed *s)
{
	s->flags = rd_u8(rd);
	s->counter = rd_u32(rd);
	s->r = read_field(rd);
	s->s = read_field(rd);
	return rd_end(rd);
}

void
sk_put_made(struct buf *out, const struct sk_made *m)
{
	buf_put_u8(out, m->flags);
	put_span(out, m->public_key);
	put_span(out, m->handle);
	put_span(out, m->signature);
	put_span(out, m->cert);
	put_span(out, m->authdata);
}

int
sk_read_made(struct rd *rd, struct sk_made *m)
{
	m->flags = rd_u8(rd);
	m->public_key = read_field(rd);
	m->handle = read_field(rd);
	m->signature = read_field(rd);
	m->cert = read_field(rd);
	m->authdata = read_field(rd);
	return rd_end(rd);
}

void
sk_put_found(struct buf *out, const struct sk_found *f)
{
	buf_put_u32(out, f->alg);
	buf_put_u8(out, f->flags);
	put_text(out, f->application);
	put_span(out, f->user);
	put_span(out, f->public_key);
	put_span(out, f->handle);
}

int
sk_read_count(struct rd *rd, uint32_t *n)
{
	*n = rd_u32(rd);
	if (rd_err(rd) != 0)
		return rd_err(rd);
	return *n <= SK_FOUND_MAX ? 0 : ERR_LIMIT;
}

int
sk_read_found(struct rd *rd, struct sk_found *f)
{
	f->alg = rd_u32(rd);
	f->flags = rd_u8(rd);
	f->application = read_text(rd);
	f->user = read_field(rd);
	f->public_key = read_field(rd);
	f->handle = read_field(rd);
	if (rd_err(rd) != 0)
		return rd_err(rd);
	return f->application != NULL && f->alg <= SK_ALG_ED25519 ?
	    0 :
	    ERR_PROTOCOL;
}
