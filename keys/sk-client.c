/* SPDX-License-Identifier: ISC */
#include "keys/sk-client.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/helper.h"
#include "base/str.h"
#include "keys/sk-wire.h"

#define HELPER_VARIABLE "SSH_SK_HELPER"
#define HELPER_PATH LIBEXECDIR "/hpnssh-sk-helper"

#define TYPE_ED25519 "sk-ssh-ed25519@openssh.com"
#define TYPE_ECDSA "sk-ecdsa-sha2-nistp256@openssh.com"

enum {
	/* Users have to find their token first; tokens end a request by
	 * themselves. */
	LIMIT_DEFAULT_MS = 120 * 1000,
};

/* A request to a helper process, until its answer has come. */
struct sk_call {
	enum sk_op op;
	struct helper helper;
	/* For SK_SIGN: the key, its algorithm and the data, to verify the
	 * signature with. */
	struct key *key; /* public */
	char *alg;
	struct buf data;
};

/* ---- calls --------------------------------------------------------------- */

void
sk_call_end(struct sk_call *c)
{
	if (c == NULL)
		return;
	helper_give_up(&c->helper);
	buf_clear(&c->data);
	key_free(c->key);
	free(c->alg);
	free(c);
}

static int
call_begin(struct sk_call **out, const struct sk_request *q)
{
	struct sk_call *c = calloc(1, sizeof *c);
	struct buf body;
	int r;

	if (c == NULL)
		return ERR_NOMEM;
	c->op = q->op;
	c->helper.fd = -1;
	buf_init_secret(&body);
	r = sk_put_request(q, &body);
	if (r == 0)
		r = helper_start(&c->helper, HELPER_VARIABLE, HELPER_PATH,
		    SK_ANSWER_MAX, ERR_SK_HELPER);
	if (r == 0)
		r = helper_ask(&c->helper, &body);
	buf_clear(&body);
	if (r == 0)
		*out = c;
	else
		sk_call_end(c);
	return r;
}

int
sk_call_fd(const struct sk_call *c)
{
	return c->helper.fd;
}

bool
sk_call_writes(const struct sk_call *c)
{
	return helper_writes(&c->helper);
}

static int
error_of(enum sk_status status)
{
	switch (status) {
	case SK_DONE:
		return 0;
	case SK_UNSUPPORTED:
		return ERR_UNSUPPORTED;
	case SK_NEEDS_PIN:
		return ERR_SK_PIN;
	case SK_NO_DEVICE:
		return ERR_SK_DEVICE;
	case SK_HAS_KEY:
		return ERR_SK_EXISTS;
	case SK_FAILED:
		break;
	}
	return ERR_FORMAT;
}

/* Advances the call. Returns ERR_AGAIN while there is no answer, 0 with *rd
 * behind the head of an answer that reports success, or an error. */
static int
call_step(struct sk_call *c, struct rd *rd)
{
	enum sk_status status = SK_FAILED;
	struct span answer;
	int r = helper_step(&c->helper, &answer);

	if (r != 0)
		return r;
	r = sk_read_head(answer, c->op, rd, &status);
	return r != 0 ? ERR_SK_HELPER : error_of(status);
}

/* Waits for the answer. Returns as call_step(), or an error when the time limit
 * ends. */
static int
call_finish(struct sk_call *c, const struct sk_params *p, struct rd *rd)
{
	uint64_t end = clock_ms() +
	    (p->limit_ms != 0 ? p->limit_ms : LIMIT_DEFAULT_MS);
	int r;

	while ((r = call_step(c, rd)) == ERR_AGAIN)
		if ((r = helper_wait(&c->helper, end)) != 0)
			break;
	return r;
}

const char *
sk_provider(const char *text)
{
	if (text != NULL && *text == '$')
		text = getenv(text + 1);
	return text != NULL && *text != '\0' ? text : NULL;
}

static bool
is_built_in(void)
{
#ifdef HAVE_LIBFIDO2
	return true;
#else
	return false;
#endif
}

const char *
sk_why_unusable(const char *provider)
{
	if (provider == NULL)
		return "there is no SecurityKeyProvider";
	if (strcmp(provider, "internal") == 0 && !is_built_in())
		return "no SecurityKeyProvider is built in";
	return helper_is_there(HELPER_VARIABLE, HELPER_PATH) ?
	    NULL : "hpnssh-sk-helper cannot be run";
}

