/* SPDX-License-Identifier: ISC */
#include "keys/key.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/key-internal.h"

/* LINE_BASE64_MAX: the largest base64 text of a key in a line. It has room for
 * a certificate with many names for an RSA key of 16384 bits, signed by
 * another. */
enum { LINE_BASE64_MAX = 96 * 1024 };

static const struct key_ops *
ops_of(const struct key_alg *alg)
{
	return alg->ops;
}

/* Creation and end. */

int
key_make(const struct key_alg *kind, EVP_PKEY *pkey, bool is_private,
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
	EVP_PKEY_free(k->pkey); /* the last reference wipes it */
	key_sk_free(k->sk);
	key_mldsa_free(k->mldsa);
	key_free(k->certified);
	cert_free(k->cert);
	free(k);
}

/* Takes ownership of m. */
static int
make_mldsa(const struct key_alg *kind, struct key_mldsa *m, bool is_private,
    struct key **out)
{
	struct key *k = NULL;
	int r = key_make(kind, NULL, is_private, &k);

	if (r != 0) {
		key_mldsa_free(m);
		return r;
	}
	k->mldsa = m;
	*out = k;
	return 0;
}

int
key_public_of(const struct key *k, struct key **out)
{
	struct buf blob = { 0 };
	int r = key_to_blob(k, &blob);

	if (r == 0)
		r = key_from_blob(buf_span(&blob), out);
	buf_clear(&blob);
	return r;
}

static int
generate_mldsa(const struct key_alg *kind, struct key **out)
{
	struct key_mldsa *m = NULL;
	int r = key_mldsa_generate(&m);

	return r == 0 ? make_mldsa(kind, m, true, out) : r;
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
		if (ops_of(row)->is_mldsa)
			return generate_mldsa(row, out);
		if (ops_of(row)->generate == NULL)
			continue;
		r = ops_of(row)->generate(row->param, bits, &pkey);
		if (r != ERR_KEY_LENGTH)
			break;
	}
	return r == 0 ? key_make(row, pkey, true, out) : r;
}

/* Wire forms. */

static int
get_mldsa(const struct key_alg *kind, struct rd *rd, bool is_private,
    struct key **out)
{
	struct key_mldsa *m = NULL;
	int r = is_private ? key_mldsa_get_private(rd, &m) :
			     key_mldsa_get_public(rd, &m);

	return r == 0 ? make_mldsa(kind, m, is_private, out) : r;
}

int
key_get_public_fields(const struct key_alg *kind, struct rd *rd,
    struct key **out)
{
	EVP_PKEY *pkey = NULL;
	struct key *k = NULL;
	int r;

	if (ops_of(kind)->is_mldsa)
		return get_mldsa(kind, rd, false, out);
	r = ops_of(kind)->get_public(kind->param, rd, &pkey);
	if (r == 0)
		r = key_make(kind, pkey, false, &k);
	if (r == 0 && ops_of(kind)->is_sk)
		r = key_sk_get_public(rd, &k->sk);
	if (r == 0)
		*out = k;
	else
		key_free(k);
	return r;
}

int
key_put_public_fields(const struct key *k, struct buf *out)
{
	int r;

	if (k->mldsa != NULL)
		return key_mldsa_put_public(k->mldsa, out);
	r = ops_of(k->kind)->put_public(k->kind->param, k->pkey, out);
	return r == 0 && k->sk != NULL ? key_sk_put_public(k->sk, out) : r;
}

/* Reads the fields of a private key that follow the name of its type. */
static int
get_private_fields(const struct key_alg *kind, struct rd *rd,
    struct key **out)
{
	EVP_PKEY *pkey = NULL;
	struct key *k = NULL;
	int r;

	if (ops_of(kind)->is_mldsa)
		return get_mldsa(kind, rd, true, out);
	if (!ops_of(kind)->is_sk) {
		r = ops_of(kind)->get_private(kind->param, rd, &pkey);
		return r == 0 ? key_make(kind, pkey, true, out) : r;
	}
	r = key_get_public_fields(kind, rd, &k);
	if (r == 0)
		r = key_sk_get_private(rd, k->sk);
	if (r != 0) {
		key_free(k);
		return r;
	}
	k->is_private = true;
	*out = k;
	return 0;
}

