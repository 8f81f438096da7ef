/* SPDX-License-Identifier: ISC */
#include "keys/p11-client.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/helper.h"

enum {
	LIMIT_MS = 20 * 1000, /* slow cards take seconds to sign */
	LIMIT_READER_MS = 120 * 1000, /* the user types the PIN on the reader */
};

struct p11 {
	char *path;
	struct helper helper;
	enum p11_op op;
	char *wanted;
	bool on_reader;
	/* Of a call that signs: the key, its algorithm and the data, to verify
	 * the signature with. */
	struct key *key;
	char *alg;
	struct buf data;
};

/* ---- life ---------------------------------------------------------------- */

int
p11_start(struct p11 **out, const char *path)
{
	struct p11 *p = calloc(1, sizeof *p);
	int r = ERR_NOMEM;

	if (p == NULL)
		return ERR_NOMEM;
	p->helper.fd = -1;
	p->path = strdup(path);
	if (p->path != NULL)
		r = helper_start(&p->helper, "SSH_PKCS11_HELPER",
		    LIBEXECDIR "/hpnssh-pkcs11-helper", P11_ANSWER_MAX,
		    ERR_P11);
	if (r == 0)
		*out = p;
	else
		p11_end(p);
	return r;
}

static void
forget_call(struct p11 *p)
{
	key_free(p->key);
	p->key = NULL;
	free(p->alg);
	p->alg = NULL;
	buf_clear(&p->data);
}

void
p11_end(struct p11 *p)
{
	if (p == NULL)
		return;
	helper_give_up(&p->helper);
	forget_call(p);
	free(p->wanted);
	free(p->path);
	free(p);
}

/* ---- calls --------------------------------------------------------------- */

int
p11_fd(const struct p11 *p)
{
	return p->helper.fd;
}

bool
p11_writes(const struct p11 *p)
{
	return helper_writes(&p->helper);
}

static int
begin(struct p11 *p, struct p11_request *q, const struct p11_pin *pin)
{
	struct buf body;
	int r;

	q->pin_kind = pin->kind;
	if (pin->kind == P11_PIN_GIVEN)
		q->pin = (struct span){ (const uint8_t *)pin->text,
			strlen(pin->text) };
	if (q->pin.len > P11_PIN_MAX)
		return ERR_LIMIT;
	p->op = q->op;
	buf_init_secret(&body);
	r = p11_put_request(q, &body);
	if (r == 0 && buf_len(&body) > P11_REQUEST_MAX)
		r = ERR_LIMIT;
	if (r == 0)
		r = helper_ask(&p->helper, &body);
	buf_clear(&body);
	return r;
}

static int
take_wanted(struct p11 *p, struct rd *rd)
{
	free(p->wanted);
	p->wanted = NULL;
	return p11_read_wanted(rd, &p->wanted, &p->on_reader) == 0 ?
	    ERR_PIN_NEEDED :
	    ERR_P11;
}

static int
error_of(struct p11 *p, enum p11_status status, struct rd *rd)
{
	switch (status) {
	case P11_DONE:
		return 0;
	case P11_NEEDS_PIN:
		return take_wanted(p, rd);
	case P11_PIN_WRONG:
		return ERR_PIN;
	case P11_PIN_LOCKED:
		return ERR_PIN_LOCKED;
	case P11_NO_KEY:
		return ERR_NOT_FOUND;
	default:
		return ERR_P11;
	}
}

/* Advances the call. Returns ERR_AGAIN while it is not over, 0 with *rd behind
 * the head of the answer, or an error. A helper whose answer is malformed is
 * stopped and cannot be used again. */
static int
step(struct p11 *p, struct rd *rd)
{
	enum p11_status status = P11_FAILED;
	struct span answer;
	int r = helper_step(&p->helper, &answer);

	if (r != 0)
		return r;
	if (p11_read_head(answer, p->op, rd, &status) == 0)
		return error_of(p, status, rd);
	helper_give_up(&p->helper);
	return ERR_P11;
}

int
p11_begin_list(struct p11 *p, const struct p11_pin *pin)
{
	struct p11_request q = { .op = P11_LIST, .provider = p->path,
		.token = pin->token };

	forget_call(p);
	return begin(p, &q, pin);
}

int
p11_list_step(struct p11 *p, struct p11_list *out)
{
	struct rd rd;
	int r = step(p, &rd);

	if (r != 0)
		return r;
	if (p11_read_list(&rd, out) == 0)
		return 0;
	helper_give_up(&p->helper);
	return ERR_P11;
}

int
p11_begin_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin)
{
	struct p11_request q = { .op = P11_SIGN, .data = data };
	struct buf blob = { 0 };
	int r;

	forget_call(p);
	p->alg = strdup(alg);
	buf_put(&p->data, data.p, data.len);
	r = p->alg == NULL ? ERR_NOMEM : buf_err(&p->data);
	if (r == 0)
		r = key_public_of(key_identity(k), &p->key);
	if (r == 0 && !key_serves(p->key, alg))
		r = ERR_KEY_TYPE;
	if (r == 0)
		r = key_to_blob(p->key, &blob);
	q.alg = p->alg;
	q.blob = buf_span(&blob);
	if (r == 0)
		r = begin(p, &q, pin);
	buf_clear(&blob);
	return r;
}

/* The signature is verified here, because the error can then name the token as
 * the cause. The server would only say that it refuses the key. */
int
p11_sign_step(struct p11 *p, struct buf *signature)
{
	struct span made;
	struct rd rd;
	int r = step(p, &rd);

	if (r != 0)
		return r;
	made = rd_string(&rd);
	if (rd_end(&rd) != 0) {
		helper_give_up(&p->helper);
		return ERR_P11;
	}
	r = key_verify(p->key, p->alg,
	    buf_span(&p->data), made);
	if (r != 0)
		return r;
	buf_put(signature, made.p, made.len);
	return buf_err(signature);
}

/* ---- waiting ------------------------------------------------------------- */

/* Waits until the helper can go on, or until the time end. Returns whether to
 * call the step again; *r is the result of the last step, and of the wait. */
static bool
wait_more(struct p11 *p, uint64_t end, int *r)
{
	if (*r != ERR_AGAIN)
		return false;
	if ((*r = helper_wait(&p->helper, end)) == 0)
		return true;
	helper_give_up(&p->helper);
	return false;
}

static uint64_t
end_of(const struct p11_pin *pin, unsigned limit_ms)
{
	if (limit_ms == 0)
		limit_ms = pin->kind == P11_PIN_ON_READER ? LIMIT_READER_MS :
							    LIMIT_MS;
	return clock_ms() + limit_ms;
}

int
p11_get_list(struct p11 *p, const struct p11_pin *pin, unsigned limit_ms,
    struct p11_list *out)
{
	uint64_t end = end_of(pin, limit_ms);
	int r = p11_begin_list(p, pin);

	if (r != 0)
		return r;
	do
		r = p11_list_step(p, out);
	while (wait_more(p, end, &r));
	return r;
}

int
p11_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin, unsigned limit_ms,
    struct buf *signature)
{
	uint64_t end = end_of(pin, limit_ms);
	int r = p11_begin_sign(p, k, alg, data, pin);

	if (r != 0)
		return r;
	do
		r = p11_sign_step(p, signature);
	while (wait_more(p, end, &r));
	return r;
}

const char *
p11_wanted(const struct p11 *p, bool *on_reader)
{
	*on_reader = p->on_reader;
	return p->wanted;
}
