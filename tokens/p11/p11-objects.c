/* SPDX-License-Identifier: ISC */
/*
 * Finds the keys of tokens: first the public key objects, then the
 * certificates, whose public keys count, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compat/bsd.h"
#include "keys/key-x509.h"
#include "tokens/p11/p11-internal.h"

enum {
	/* Bytes of a number: 16384 bits, and a zero byte. */
	NUMBER_MAX = 2049,
	CERTIFICATE_MAX = 64 * 1024,
	AT_ONCE = 16,
};

bool
object_get(struct provider *p, const struct token *t, CK_OBJECT_HANDLE object,
    CK_ATTRIBUTE_TYPE type, void *out, size_t max, size_t *len)
{
	CK_ATTRIBUTE a = { type, NULL, 0 };
	CK_RV rv = p->f->C_GetAttributeValue(t->session, object, &a, 1);

	/* A missing attribute has the largest possible length. */
	if (rv != CKR_OK || a.ulValueLen > max)
		return false;
	a.pValue = out;
	a.ulValueLen = max;
	rv = p->f->C_GetAttributeValue(t->session, object, &a, 1);
	*len = a.ulValueLen;
	return rv == CKR_OK && a.ulValueLen <= max;
}

size_t
objects_find(struct provider *p, const struct token *t, CK_ATTRIBUTE *template,
    size_t n, CK_OBJECT_HANDLE *out, size_t max)
{
	CK_OBJECT_HANDLE some[AT_ONCE];
	CK_ULONG got = 0;
	size_t found = 0;
	CK_RV rv = p->f->C_FindObjectsInit(t->session, template, n);

	if (rv != CKR_OK) {
		log_error("token %s: no search: error 0x%lx", t->label, rv);
		return 0;
	}
	while (found < max &&
	    p->f->C_FindObjects(t->session, some, AT_ONCE, &got) == CKR_OK &&
	    got > 0 && got <= AT_ONCE) {
		if (got > max - found)
			got = max - found;
		memcpy(out + found, some, got * sizeof *out);
		found += got;
	}
	(void)p->f->C_FindObjectsFinal(t->session);
	return found;
}

/* ---- public keys --------------------------------------------------------- */

/* The object that is being read. */
struct reading {
	struct provider *p;
	uint32_t token; /* index in provider.tokens */
	CK_OBJECT_HANDLE object;
};

static bool
get(const struct reading *o, CK_ATTRIBUTE_TYPE type, void *out, size_t max,
    size_t *len)
{
	return object_get(o->p, &o->p->tokens[o->token], o->object, type, out,
	    max, len);
}

static bool
put_rsa(const struct reading *o, struct buf *blob)
{
	uint8_t n[NUMBER_MAX], e[NUMBER_MAX];
	size_t n_len, e_len;

	if (!get(o, CKA_MODULUS, n, sizeof n, &n_len) ||
	    !get(o, CKA_PUBLIC_EXPONENT, e, sizeof e, &e_len))
		return false;
	buf_put_cstring(blob, "ssh-rsa");
	buf_put_mpint(blob, e, e_len);
	buf_put_mpint(blob, n, n_len);
	return true;
}

/* Curves by the DER of CKA_EC_PARAMS: an OID; for edwards25519 also its
 * name. */
static const struct curve {
	const char *der;
	size_t der_len;
	const char *type, *name;
	size_t point_len;
} curves[] = {
	{ "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10,
	    "ecdsa-sha2-nistp256", "nistp256", 65 },
	{ "\x06\x05\x2b\x81\x04\x00\x22", 7, "ecdsa-sha2-nistp384",
	    "nistp384", 97 },
	{ "\x06\x05\x2b\x81\x04\x00\x23", 7, "ecdsa-sha2-nistp521",
	    "nistp521", 133 },
	{ "\x06\x03\x2b\x65\x70", 5, "ssh-ed25519", NULL, 32 },
	{ "\x13\x0c" "edwards25519", 14, "ssh-ed25519", NULL, 32 },
};

static const struct curve *
curve_of(const uint8_t *der, size_t len)
{
	for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
		if (curves[i].der_len == len &&
		    memcmp(curves[i].der, der, len) == 0)
			return &curves[i];
	return NULL;
}

/* The point of a public key: the content of a DER octet string; some libraries
 * leave the octet string out. want: its length. p is NULL if it is invalid. */
static struct span
point_of(const uint8_t *p, size_t len, size_t want)
{
	if (len == want)
		return (struct span){ p, len };
	if (want < 128 && len == want + 2 && p[0] == 4 && p[1] == want)
		return (struct span){ p + 2, want };
	if (want >= 128 && len == want + 3 && p[0] == 4 && p[1] == 0x81 &&
	    p[2] == want)
		return (struct span){ p + 3, want };
	return (struct span){ NULL, 0 };
}