static int
put_private_fields(const struct key *k, struct buf *out)
{
	int r;

	if (k->mldsa != NULL)
		return key_mldsa_put_private(k->mldsa, out);
	if (k->sk == NULL)
		return ops_of(k->kind)->put_private(k->kind->param, k->pkey,
		    out);
	r = key_put_public_fields(k, out);
	return r == 0 ? key_sk_put_private(k->sk, out) : r;
}

int
key_dup(const struct key *k, struct key **out)
{
	struct key *copy = NULL;
	int r;

	if (k->pkey != NULL && EVP_PKEY_up_ref(k->pkey) != 1)
		return key_evp_failed();
	r = key_make(k->kind, k->pkey, k->is_private, &copy);
	if (r == 0)
		r = key_sk_dup(k->sk, &copy->sk);
	if (r == 0)
		r = key_mldsa_dup(k->mldsa, &copy->mldsa);
	if (r == 0)
		*out = copy;
	else
		key_free(copy);
	return r;
}

int
key_from_blob(struct span blob, struct key **out)
{
	struct rd rd = rd_from_span(blob);
	struct span type = rd_string(&rd);
	const struct key_alg *kind;
	struct key *k = NULL;
	bool certificate;
	int r = rd_err(&rd);

	if (r != 0)
		return r;
	kind = key_kind_by_type(type, &certificate);
	if (kind == NULL)
		return ERR_KEY_TYPE;
	if (certificate)
		return cert_read(kind, blob, rd, out);
	r = key_get_public_fields(kind, &rd, &k);
	if (r == 0)
		r = rd_end(&rd);
	if (r == 0)
		*out = k;
	else
		key_free(k);
	return r;
}

int
key_to_blob(const struct key *k, struct buf *out)
{
	if (k->cert != NULL)
		return cert_put_blob(k->cert, out);
	buf_put_cstring(out, k->kind->key_type);
	return key_put_public_fields(k, out);
}

/* Writes the public fields that begin the private form of k's type and that a
 * certificate holds, too. k may be public or private. */
static int
put_lead(const struct key *k, struct buf *out)
{
	const struct key_ops *ops = ops_of(k->kind);

	if (k->mldsa != NULL)
		return key_put_public_fields(k, out);
	return ops->put_lead != NULL ?
	    ops->put_lead(k->kind->param, k->pkey, out) :
	    0;
}

/* Writes the private form without the fields that put_lead() writes: beside a
 * certificate they are not repeated. */
static int
put_private_rest(const struct key *k, struct buf *out)
{
	struct buf all;
	size_t lead;
	int r;

	buf_init_secret(&all);
	r = put_lead(k, &all);
	lead = buf_len(&all);
	buf_reset(&all);
	if (r == 0)
		r = put_private_fields(k, &all);
	if (r == 0) {
		ENSURE(buf_len(&all) >= lead);
		buf_put(out, buf_data(&all) + lead, buf_len(&all) - lead);
		r = buf_err(out);
	}
	buf_clear(&all);
	return r;
}

int
key_private_to_wire(const struct key *k, struct buf *out)
{
	size_t mark;
	int r;

	if (!key_is_private(k))
		return ERR_ARGUMENT;
	buf_put_cstring(out, key_type(k));
	if (k->cert == NULL)
		return put_private_fields(k, out);
	mark = buf_open_string(out);
	r = key_to_blob(k, out);
	buf_close_string(out, mark);
	return r == 0 ? put_private_rest(k->certified, out) : r;
}

/* Reads from rd what put_private_rest() writes, and makes cert private by it.
 * Returns ERR_FORMAT if it belongs to another public key. */
