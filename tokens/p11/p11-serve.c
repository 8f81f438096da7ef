/* SPDX-License-Identifier: ISC */
#include "tokens/p11/p11-serve.h"

#include <string.h>

#include "tokens/p11/p11-internal.h"
#include "tokens/p11/p11-provider.h"

static int
refuse(const struct p11_request *q, enum p11_status status,
    const struct token *t, struct buf *answer)
{
	buf_reset(answer);
	p11_put_head(answer, q->op, status);
	if (status == P11_NEEDS_PIN) {
		buf_put_cstring(answer, t != NULL ? t->label : "");
		buf_put_bool(answer, t != NULL && t->on_reader);
	}
	return buf_err(answer);
}

static int
serve_list(struct provider **p, const struct p11_request *q,
    struct buf *answer)
{
	enum p11_status status = P11_DONE;
	struct p11_list list = { 0 };
	int r;

	if (*p == NULL)
		*p = provider_load(q->provider);
	if (*p == NULL)
		return refuse(q, P11_NO_LIBRARY, NULL, answer);
	if (q->pin_kind != P11_PIN_NONE)
		status = provider_log_in(*p, q->token, q);
	if (status != P11_DONE)
		return refuse(q, status, NULL, answer);
	r = objects_list(*p, &list);
	p11_put_head(answer, q->op, P11_DONE);
	if (r == 0)
		r = p11_put_list(&list, answer);
	p11_list_clear(&list);
	return r == 0 && buf_len(answer) <= P11_ANSWER_MAX ?
	    0 :
	    refuse(q, P11_FAILED, NULL, answer);
}

static const struct listed_key *
find_listed(const struct provider *p, struct span blob)
{
	for (size_t i = 0; i < p->n_listed; i++)
		if (buf_len(&p->listed[i].blob) == blob.len &&
		    memcmp(buf_data(&p->listed[i].blob), blob.p, blob.len) ==
			0)
			return &p->listed[i];
	return NULL;
}

static int
serve_sign(struct provider *p, const struct p11_request *q,
    struct buf *answer)
{
	const struct listed_key *at =
	    p != NULL ? find_listed(p, q->blob) : NULL;
	struct buf signature = { 0 };
	enum p11_status status;

	if (at == NULL)
		return refuse(q, P11_NO_KEY, NULL, answer);
	status = provider_log_in(p, at->token, q);
	if (status == P11_DONE)
		status = token_sign(p, at, q, &signature);
	if (status == P11_DONE) {
		p11_put_head(answer, q->op, P11_DONE);
		buf_put_string_buf(answer, &signature);
	}
	buf_clear(&signature);
	return status == P11_DONE ?
	    buf_err(answer) :
	    refuse(q, status, &p->tokens[at->token], answer);
}

int
p11_serve(struct provider **p, const struct p11_request *q,
    struct buf *answer)
{
	return q->op == P11_LIST ? serve_list(p, q, answer) :
				   serve_sign(*p, q, answer);
}
