/* SPDX-License-Identifier: ISC */
#include "keys/key.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/key-internal.h"

/* base64 of the largest blob that is accepted: RSA of 16384 bits */
enum { LINE_BASE64_MAX = 16 * 1024 };

static const struct key_ops *
ops_of(const struct key_alg *alg)
{
	return alg->ops;
}

/* Creation and end. */

/* Takes ownership of pkey. */
static int
make(const struct key_alg *kind, EVP_PKEY *pkey, bool is_private,
    struct key **out)
{
	struct key *k = malloc(sizeof *k);

	if (k == NULL) {
		EVP_PKEY_free(pkey);
		return ERR_NOMEM;
	}
	*k = (struct key){ .kind = kind, .pkey = pkey,
		.is_private = is_private };
	*out = k;
	return 0;
}

void
key_free(struct key *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->pkey); /* wipes with the last reference */
	key_free(k->certified);
	free(k);
}

int
key_public_of(const struct key *k, struct key **out)
{
	struct buf blob = { 0 };
	int r = key_to_blob(k, &blob);

	if (r == 0)
		r = key_from_blob((struct span){ buf_data(&blob),
				      buf_len(&blob) }, out);
	buf_clear(&blob);
	return r;
}

int
key_generate(const char *type, unsigned bits, struct key **out)
{
	const struct key_alg *row;
	EVP_PKEY *pkey = NULL;
	int r = ERR_KEY_TYPE;

	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++) {
		if (strcasecmp(row->short_name, type) != 0)
			continue;
		r = ops_of(row)->generate(row->param, bits, &pkey);
		if (r != ERR_KEY_LENGTH)
			break;
	}
	return r == 0 ? make(row, pkey, true, out) : r;
}

/* Wire forms. */

int
key_from_blob(struct span blob, struct key **out)
{
	struct rd rd = rd_from_span(blob);
	struct span type = rd_string(&rd);
	const struct key_alg *kind;
	EVP_PKEY *pkey = NULL;
	int r = rd_err(&rd);

	if (r != 0)
		return r;
	kind = key_kind_by_type(type);
	if (kind == NULL)
		return ERR_KEY_TYPE;
	r = ops_of(kind)->get_public(kind->param, &rd, &pkey);
	if (r != 0)
		return r;
	r = rd_end(&rd);
	if (r != 0) {
		EVP_PKEY_free(pkey);
		return r;
	}
	return make(kind, pkey, false, out);
}

int
key_to_blob(const struct key *k, struct buf *out)
{
	buf_put_cstring(out, k->kind->key_type);
	return ops_of(k->kind)->put_public(k->kind->param, k->pkey, out);
}

int
key_private_to_wire(const struct key *k, struct buf *out)
{
	if (!k->is_private)
		return ERR_ARGUMENT;
	buf_put_cstring(out, k->kind->key_type);
	return ops_of(k->kind)->put_private(k->kind->param, k->pkey, out);
}

int
key_private_from_wire(struct rd *rd, struct key **out)
{
	struct span type = rd_string(rd);
	const struct key_alg *kind;
	EVP_PKEY *pkey = NULL;
	int r = rd_err(rd);

	if (r != 0)
		return r;
	kind = key_kind_by_type(type);
	if (kind == NULL)
		return ERR_KEY_TYPE;
	r = ops_of(kind)->get_private(kind->param, rd, &pkey);
	return r == 0 ? make(kind, pkey, true, out) : r;
}

int
key_from_pkey(const EVP_PKEY *pkey, bool is_private, struct key **out)
{
	const struct key_ops *ops;
	const struct key_alg *row;
	EVP_PKEY *checked = NULL;
	struct buf wire;
	struct rd rd;
	size_t i;
	int r;

	for (i = 0; (row = key_alg_at(i)) != NULL; i++) {
		if (ops_of(row)->owns(pkey, row->param))
			break;
	}
	if (row == NULL)
		return ERR_KEY_TYPE;
	ops = ops_of(row);
	buf_init_secret(&wire);
	r = is_private ? ops->put_private(row->param, pkey, &wire) :
			 ops->put_public(row->param, pkey, &wire);
	rd = rd_from_buf(&wire);
	if (r == 0)
		r = is_private ? ops->get_private(row->param, &rd, &checked) :
				 ops->get_public(row->param, &rd, &checked);
	buf_clear(&wire);
	return r == 0 ? make(row, checked, is_private, out) : r;
}

/* Text lines. */

static struct span
next_word(const char **s)
{
	const char *p = *s + strspn(*s, " \t");
	struct span word = { (const uint8_t *)p, strcspn(p, " \t\r\n") };

	*s = p + word.len;
	return word;
}