static int
get_private_rest(struct key *cert, struct rd *rd)
{
	const struct key_alg *kind = cert->kind;
	struct key *k = NULL;
	struct rd joined;
	struct buf all;
	int r;

	buf_init_secret(&all);
	r = put_lead(cert->certified, &all);
	buf_put(&all, rd->p, rd->len);
	if (r == 0)
		r = buf_err(&all);
	joined = rd_from_buf(&all);
	if (r == 0)
		r = get_private_fields(kind, &joined, &k);
	if (r == 0 && !key_equal_public(k, cert->certified))
		r = ERR_FORMAT;
	if (r == 0) {
		(void)rd_bytes(rd, rd->len - joined.len);
		key_free(cert->certified);
		cert->certified = k;
		k = NULL;
	}
	key_free(k);
	buf_clear(&all);
	return r;
}

int
key_private_cert(const struct key *cert, const struct key *priv,
    struct key **out)
{
	struct key *joined = NULL;
	struct buf blob = { 0 }, rest;
	struct rd rd;
	int r;

	if (!key_is_cert(cert) || key_is_cert(priv) || !key_is_private(priv) ||
	    !key_same_identity(cert, priv))
		return ERR_ARGUMENT;
	buf_init_secret(&rest);
	r = key_to_blob(cert, &blob);
	if (r == 0)
		r = key_from_blob(buf_span(&blob), &joined);
	if (r == 0)
		r = put_private_rest(priv, &rest);
	rd = rd_from_buf(&rest);
	if (r == 0)
		r = get_private_rest(joined, &rd);
	if (r == 0)
		*out = joined;
	else
		key_free(joined);
	buf_clear(&rest);
	buf_clear(&blob);
	return r;
}

static int
private_cert_from_wire(struct span type, struct rd *rd, struct key **out)
{
	struct span blob = rd_string(rd);
	struct key *k = NULL;
	int r = rd_err(rd);

	if (r == 0)
		r = key_from_blob(blob, &k);
	if (r == 0 && !span_equals(type, key_type(k)))
		r = ERR_FORMAT;
	if (r == 0)
		r = get_private_rest(k, rd);
	if (r == 0)
		*out = k;
	else
		key_free(k);
	return r;
}

