/* SPDX-License-Identifier: ISC */
/* Makes and signs certificates. */
#include <stdlib.h>
#include <string.h>

#include "compat/bsd-mem.h"
#include "crypto/rand.h"
#include "keys/cert.h"
#include "keys/key-internal.h"

enum { NONCE_LEN = 32 };

/* ---- options ------------------------------------------------------------ */

int
cert_options_add(struct cert_options *o, const char *name, const char *value)
{
	struct cert_option *v = reallocarray(o->v, o->n + 1, sizeof *v);
	struct cert_option new = { .name = NULL };
	size_t at = o->n;

	if (v == NULL)
		return ERR_NOMEM;
	o->v = v;
	new.name = strdup(name);
	new.value = value != NULL ? strdup(value) : NULL;
	if (new.name == NULL || (value != NULL && new.value == NULL)) {
		free(new.name);
		free(new.value);
		return ERR_NOMEM;
	}
	while (at > 0 && strcmp(v[at - 1].name, name) > 0)
		at--;
	memmove(v + at + 1, v + at, (o->n - at) * sizeof *v);
	v[at] = new;
	o->n++;
	return 0;
}

bool
cert_options_has(const struct cert_options *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->v[i].name, name) == 0)
			return true;
	return false;
}

void
cert_options_clear(struct cert_options *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].name);
		free(o->v[i].value);
	}
	free(o->v);
	*o = (struct cert_options){ 0 };
}

static void
put_options(struct buf *out, const struct cert_options *o)
{
	size_t all = buf_open_string(out);

	for (size_t i = 0; i < o->n; i++) {
		size_t data;

		buf_put_cstring(out, o->v[i].name);
		data = buf_open_string(out);
		if (o->v[i].value != NULL)
			buf_put_cstring(out, o->v[i].value);
		buf_close_string(out, data);
	}
	buf_close_string(out, all);
}

/* ---- the certificate ---------------------------------------------------- */

static int
put_signed_part(const struct key *k, const struct cert_request *request,
    const struct key *ca, struct buf *out)
{
	uint8_t nonce[NONCE_LEN];
	size_t mark;
	int r;

	rand_bytes(nonce, sizeof nonce);
	buf_put_cstring(out, k->kind->cert_type);
	buf_put_string(out, nonce, sizeof nonce);
	r = key_put_public_fields(k, out);
	if (r != 0)
		return r;
	buf_put_u64(out, request->serial);
	buf_put_u32(out, request->kind);
	buf_put_cstring(out, request->id);
	mark = buf_open_string(out);
	for (size_t i = 0; i < request->principals.n; i++)
		buf_put_cstring(out, request->principals.v[i]);
	buf_close_string(out, mark);
	buf_put_u64(out, request->valid_after);
	buf_put_u64(out, request->valid_before);
	put_options(out, &request->critical);
	put_options(out, &request->extensions);
	buf_put_cstring(out, ""); /* reserved */
	mark = buf_open_string(out);
	r = key_to_blob(ca, out);
	buf_close_string(out, mark);
	return r != 0 ? r : buf_err(out);
}

/* If k is private, the certificate gets the private key, too, so that it can
 * sign. */
static int
keep_private_half(struct key *cert, const struct key *k)
{
	struct key *copy = NULL;
	int r;

	if (!k->is_private)
		return 0;
	r = key_dup(k, &copy);
	if (r != 0)
		return r;
	key_free(cert->certified);
	cert->certified = copy;
	return 0;
}

int
cert_make(const struct key *k, const struct cert_request *request,
    const struct key *ca, cert_sign_fn sign, void *arg, struct key **out)
{
	struct buf blob = { 0 }, signature = { 0 };
	struct key *cert = NULL;
	int r;

	if (key_is_cert(k) || key_is_cert(ca))
		return ERR_ARGUMENT;
	r = put_signed_part(k, request, ca, &blob);
	if (r == 0)
		r = sign(arg, buf_span(&blob), &signature);
	if (r == 0) {
		buf_put_string_buf(&blob, &signature);
		r = buf_err(&blob);
	}
	/* Parsing the new certificate checks its signature and the limits. */
	if (r == 0)
		r = key_from_blob(buf_span(&blob), &cert);
	if (r == 0)
		r = keep_private_half(cert, k);
	if (r == 0)
		*out = cert;
	else
		key_free(cert);
	buf_clear(&signature);
	buf_clear(&blob);
	return r;
}
