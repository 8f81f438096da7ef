/* SPDX-License-Identifier: ISC */
#include "connection-survive-wire.h"

#include "connection-survive.h"
#include "packet-keep.h"

enum { VERSION = 1 };

/* True if the terms are within the limits of both sides. */
static bool
are_terms(uint32_t seconds, uint32_t bytes)
{
	return seconds > 0 && seconds <= SURVIVE_SECONDS_MAX && bytes > 0 &&
	    bytes <= PACKET_KEEP_MAX;
}

/* Reads the version in front. ERR_UNSUPPORTED: it is another one, behind which
 * there may be anything. */
static int
get_version(struct rd *r)
{
	uint8_t version = rd_u8(r);

	if (rd_err(r) != 0)
		return rd_err(r);
	return version == VERSION ? 0 : ERR_UNSUPPORTED;
}

void
survive_put_request(struct buf *b, const struct survive_terms *t)
{
	buf_put_u8(b, VERSION);
	buf_put_u32(b, t->seconds);
	buf_put_u32(b, t->bytes);
}

int
survive_get_request(struct rd r, struct survive_terms *t)
{
	int err = get_version(&r);

	if (err != 0)
		return err;
	t->seconds = rd_u32(&r);
	t->bytes = rd_u32(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	return are_terms(t->seconds, t->bytes) ? 0 : ERR_LIMIT;
}

void
survive_put_grant(struct buf *b, const struct survive_grant *g)
{
	buf_put_string(b, g->handle.p, g->handle.len);
	buf_put_string(b, g->secret.p, g->secret.len);
	buf_put_u32(b, g->seconds);
	buf_put_u32(b, g->bytes);
}

int
survive_get_grant(struct rd r, const struct survive_terms *asked,
    struct survive_grant *g)
{
	int err;

	g->handle = rd_string(&r);
	g->secret = rd_string(&r);
	g->seconds = rd_u32(&r);
	g->bytes = rd_u32(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	if (g->handle.len != SURVIVE_HANDLE_LEN ||
	    g->secret.len != SURVIVE_SECRET_LEN)
		return ERR_FORMAT;
	return are_terms(g->seconds, g->bytes) &&
			g->seconds <= asked->seconds &&
			g->bytes <= asked->bytes ?
	    0 :
	    ERR_LIMIT;
}

void
survive_put_resume(struct buf *b, const struct survive_resume *q)
{
	buf_put_u8(b, VERSION);
	buf_put_string(b, q->handle.p, q->handle.len);
	buf_put_u32(b, q->generation);
	buf_put_u64(b, q->received);
}

int
survive_get_resume(struct rd r, size_t request_len, struct survive_resume *q)
{
	int err = get_version(&r);

	if (err != 0)
		return err;
	q->handle = rd_string(&r);
	q->generation = rd_u32(&r);
	q->received = rd_u64(&r);
	q->signed_len = request_len - r.len;
	q->proof = rd_string(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	return q->handle.len == SURVIVE_HANDLE_LEN &&
			q->proof.len == SURVIVE_PROOF_LEN ?
	    0 :
	    ERR_FORMAT;
}

void
survive_put_welcome(struct buf *b, const struct survive_welcome *w)
{
	buf_put_u64(b, w->received);
	buf_put_string(b, w->proof.p, w->proof.len);
}

int
survive_get_welcome(struct rd r, struct survive_welcome *w)
{
	int err;

	w->received = rd_u64(&r);
	w->proof = rd_string(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	return w->proof.len == SURVIVE_PROOF_LEN ? 0 : ERR_FORMAT;
}