int
key_private_from_wire(struct rd *rd, struct key **out)
{
	struct span type = rd_string(rd);
	const struct key_alg *kind;
	bool certificate;
	int r = rd_err(rd);

	if (r != 0)
		return r;
	kind = key_kind_by_type(type, &certificate);
	if (kind == NULL)
		return ERR_KEY_TYPE;
	if (certificate)
		return private_cert_from_wire(type, rd, out);
	return get_private_fields(kind, rd, out);
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
		if (ops_of(row)->owns != NULL &&
		    ops_of(row)->owns(pkey, row->param))
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
	return r == 0 ? key_make(row, checked, is_private, out) : r;
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
	bool certificate;
	int r;

	if (type.len == 0 || base64.len == 0)
		return ERR_FORMAT;
	if (base64.len > LINE_BASE64_MAX)
		return ERR_LIMIT;
	if (key_kind_by_type(type, &certificate) == NULL)
		return ERR_KEY_TYPE;
	r = str_base64_decode((const char *)base64.p, base64.len, &blob, &len);
	if (r != 0)
		return r;
	r = key_from_blob((struct span){ blob, len }, &k);
	free(blob);
	if (r != 0)
		return r;
	if (!span_equals(type, key_type(k))) {
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
		buf_printf(out, "%s %s", key_type(k), base64);
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
	return key_is_cert(k) ? k->kind->cert_type : k->kind->key_type;
}

const char *
key_short_name(const struct key *k)
{
	return key_is_cert(k) ? k->kind->cert_short_name :
				k->kind->short_name;
}

const struct key_sk *
key_sk(const struct key *k)
{
	return key_identity(k)->sk;
}

void
key_sk_set_flags(struct key *k, uint8_t flags)
{
	k->sk->flags = flags;
}

bool
key_has_pem(const struct key *k)
{
	return key_identity(k)->pkey != NULL && key_sk(k) == NULL;
}

unsigned
key_bits(const struct key *k)
{
	return ops_of(k->kind)->bits(k->kind->param, key_identity(k)->pkey);
}

bool
key_is_private(const struct key *k)
{
	return key_identity(k)->is_private;
}

bool
key_is_cert(const struct key *k)
{
	return k->certified != NULL;
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
key_blobs_same_identity(struct span a, struct span b)
{
	struct buf one = { 0 }, other = { 0 };
	bool same = key_identity_of_blob(a, &one) == 0 &&
	    key_identity_of_blob(b, &other) == 0 &&
	    buf_len(&one) == buf_len(&other) &&
	    memcmp(buf_data(&one), buf_data(&other), buf_len(&one)) == 0;

	buf_clear(&one);
	buf_clear(&other);
	return same;
}

/* The row of the algorithm that k signs by if the peer calls it alg. For a
 * certificate, alg is a name for certificates. NULL: k cannot be used with
 * alg. */
static const struct key_alg *
row_for(const struct key *k, const char *alg)
{
	const struct key_alg *row = key_is_cert(k) ?
	    key_alg_by_cert_name(alg) :
	    key_alg_by_name(alg);

	return row != NULL && strcmp(row->key_type, k->kind->key_type) == 0 ?
	    row :
	    NULL;
}

bool
key_serves(const struct key *k, const char *alg)
{
	return row_for(k, alg) != NULL;
}

int
key_check_length(const struct key *k, unsigned min_rsa_bits)
{
	if (k->kind->ops == &key_ops_rsa && key_bits(k) < min_rsa_bits)
		return ERR_KEY_LENGTH;
	return 0;
}

/* Signatures. */

static int
sign_raw(const struct key_alg *row, const struct key *k, struct span data,
    struct buf *out)
{
	if (k->mldsa != NULL)
		return key_mldsa_sign(k->mldsa, data, out);
	return ops_of(row)->sign != NULL ?
	    ops_of(row)->sign(row->param, k->pkey, data, out) :
	    ERR_UNSUPPORTED;
}

int
key_sign(const struct key *k, const char *alg, struct span data,
    struct buf *signature)
{
	const struct key_alg *row = row_for(k, alg);
	struct buf raw = { 0 };
	int r;

	if (!key_is_private(k))
		return ERR_ARGUMENT;
	if (row == NULL)
		return ERR_KEY_TYPE;
	r = sign_raw(row, key_identity(k), data, &raw);
	if (r == 0) {
		buf_put_cstring(signature, row->name);
		buf_put_string_buf(signature, &raw);
		r = buf_err(signature);
	}
	buf_clear(&raw);
	return r;
}

/* Verifies a security key's signature over data, the text that key_sk_verify()
 * put together, by the plain algorithm of the key. */
static int
verify_sk_numbers(const struct key *k, struct span data, struct span raw)
{
	return ops_of(k->kind)->verify(k->kind->param, k->pkey, data, raw);
}

int
key_verify_seen(const struct key *k, const char *alg, struct span data,
    struct span signature, struct key_sk_seen *seen)
{
	const struct key_alg *row = row_for(k, alg);
	struct rd rd = rd_from_span(signature);
	struct span name = rd_string(&rd), raw = rd_string(&rd);

	*seen = (struct key_sk_seen){ 0 };
	if (row == NULL)
		return ERR_KEY_TYPE;
	if (rd_err(&rd) != 0 || !span_equals(name, row->name))
		return ERR_SIGNATURE;
	if (ops_of(row)->is_sk)
		return key_sk_verify(key_identity(k), ops_of(row)->webauthn,
		    verify_sk_numbers, data, raw, &rd, seen);
	if (rd_end(&rd) != 0)
		return ERR_SIGNATURE;
	if (ops_of(row)->is_mldsa)
		return key_mldsa_verify(key_identity(k)->mldsa, data, raw);
	return ops_of(row)->verify(row->param, key_identity(k)->pkey, data,
	    raw);
}

int
key_verify(const struct key *k, const char *alg, struct span data,
    struct span signature)
{
	struct key_sk_seen seen;

	return key_verify_seen(k, alg, data, signature, &seen);
}
