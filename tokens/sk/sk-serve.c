/* SPDX-License-Identifier: ISC */
#include "tokens/sk/sk-serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/key.h"

/* ---- what goes to the library -------------------------------------------- */

struct options {
	struct sk_option v[2];
	struct sk_option *list[3];
	size_t n;
};

static void
add_option(struct options *o, const char *name, const char *value)
{
	if (value == NULL)
		return;
	/* The library does not change the texts, although the interface does
	 * not say const. */
	o->v[o->n] = (struct sk_option){ .name = (char *)(uintptr_t)name,
		.value = (char *)(uintptr_t)value };
	o->list[o->n] = &o->v[o->n];
	o->n++;
}

static struct sk_option **
options_of(const struct sk_request *q, struct options *o)
{
	add_option(o, "device", q->device);
	if (q->op == SK_ENROLL)
		add_option(o, "user", q->user);
	return o->n > 0 ? o->list : NULL;
}

static enum sk_status
status_of(int r)
{
	switch (r) {
	case 0:
		return SK_DONE;
	case SK_API_UNSUPPORTED:
		return SK_UNSUPPORTED;
	case SK_API_NEEDS_PIN:
		return SK_NEEDS_PIN;
	case SK_API_NO_DEVICE:
		return SK_NO_DEVICE;
	case SK_API_HAS_KEY:
		return SK_HAS_KEY;
	default:
		return SK_FAILED;
	}
}

/* ---- what comes back ----------------------------------------------------- */

static struct span
member(const uint8_t *p, size_t len)
{
	return (struct span){ p, p != NULL ? len : 0 };
}

static bool
fits(struct span s)
{
	return s.len <= SK_FIELD_MAX;
}

static bool
all_fit(const struct sk_enroll_response *e)
{
	return e->public_key_len <= SK_FIELD_MAX &&
	    e->key_handle_len <= SK_FIELD_MAX &&
	    e->signature_len <= SK_FIELD_MAX &&
	    e->attestation_cert_len <= SK_FIELD_MAX &&
	    e->authdata_len <= SK_FIELD_MAX;
}

static void
clear_enrolled(struct sk_enroll_response *e)
{
	free(e->public_key);
	mem_free_secret(e->key_handle, e->key_handle_len);
	free(e->signature);
	free(e->attestation_cert);
	free(e->authdata);
}

static int
serve_enroll(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer)
{
	struct sk_enroll_response *e = NULL;
	struct options o = { .n = 0 };
	int r = api->enroll(q->alg, q->message.p, q->message.len,
	    q->application, q->flags, q->pin, options_of(q, &o), &e);
	enum sk_status status = status_of(r);
	struct sk_made m;

	if (status != SK_DONE || e == NULL || !all_fit(e)) {
		sk_put_head(answer, q->op,
		    status != SK_DONE ? status : SK_FAILED);
		return buf_err(answer);
	}
	m = (struct sk_made){ .flags = e->flags,
		.public_key = member(e->public_key, e->public_key_len),
		.handle = member(e->key_handle, e->key_handle_len),
		.signature = member(e->signature, e->signature_len),
		.cert = member(e->attestation_cert, e->attestation_cert_len),
		.authdata = member(e->authdata, e->authdata_len) };
	sk_put_head(answer, q->op, SK_DONE);
	sk_put_made(answer, &m);
	clear_enrolled(e);
	free(e);
	return buf_err(answer);
}

static int
serve_sign(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer)
{
	struct sk_sign_response *s = NULL;
	struct options o = { .n = 0 };
	int r = api->sign(q->alg, q->message.p, q->message.len,
	    q->application, q->handle.p, q->handle.len, q->flags, q->pin,
	    options_of(q, &o), &s);
	enum sk_status status = status_of(r);
	struct sk_signed done;

	if (status == SK_DONE && s != NULL)
		done = (struct sk_signed){ .flags = s->flags,
			.counter = s->counter,
			.r = member(s->sig_r, s->sig_r_len),
			.s = member(s->sig_s, s->sig_s_len) };
	if (status != SK_DONE || s == NULL || !fits(done.r) || !fits(done.s)) {
		sk_put_head(answer, q->op,
		    status != SK_DONE ? status : SK_FAILED);
		return buf_err(answer);
	}
	sk_put_head(answer, q->op, SK_DONE);
	sk_put_signed(answer, &done);
	free(s->sig_r);
	free(s->sig_s);
	free(s);
	return buf_err(answer);
}

/* ---- resident keys ------------------------------------------------------- */

static bool
is_sound(const struct sk_resident_key *k)
{
	return k != NULL && k->application != NULL &&
	    strlen(k->application) < SK_TEXT_MAX &&
	    k->alg <= SK_ALG_ED25519 && all_fit(&k->key) &&
	    k->user_id_len <= SK_FIELD_MAX;
}

static void
put_resident(struct buf *answer, const struct sk_resident_key *k)
{
	struct sk_found f = { .alg = k->alg,
		.flags = k->flags,
		.application = k->application,
		.user = member(k->user_id, k->user_id_len),
		.public_key = member(k->key.public_key,
		    k->key.public_key_len),
		.handle = member(k->key.key_handle, k->key.key_handle_len) };

	sk_put_found(answer, &f);
}

static void
free_resident(struct sk_resident_key *k)
{
	free(k->application);
	clear_enrolled(&k->key);
	free(k->user_id);
	free(k);
}

static int
serve_load(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer)
{
	struct sk_resident_key **v = NULL;
	struct options o = { .n = 0 };
	size_t n = 0;
	int r = api->load(q->pin, options_of(q, &o), &v, &n);
	enum sk_status status = status_of(r);
	bool sound = status == SK_DONE && n <= SK_FOUND_MAX &&
	    (v != NULL || n == 0);

	for (size_t i = 0; sound && i < n; i++)
		sound = is_sound(v[i]);
	if (!sound) {
		sk_put_head(answer, q->op,
		    status != SK_DONE ? status : SK_FAILED);
		return buf_err(answer);
	}
	sk_put_head(answer, q->op, SK_DONE);
	buf_put_u32(answer, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		put_resident(answer, v[i]);
		free_resident(v[i]);
	}
	free(v);
	return buf_err(answer);
}

int
sk_serve(const struct sk_request *q, const struct sk_api *api,
    struct buf *answer)
{
	switch (q->op) {
	case SK_SIGN:
		return serve_sign(q, api, answer);
	case SK_ENROLL:
		return serve_enroll(q, api, answer);
	case SK_LOAD:
		return serve_load(q, api, answer);
	}
	return ERR_ARGUMENT;
}
