/* SPDX-License-Identifier: ISC */
#include "keys/cert.h"

#include <stdlib.h>

#include "keys/key-internal.h"

enum { ID_MAX = 16 * 1024, PRINCIPAL_MAX = 16 * 1024 };

void
cert_free(struct cert *c)
{
	if (c == NULL)
		return;
	free(c->id);
	strlist_clear(&c->principals);
	key_free(c->ca);
	buf_clear(&c->blob);
	free(c);
}

const struct cert *
key_cert(const struct key *k)
{
	return k->cert;
}

int
cert_put_blob(const struct cert *c, struct buf *out)
{
	buf_put_buf(out, &c->blob);
	return buf_err(out);
}

bool
cert_option_next(struct rd *r, struct span *name, struct span *data)
{
	if (rd_err(r) != 0 || r->len == 0)
		return false;
	*name = rd_string(r);
	*data = rd_string(r);
	return rd_err(r) == 0;
}

static int
check_options(struct span options)
{
	struct rd r = rd_from_span(options);
	struct span name, data;

	while (cert_option_next(&r, &name, &data))
		;
	return rd_end(&r);
}

static int
read_principals(struct rd r, struct strlist *out)
{
	int res = 0;

	while (res == 0 && r.len > 0) {
		char *name = rd_cstring(&r, PRINCIPAL_MAX);

		res = rd_err(&r);
		if (res == 0 && out->n == CERT_PRINCIPALS_MAX)
			res = ERR_LIMIT;
		if (res == 0)
			res = strlist_add(out, name);
		free(name);
	}
	return res;
}

/* Reads the fields behind those of the public key: from the serial number to
 * the authority's key, the last field that the signature covers. */
static int
read_tail(struct cert *c, struct rd *r)
{
	struct span ca;
	struct rd names;
	uint32_t kind;
	int res;

	c->serial = rd_u64(r);
	kind = rd_u32(r);
	c->id = rd_cstring(r, ID_MAX);
	names = rd_sub(r);
	c->valid_after = rd_u64(r);
	c->valid_before = rd_u64(r);
	c->critical = rd_string(r);
	c->extensions = rd_string(r);
	(void)rd_string(r); /* reserved */
	ca = rd_string(r);
	if ((res = rd_err(r)) != 0)
		return res;
	if (kind != CERT_USER && kind != CERT_HOST)
		return ERR_FORMAT;
	c->kind = (enum cert_kind)kind;
	res = read_principals(names, &c->principals);
	if (res == 0)
		res = check_options(c->critical);
	if (res == 0)
		res = check_options(c->extensions);
	if (res == 0)
		res = key_from_blob(ca, &c->ca);
	/* An authority's key must be a plain one: certificates do not form
	 * chains. */
	if (res == 0 && key_is_cert(c->ca))
		res = ERR_FORMAT;
	return res;
}

static int
check_signature(struct cert *c, struct span data, struct span signature)
{
	struct rd r = rd_from_span(signature);
	struct span name = rd_string(&r);
	const struct key_alg *row;

	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++) {
		if (rd_err(&r) == 0 && span_equals(name, row->name)) {
			c->signature_alg = row->name;
			return key_verify(c->ca, row->name, data, signature);
		}
	}
	return ERR_SIGNATURE;
}

static int
read_cert(const struct key_alg *kind, struct cert *c, struct rd r,
    struct key **certified)
{
	struct span all, signature;
	int res;

	(void)rd_string(&r); /* nonce */
	if ((res = rd_err(&r)) != 0)
		return res;
	res = key_get_public_fields(kind, &r, certified);
	if (res == 0)
		res = read_tail(c, &r);
	if (res != 0)
		return res;
	all = (struct span){ buf_data(&c->blob),
		buf_len(&c->blob) - r.len };
	signature = rd_string(&r);
	if ((res = rd_end(&r)) != 0)
		return res;
	return check_signature(c, all, signature);
}

int
cert_read(const struct key_alg *kind, struct span blob, struct rd r,
    struct key **out)
{
	struct key *certified = NULL, *k = NULL;
	struct cert *c;
	int res;

	if (blob.len > CERT_BLOB_MAX)
		return ERR_LIMIT;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return ERR_NOMEM;
	/* The spans in *c point into c->blob, so it is copied before it is
	 * read. */
	buf_put(&c->blob, blob.p, blob.len);
	res = buf_err(&c->blob);
	if (res == 0)
		r = rd_from(buf_data(&c->blob) + (blob.len - r.len), r.len);
	if (res == 0)
		res = read_cert(kind, c, r, &certified);
	if (res == 0)
		res = key_make(kind, NULL, false, &k);
	if (res != 0) {
		key_free(certified);
		cert_free(c);
		return res;
	}
	k->certified = certified;
	k->cert = c;
	*out = k;
	return 0;
}
