/* SPDX-License-Identifier: ISC */
#include "server/monitor/resume-wire.h"

#include "config.h"

#include "connection-survive.h"

void
resume_put_question(struct buf *b, const struct resume_question *q)
{
	buf_put_u8(b, RESUME_VERSION);
	buf_put_cstring(b, VERSION);
	buf_put_u32(b, q->generation);
	buf_put_u64(b, q->received);
	buf_put_string(b, q->data.p, q->data.len);
	buf_put_string(b, q->proof.p, q->proof.len);
	buf_put_u32(b, q->uid);
	buf_put_string(b, q->session_id.p, q->session_id.len);
	buf_put_string(b, q->user.p, q->user.len);
	buf_put_string(b, q->address.p, q->address.len);
	buf_put_string(b, q->hostkey.p, q->hostkey.len);
	buf_put_u32(b, q->port);
}

int
resume_get_question(struct rd r, struct resume_question *q)
{
	*q = (struct resume_question){ .uid = 0 };
	if (rd_u8(&r) != RESUME_VERSION || !span_equals(rd_string(&r), VERSION))
		return rd_err(&r) != 0 ? rd_err(&r) : ERR_UNSUPPORTED;
	q->generation = rd_u32(&r);
	q->received = rd_u64(&r);
	q->data = rd_string(&r);
	q->proof = rd_string(&r);
	q->uid = rd_u32(&r);
	q->session_id = rd_string(&r);
	q->user = rd_string(&r);
	q->address = rd_string(&r);
	q->hostkey = rd_string(&r);
	q->port = rd_u32(&r);
	return rd_end(&r);
}

void
resume_put_answer(struct buf *b, const struct resume_answer *a)
{
	size_t mark;

	buf_put_u8(b, RESUME_VERSION);
	mark = buf_open_string(b);
	rendezvous_put_answer(b, &a->login);
	buf_close_string(b, mark);
	if (a->login.verdict != RENDEZVOUS_GOOD)
		return;
	buf_put_u64(b, a->received);
	buf_put_string(b, a->proof.p, a->proof.len);
	buf_put_string(b, a->bounds.p, a->bounds.len);
}

int
resume_get_answer(struct rd r, struct resume_answer *a)
{
	uint8_t version = rd_u8(&r);
	struct span login;
	int err;

	*a = (struct resume_answer){ .login.verdict =
		RENDEZVOUS_OTHER_VERSION };
	if (rd_err(&r) != 0)
		return rd_err(&r);
	if (version != RESUME_VERSION)
		return 0;
	login = rd_string(&r);
	if ((err = rd_err(&r)) != 0 ||
	    (err = rendezvous_get_answer(rd_from_span(login), false,
		 &a->login)) != 0)
		return err;
	if (a->login.verdict != RENDEZVOUS_GOOD)
		return rd_end(&r);
	a->received = rd_u64(&r);
	a->proof = rd_string(&r);
	a->bounds = rd_string(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	return a->proof.len == SURVIVE_PROOF_LEN &&
			a->bounds.len == RESUME_BOUNDS_LEN ?
	    0 :
	    ERR_FORMAT;
}
