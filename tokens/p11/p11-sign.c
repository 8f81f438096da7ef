/* SPDX-License-Identifier: ISC */
/* Signs with a private key of a token. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "crypto/digest.h"
#include "tokens/p11/p11-internal.h"

enum { RAW_MAX = 2048 }; /* bytes of a signature */

/* How a token makes the signatures of each algorithm. */
static const struct method {
	const char *alg;
	CK_MECHANISM_TYPE mechanism;
	int digest; /* digest of the data to sign; -1: the data itself */
	/* Head of DigestInfo, before the digest (RFC 8017). */
	const char *prefix;
	size_t prefix_len;
} methods[] = {
	{ "ssh-rsa", CKM_RSA_PKCS, DIGEST_SHA1,
	    "\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14",
	    15 },
	{ "rsa-sha2-256", CKM_RSA_PKCS, DIGEST_SHA256,
	    "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05"
	    "\x00\x04\x20", 19 },
	{ "rsa-sha2-512", CKM_RSA_PKCS, DIGEST_SHA512,
	    "\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05"
	    "\x00\x04\x40", 19 },
	{ "ecdsa-sha2-nistp256", CKM_ECDSA, DIGEST_SHA256, NULL, 0 },
	{ "ecdsa-sha2-nistp384", CKM_ECDSA, DIGEST_SHA384, NULL, 0 },
	{ "ecdsa-sha2-nistp521", CKM_ECDSA, DIGEST_SHA512, NULL, 0 },
	{ "ssh-ed25519", CKM_EDDSA, -1, NULL, 0 },
};

static const struct method *
method_of(const char *alg)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].alg, alg) == 0)
			return &methods[i];
	return NULL;
}

/* Finds the private key of a listed key. It is searched for again without
 * CKA_SIGN, because some tokens do not set that attribute. */
static bool
find_private(struct provider *p, const struct listed_key *at,
    CK_OBJECT_HANDLE *out)
{
	CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
	CK_BBOOL yes = CK_TRUE;
	CK_ATTRIBUTE template[] = {
		{ CKA_CLASS, &class, sizeof class },
		{ CKA_ID, (void *)at->id, at->id_len },
		{ CKA_SIGN, &yes, sizeof yes },
	};
	const struct token *t = &p->tokens[at->token];

	return objects_find(p, t, template, 3, out, 1) == 1 ||
	    objects_find(p, t, template, 2, out, 1) == 1;
}

static bool
wants_pin_each_time(struct provider *p, const struct token *t,
    CK_OBJECT_HANDLE key)
{
	CK_BBOOL yes = CK_FALSE;
	size_t len;

	return object_get(p, t, key, CKA_ALWAYS_AUTHENTICATE, &yes, sizeof yes,
		   &len) &&
	    len == sizeof yes && yes != CK_FALSE;
}

/* Appends the input that the token is to sign for the data. */
static int
put_input(const struct method *m, struct span data, struct buf *out)
{
	uint8_t digest[DIGEST_MAX_LEN];
	int r;

	if (m->digest < 0) {
		buf_put(out, data.p, data.len);
		return buf_err(out);
	}
	r = digest_once((enum digest_alg)m->digest, data.p, data.len, digest);
	buf_put(out, m->prefix, m->prefix_len);
	buf_put(out, digest, digest_len((enum digest_alg)m->digest));
	return r != 0 ? r : buf_err(out);
}

static int
put_signature(const struct method *m, const uint8_t *raw, size_t len,
    struct buf *out)
{
	size_t mark;

	buf_put_cstring(out, m->alg);
	mark = buf_open_string(out);
	if (m->mechanism == CKM_ECDSA) {
		buf_put_mpint(out, raw, len / 2);
		buf_put_mpint(out, raw + len / 2, len - len / 2);
	} else {
		buf_put(out, raw, len);
	}
	buf_close_string(out, mark);
	return buf_err(out);
}

static CK_RV
run(struct provider *p, const struct token *t, CK_OBJECT_HANDLE key,
    const struct method *m, const struct p11_request *q,
    const struct buf *input, uint8_t *raw, CK_ULONG *len)
{
	CK_MECHANISM mechanism = { m->mechanism, NULL, 0 };
	bool given = q->pin_kind == P11_PIN_GIVEN;
	CK_RV rv = p->f->C_SignInit(t->session, &mechanism, key);

	if (rv == CKR_OK && wants_pin_each_time(p, t, key))
		rv = p->f->C_Login(t->session, CKU_CONTEXT_SPECIFIC,
		    given ? (CK_UTF8CHAR *)q->pin.p : NULL, q->pin.len);
	if (rv != CKR_OK)
		return rv;
	return p->f->C_Sign(t->session, (CK_BYTE *)buf_data(input),
	    buf_len(input), raw, len);
}

enum p11_status
token_sign(struct provider *p, const struct listed_key *at,
    const struct p11_request *q, struct buf *signature)
{
	const struct token *t = &p->tokens[at->token];
	const struct method *m = method_of(q->alg);
	uint8_t raw[RAW_MAX];
	CK_ULONG len = sizeof raw;
	CK_OBJECT_HANDLE key;
	struct buf input = { 0 };
	CK_RV rv = CKR_FUNCTION_FAILED;

	if (m == NULL || !find_private(p, at, &key))
		return P11_NO_KEY;
	if (q->pin_kind == P11_PIN_NONE && wants_pin_each_time(p, t, key))
		return P11_NEEDS_PIN;
	if (put_input(m, q->data, &input) == 0)
		rv = run(p, t, key, m, q, &input, raw, &len);
	buf_clear(&input);
	if (rv == CKR_OK && len <= sizeof raw &&
	    put_signature(m, raw, len, signature) == 0)
		return P11_DONE;
	log_error("token %s did not sign: error 0x%lx", t->label, rv);
	return rv == CKR_OK ? P11_FAILED : provider_status(rv);
}