int
key_parse_line(const char **s, struct key **out)
{
	const char *p = *s;
	struct span type = next_word(&p), base64 = next_word(&p);
	struct key *k = NULL;
	uint8_t *blob = NULL;
	size_t len = 0;
	int r;

	if (type.len == 0 || base64.len == 0)
		return ERR_FORMAT;
	if (base64.len > LINE_BASE64_MAX)
		return ERR_LIMIT;
	if (key_kind_by_type(type) == NULL)
		return ERR_KEY_TYPE;
	r = str_base64_decode((const char *)base64.p, base64.len, &blob, &len);
	if (r != 0)
		return r;
	r = key_from_blob((struct span){ blob, len }, &k);
	free(blob);
	if (r != 0)
		return r;
	if (!span_equals(type, k->kind->key_type)) {
		key_free(k);
		return ERR_FORMAT;
	}
	*s = p;
	*out = k;
	return 0;
}

int
key_format_line(const struct key *k, const char *comment, struct buf *out)
{
	struct buf blob = { 0 };
	char *base64 = NULL;
	int r = key_to_blob(k, &blob);

	if (r == 0) {
		base64 = str_base64_encode(buf_data(&blob), buf_len(&blob));
		r = base64 != NULL ? 0 : ERR_NOMEM;
	}
	if (r == 0) {
		buf_printf(out, "%s %s", k->kind->key_type, base64);
		if (comment != NULL && *comment != '\0')
			buf_printf(out, " %s", comment);
		r = buf_err(out);
	}
	free(base64);
	buf_clear(&blob);
	return r;
}

/* Properties. */

const char *
key_type(const struct key *k)
{
	return k->kind->key_type;
}

const char *
key_short_name(const struct key *k)
{
	return k->kind->short_name;
}

unsigned
key_bits(const struct key *k)
{
	return ops_of(k->kind)->bits(k->kind->param, k->pkey);
}

bool
key_is_private(const struct key *k)
{
	return k->is_private;
}

bool
key_equal_public(const struct key *a, const struct key *b)
{
	struct buf blob_a = { 0 }, blob_b = { 0 };
	bool equal;

	if (a == NULL || b == NULL || a->kind != b->kind)
		return false;
	equal = key_to_blob(a, &blob_a) == 0 && key_to_blob(b, &blob_b) == 0 &&
	    buf_len(&blob_a) == buf_len(&blob_b) &&
	    memcmp(buf_data(&blob_a), buf_data(&blob_b),
		buf_len(&blob_a)) == 0;
	buf_clear(&blob_a);
	buf_clear(&blob_b);
	return equal;
}

const struct key *
key_identity(const struct key *k)
{
	return k->certified != NULL ? k->certified : k;
}

bool
key_same_identity(const struct key *a, const struct key *b)
{
	return a != NULL && b != NULL &&
	    key_equal_public(key_identity(a), key_identity(b));
}

int
key_identity_of_blob(struct span blob, struct buf *out)
{
	struct key *k = NULL;
	int r = key_from_blob(blob, &k);

	if (r != 0)
		return r;
	if (k->certified != NULL) {
		r = key_to_blob(k->certified, out);
	} else {
		buf_put(out, blob.p, blob.len);
		r = buf_err(out);
	}
	key_free(k);
	return r;
}

bool
key_serves(const struct key *k, const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);

	return row != NULL && strcmp(row->key_type, k->kind->key_type) == 0;
}

int
key_check_length(const struct key *k, unsigned min_rsa_bits)
{
	if (k->kind->ops == &key_ops_rsa && key_bits(k) < min_rsa_bits)
		return ERR_KEY_LENGTH;
	return 0;
}

/* Signatures. */

int
key_sign(const struct key *k, const char *alg, struct span data,
    struct buf *signature)
{
	const struct key_alg *row = key_alg_by_name(alg);
	struct buf raw = { 0 };
	int r;

	if (!k->is_private)
		return ERR_ARGUMENT;
	if (row == NULL || !key_serves(k, alg))
		return ERR_KEY_TYPE;
	r = ops_of(row)->sign(row->param, k->pkey, data, &raw);
	if (r == 0) {
		buf_put_cstring(signature, row->name);
		buf_put_string_buf(signature, &raw);
		r = buf_err(signature);
	}
	buf_clear(&raw);
	return r;
}

int
key_verify(const struct key *k, const char *alg, struct span data,
    struct span signature)
{
	const struct key_alg *row = key_alg_by_name(alg);
	struct rd rd = rd_from_span(signature);
	struct span name = rd_string(&rd), raw = rd_string(&rd);

	if (row == NULL || !key_serves(k, alg))
		return ERR_KEY_TYPE;
	if (rd_end(&rd) != 0 || !span_equals(name, alg))
		return ERR_SIGNATURE;
	return ops_of(row)->verify(row->param, k->pkey, data, raw);
}