static bool
put_ec(const struct reading *o, struct buf *blob)
{
	uint8_t params[64], point[256];
	size_t params_len, point_len;
	const struct curve *c;
	struct span q;

	if (!get(o, CKA_EC_PARAMS, params, sizeof params, &params_len) ||
	    !get(o, CKA_EC_POINT, point, sizeof point, &point_len) ||
	    (c = curve_of(params, params_len)) == NULL)
		return false;
	q = point_of(point, point_len, c->point_len);
	if (q.p == NULL)
		return false;
	buf_put_cstring(blob, c->type);
	if (c->name != NULL)
		buf_put_cstring(blob, c->name);
	buf_put_string(blob, q.p, q.len);
	return true;
}

static bool
read_public(const struct reading *o, struct key **out, char **name)
{
	CK_KEY_TYPE type;
	struct buf blob = { 0 };
	size_t len;
	bool ok = false;

	*name = NULL;
	if (!get(o, CKA_KEY_TYPE, &type, sizeof type, &len) ||
	    len != sizeof type)
		return false;
	if (type == CKK_RSA)
		ok = put_rsa(o, &blob);
	else if (type == CKK_EC || type == CKK_EC_EDWARDS)
		ok = put_ec(o, &blob);
	if (ok && buf_err(&blob) == 0)
		ok = key_from_blob(buf_span(&blob), out) == 0;
	buf_clear(&blob);
	return ok;
}

/* ---- certificates -------------------------------------------------------- */

static bool
read_certificate(const struct reading *o, struct key **out, char **name)
{
	uint8_t *der = malloc(CERTIFICATE_MAX);
	CK_CERTIFICATE_TYPE type;
	size_t len;
	bool ok;

	ok = der != NULL &&
	    get(o, CKA_CERTIFICATE_TYPE, &type, sizeof type, &len) &&
	    len == sizeof type && type == CKC_X_509 &&
	    get(o, CKA_VALUE, der, CERTIFICATE_MAX, &len) &&
	    key_from_x509((struct span){ der, len }, out, name) == 0;
	free(der);
	return ok;
}

/* ---- all of them --------------------------------------------------------- */

/* Notes the key as listed, and where its private key is. */
static int
keep_listed(const struct reading *o, const struct key *k)
{
	struct provider *p = o->p;
	struct listed_key *at = &p->listed[p->n_listed];
	int r;

	if (p->n_listed == P11_KEYS_MAX)
		return ERR_LIMIT;
	*at = (struct listed_key){ .token = o->token };
	if (!get(o, CKA_ID, at->id, sizeof at->id, &at->id_len))
		at->id_len = 0;
	r = key_to_blob(k, &at->blob);
	if (r == 0)
		p->n_listed++;
	else
		buf_clear(&at->blob);
	return r;
}

/* Adds a key to the list, labelled by its object or else by name. k and name
 * are taken over. */
static int
keep(const struct reading *o, struct key *k, char *name, struct p11_list *out)
{
	char label[P11_LABEL_MAX + 1] = "";
	size_t len, before = out->n_keys;
	int r;

	if (get(o, CKA_LABEL, label, sizeof label - 1, &len) && len > 0)
		label[len] = '\0';
	else if (name != NULL)
		(void)strlcpy(label, name, sizeof label);
	else
		label[0] = '\0';
	free(name);
	r = p11_list_add_key(out, k, label, o->token);
	if (r == 0 && out->n_keys > before)
		r = keep_listed(o, out->keys[before].key);
	return r;
}

static int
list_class(struct provider *p, uint32_t token, CK_OBJECT_CLASS class,
    struct p11_list *out)
{
	CK_ATTRIBUTE template[] = { { CKA_CLASS, &class, sizeof class } };
	CK_OBJECT_HANDLE objects[P11_KEYS_MAX];
	size_t n = objects_find(p, &p->tokens[token], template, 1, objects,
	    P11_KEYS_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct reading o = { p, token, objects[i] };
		struct key *k = NULL;
		char *name = NULL;

		if (class == CKO_PUBLIC_KEY ? read_public(&o, &k, &name) :
					      read_certificate(&o, &k, &name))
			r = keep(&o, k, name, out);
		else
			log_debug("token %s: an object that is of no use",
			    p->tokens[token].label);
	}
	return r;
}

static void
forget_listed(struct provider *p)
{
	for (size_t i = 0; i < p->n_listed; i++)
		buf_clear(&p->listed[i].blob);
	p->n_listed = 0;
}

int
objects_list(struct provider *p, struct p11_list *out)
{
	int r = 0;

	forget_listed(p);
	for (uint32_t i = 0; r == 0 && i < p->n_tokens; i++) {
		const struct token *t = &p->tokens[i];

		r = p11_list_add_token(out, t->label,
		    t->wants_login && !t->logged_in, t->on_reader);
		if (r == 0)
			r = list_class(p, i, CKO_PUBLIC_KEY, out);
		if (r == 0)
			r = list_class(p, i, CKO_CERTIFICATE, out);
	}
	return r;
}