/* ---- keys ---------------------------------------------------------------- */

/* Makes a private key of a security key: writes the fields as key files have
 * them and parses that. */
static int
make_key(uint32_t alg, struct span public_key, const char *application,
    uint8_t flags, struct span handle, struct key **out)
{
	struct buf wire = { 0 };
	struct rd rd;
	int r;

	if (alg == SK_ALG_ECDSA) {
		buf_put_cstring(&wire, TYPE_ECDSA);
		buf_put_cstring(&wire, "nistp256");
	} else {
		buf_put_cstring(&wire, TYPE_ED25519);
	}
	buf_put_string(&wire, public_key.p, public_key.len);
	buf_put_cstring(&wire, application);
	buf_put_u8(&wire, flags);
	buf_put_string(&wire, handle.p, handle.len);
	buf_put_string(&wire, NULL, 0);
	r = buf_err(&wire);
	rd = rd_from_buf(&wire);
	if (r == 0 && key_private_from_wire(&rd, out) != 0)
		r = ERR_SK_HELPER;
	buf_clear(&wire);
	return r;
}

static struct sk_request
request_of(enum sk_op op, const struct sk_params *p)
{
	return (struct sk_request){ .op = op, .provider = p->provider,
		.device = p->device, .pin = p->pin };
}

/* ---- signing ------------------------------------------------------------- */

/* The algorithm's name inside the signature, for a key or its certificate.
 * NULL: alg cannot be used with k, or only browsers sign by it. */
static const char *
plain_name(const struct key *k, const char *alg)
{
	const struct key_alg *row = key_is_cert(k) ?
	    key_alg_by_cert_name(alg) :
	    key_alg_by_name(alg);

	return row != NULL && key_serves(k, alg) && sk_can_sign(row->name) ?
	    row->name :
	    NULL;
}

bool
sk_can_sign(const char *alg)
{
	return !str_has_prefix(alg, "webauthn-");
}

int
sk_sign_begin(struct sk_call **out, const struct sk_params *p,
    const struct key *k, const char *alg, struct span data)
{
	struct sk_request q = request_of(SK_SIGN, p);
	const struct key_sk *sk = key_sk(k);
	const char *name = plain_name(k, alg);
	struct sk_call *c = NULL;
	int r;

	if (sk == NULL || name == NULL)
		return ERR_KEY_TYPE;
	if (!key_is_private(k))
		return ERR_ARGUMENT;
	q.alg = strcmp(name, TYPE_ECDSA) == 0 ? SK_ALG_ECDSA : SK_ALG_ED25519;
	q.application = sk->application;
	q.flags = sk->flags;
	q.message = data;
	q.handle =
	    buf_span(&sk->handle);
	r = call_begin(&c, &q);
	if (r != 0)
		return r;
	c->alg = strdup(name);
	buf_put(&c->data, data.p, data.len);
	r = c->alg == NULL ? ERR_NOMEM : buf_err(&c->data);
	if (r == 0)
		r = key_public_of(key_identity(k), &c->key);
	if (r == 0)
		*out = c;
	else
		sk_call_end(c);
	return r;
}

static void
put_raw(const struct sk_signed *s, bool ecdsa, struct buf *out)
{
	size_t mark = buf_open_string(out);

	if (ecdsa) {
		buf_put_mpint(out, s->r.p, s->r.len);
		buf_put_mpint(out, s->s.p, s->s.len);
	} else {
		buf_put(out, s->r.p, s->r.len);
	}
	buf_close_string(out, mark);
}

/* The signature is verified here, because the error can then say what is wrong.
 * The server would only say that it refuses the key. */
static int
take_signature(struct sk_call *c, struct rd *rd, struct buf *signature)
{
	struct buf wire = { 0 };
	struct sk_signed s;
	int r;

	if (sk_read_signed(rd, &s) != 0)
		return ERR_SK_HELPER;
	buf_put_cstring(&wire, c->alg);
	put_raw(&s, strcmp(c->alg, TYPE_ECDSA) == 0, &wire);
	buf_put_u8(&wire, s.flags);
	buf_put_u32(&wire, s.counter);
	r = buf_err(&wire);
	if (r == 0)
		r = key_verify(c->key, c->alg,
		    buf_span(&c->data),
		    buf_span(&wire));
	if (r == 0) {
		buf_put_buf(signature, &wire);
		r = buf_err(signature);
	}
	buf_clear(&wire);
	return r;
}

