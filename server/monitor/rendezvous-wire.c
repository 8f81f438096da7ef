/* SPDX-License-Identifier: ISC */
#include "server/monitor/rendezvous-wire.h"

void
rendezvous_put_question(struct buf *b, const struct rendezvous_question *q)
{
	buf_put_u8(b, RENDEZVOUS_VERSION);
	buf_put_string(b, q->serial.p, q->serial.len);
	buf_put_u8(b, (uint8_t)q->kind);
	buf_put_string(b, q->proof.p, q->proof.len);
	buf_put_string(b, q->data.p, q->data.len);
	buf_put_u32(b, q->uid);
	buf_put_string(b, q->user.p, q->user.len);
	buf_put_string(b, q->address.p, q->address.len);
	buf_put_string(b, q->hostkey.p, q->hostkey.len);
}

int
rendezvous_get_question(struct rd r, struct rendezvous_question *q)
{
	*q = (struct rendezvous_question){ .kind = 0 };
	if (rd_u8(&r) != RENDEZVOUS_VERSION && rd_err(&r) == 0)
		return ERR_UNSUPPORTED;
	q->serial = rd_string(&r);
	q->kind = (char)rd_u8(&r);
	q->proof = rd_string(&r);
	q->data = rd_string(&r);
	q->uid = rd_u32(&r);
	q->user = rd_string(&r);
	q->address = rd_string(&r);
	q->hostkey = rd_string(&r);
	return rd_end(&r);
}

void
rendezvous_put_answer(struct buf *b, const struct rendezvous_answer *a)
{
	buf_put_u8(b, RENDEZVOUS_VERSION);
	buf_put_u8(b, (uint8_t)a->verdict);
	if (a->verdict != RENDEZVOUS_GOOD)
		return;
	buf_put_u64(b, a->age_ms);
	buf_put_u32(b, a->pid);
	buf_put_u32(b, (uint32_t)a->n);
	for (size_t i = 0; i < a->n; i++) {
		buf_put_string(b, a->proofs[i].method.p,
		    a->proofs[i].method.len);
		buf_put_string(b, a->proofs[i].key.p, a->proofs[i].key.len);
	}
	buf_put_string(b, a->auth_info.p, a->auth_info.len);
	/* Monitors of older releases ask for no grants, and would not know this
	 * field. */
	if (a->scope.len > 0)
		buf_put_string(b, a->scope.p, a->scope.len);
}

int
rendezvous_get_answer(struct rd r, bool about_grant,
    struct rendezvous_answer *a)
{
	uint8_t version = rd_u8(&r), verdict = rd_u8(&r);
	uint32_t n;
	int err;

	*a = (struct rendezvous_answer){ .verdict = RENDEZVOUS_OTHER_VERSION };
	if (rd_err(&r) != 0)
		return rd_err(&r);
	if (version != RENDEZVOUS_VERSION)
		return 0;
	if (verdict >= RENDEZVOUS_VERDICTS)
		return ERR_FORMAT;
	a->verdict = (enum rendezvous_verdict)verdict;
	if (verdict != RENDEZVOUS_GOOD)
		return rd_end(&r);
	a->age_ms = rd_u64(&r);
	a->pid = rd_u32(&r);
	n = rd_u32(&r);
	if (n > RENDEZVOUS_PROOFS_MAX)
		return ERR_LIMIT;
	while (a->n < n) {
		a->proofs[a->n].method = rd_string(&r);
		a->proofs[a->n++].key = rd_string(&r);
	}
	a->auth_info = rd_string(&r);
	if (about_grant)
		a->scope = rd_string(&r);
	err = rd_end(&r);
	return err == 0 && about_grant && a->scope.len == 0 ? ERR_FORMAT : err;
}

const char *
rendezvous_verdict_text(enum rendezvous_verdict v)
{
	static const char *const texts[RENDEZVOUS_VERDICTS] = {
		[RENDEZVOUS_GOOD] = "good",
		[RENDEZVOUS_UNKNOWN] = "unknown, or used before",
		[RENDEZVOUS_EXPIRED] = "expired",
		[RENDEZVOUS_WRONG] = "the proof is wrong",
		[RENDEZVOUS_ADDRESS] = "from another address",
		[RENDEZVOUS_TOO_MANY] = "too many connections by tickets",
		[RENDEZVOUS_OTHER_VERSION] =
		    "issued by another release of this program",
	};

	return texts[v];
}