int
sk_sign_step(struct sk_call *c, struct buf *signature)
{
	struct rd rd;
	int r = call_step(c, &rd);

	return r == 0 ? take_signature(c, &rd, signature) : r;
}

int
sk_client_sign(const struct sk_params *p, const struct key *k,
    const char *alg, struct span data, struct buf *signature)
{
	struct sk_call *c = NULL;
	struct rd rd;
	int r = sk_sign_begin(&c, p, k, alg, data);

	if (r == 0)
		r = call_finish(c, p, &rd);
	if (r == 0)
		r = take_signature(c, &rd, signature);
	sk_call_end(c);
	return r;
}

/* ---- new keys ------------------------------------------------------------ */

static void
copy_span(struct buf *to, struct span s)
{
	buf_put(to, s.p, s.len);
}

static int
take_made(const struct sk_request *q, struct rd *rd, struct sk_enrolled *out)
{
	struct sk_made m;
	int r;

	if (sk_read_made(rd, &m) != 0)
		return ERR_SK_HELPER;
	r = make_key(q->alg, m.public_key, q->application, m.flags, m.handle,
	    &out->key);
	copy_span(&out->cert, m.cert);
	copy_span(&out->signature, m.signature);
	copy_span(&out->authdata, m.authdata);
	if (r == 0)
		r = buf_err(&out->cert);
	if (r == 0)
		r = buf_err(&out->signature);
	return r == 0 ? buf_err(&out->authdata) : r;
}

int
sk_client_enroll(const struct sk_params *p, const struct sk_enroll *e,
    struct sk_enrolled *out)
{
	struct sk_request q = request_of(SK_ENROLL, p);
	struct sk_call *c = NULL;
	struct rd rd;
	int r;

	*out = (struct sk_enrolled){ 0 };
	q.alg = strcmp(e->type, "ecdsa-sk") == 0 ? SK_ALG_ECDSA :
						   SK_ALG_ED25519;
	q.application = e->application;
	q.user = e->user;
	q.flags = e->flags;
	q.message = e->challenge;
	r = call_begin(&c, &q);
	if (r == 0)
		r = call_finish(c, p, &rd);
	if (r == 0)
		r = take_made(&q, &rd, out);
	if (r != 0)
		sk_enrolled_clear(out);
	sk_call_end(c);
	return r;
}

void
sk_enrolled_clear(struct sk_enrolled *e)
{
	key_free(e->key);
	buf_clear(&e->cert);
	buf_clear(&e->signature);
	buf_clear(&e->authdata);
	*e = (struct sk_enrolled){ 0 };
}

/* ---- resident keys ------------------------------------------------------- */

static int
take_found(struct rd *rd, struct sk_resident *v, size_t *n, uint32_t count)
{
	struct sk_found f;
	int r;

	while (*n < count) {
		if (sk_read_found(rd, &f) != 0)
			return ERR_SK_HELPER;
		r = make_key(f.alg, f.public_key, f.application, f.flags,
		    f.handle, &v[*n].key);
		if (r != 0)
			return r;
		copy_span(&v[*n].user, f.user);
		r = buf_err(&v[(*n)++].user);
		if (r != 0)
			return r;
	}
	return rd_end(rd) == 0 ? 0 : ERR_SK_HELPER;
}

int
sk_client_load(const struct sk_params *p, struct sk_resident **out, size_t *n)
{
	struct sk_request q = request_of(SK_LOAD, p);
	struct sk_resident *v = NULL;
	struct sk_call *c = NULL;
	uint32_t count = 0;
	struct rd rd;
	int r = call_begin(&c, &q);

	*n = 0;
	if (r == 0)
		r = call_finish(c, p, &rd);
	if (r == 0 && sk_read_count(&rd, &count) != 0)
		r = ERR_SK_HELPER;
	if (r == 0) {
		v = calloc((size_t)count + 1, sizeof *v);
		r = v == NULL ? ERR_NOMEM : take_found(&rd, v, n, count);
	}
	if (r == 0)
		*out = v;
	else
		sk_residents_free(v, *n);
	sk_call_end(c);
	return r;
}

void
sk_residents_free(struct sk_resident *v, size_t n)
{
	for (size_t i = 0; v != NULL && i < n; i++) {
		key_free(v[i].key);
		buf_clear(&v[i].user);
	}
	free(v);
}
