/* SPDX-License-Identifier: ISC */
/* Public keys in formats of other programs: RFC 4716, and PEM. */
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/key-internal.h"
#include "keys/keyfile-internal.h"

/* RFC 4716. */

static const char rfc4716_begin[] = "---- BEGIN SSH2 PUBLIC KEY ----";
static const char rfc4716_end[] = "---- END SSH2 PUBLIC KEY ----";

enum {
	RFC4716_COMMENT_MAX = 60, /* a line has at most 72 columns */
	IMPORT_MAX = 64 * 1024,
};

static int
export_rfc4716(const struct key *k, const char *comment, struct buf *out)
{
	struct buf blob = { 0 };
	char *text = NULL;
	int r = key_to_blob(k, &blob);

	if (r == 0) {
		text = str_base64_encode(buf_data(&blob), buf_len(&blob));
		r = text != NULL ? 0 : ERR_NOMEM;
	}
	if (r == 0) {
		buf_printf(out, "%s\n", rfc4716_begin);
		if (comment != NULL)
			buf_printf(out, "Comment: \"%.*s\"\n",
			    RFC4716_COMMENT_MAX, comment);
		keyfile_put_folded(out, text);
		buf_printf(out, "%s\n", rfc4716_end);
		r = buf_err(out);
	}
	free(text);
	buf_clear(&blob);
	return r;
}

/* Copies the base64 to out, without headers and the lines that continue them
 * (RFC 4716 section 3.3: a header line that ends in a backslash goes on in the
 * next line). Lines may end in CR alone. */
int
keyfile_rfc4716_body(char *text, const char *begin, struct buf *out)
{
	char *rest = text, *line;
	bool inside = false, continued = false;
	size_t len;

	while ((line = strsep(&rest, "\r\n")) != NULL) {
		len = strlen(line);
		if (len == 0)
			continue;
		if (!inside) {
			inside = strcmp(line, begin) == 0;
		} else if (str_has_prefix(line, "---- END")) {
			return buf_err(out);
		} else if (continued || strchr(line, ':') != NULL) {
			continued = len > 0 && line[len - 1] == '\\';
		} else {
			buf_put(out, line, len);
		}
	}
	return ERR_FORMAT;
}

static int
import_rfc4716(struct span content, struct key **out)
{
	struct buf body = { 0 };
	char *text = span_dup(content);
	uint8_t *blob = NULL;
	size_t len = 0;
	int r = text != NULL ? 0 : ERR_FORMAT;

	if (r == 0)
		r = keyfile_rfc4716_body(text, rfc4716_begin, &body);
	if (r == 0)
		r = str_base64_decode((const char *)buf_data(&body),
		    buf_len(&body), &blob, &len);
	if (r == 0)
		r = key_from_blob((struct span){ blob, len }, out);
	free(blob);
	free(text);
	buf_clear(&body);
	return r;
}

/* PEM. */

static int
export_pem(const struct key *k, const char *structure, struct buf *out)
{
	OSSL_ENCODER_CTX *ctx = !key_has_pem(k) ? NULL :
	    OSSL_ENCODER_CTX_new_for_pkey(key_identity(k)->pkey,
		EVP_PKEY_PUBLIC_KEY, "PEM", structure, NULL);
	unsigned char *data = NULL;
	size_t len = 0;
	int r = 0;

	if (ctx == NULL || OSSL_ENCODER_to_data(ctx, &data, &len) != 1) {
		r = key_evp_failed();
	} else {
		buf_put(out, data, len);
		r = buf_err(out);
	}
	OPENSSL_free(data);
	OSSL_ENCODER_CTX_free(ctx);
	return r;
}

static int
import_pem(struct span content, struct key **out)
{
	EVP_PKEY *pkey = NULL;
	OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(&pkey, "PEM",
	    NULL, NULL, EVP_PKEY_PUBLIC_KEY, NULL, NULL);
	const unsigned char *p = content.p;
	size_t len = content.len;
	int ok, r;

	if (ctx == NULL)
		return key_evp_failed();
	ok = OSSL_DECODER_from_data(ctx, &p, &len);
	OSSL_DECODER_CTX_free(ctx);
	ERR_clear_error();
	r = ok == 1 && pkey != NULL ? key_from_pkey(pkey, false, out) :
				      ERR_FORMAT;
	EVP_PKEY_free(pkey);
	return r;
}

int
keyfile_export_public(const struct key *k, enum keyfile_public_format format,
    const char *comment, struct buf *out)
{
	bool rsa = k->kind->ops == &key_ops_rsa;

	switch (format) {
	case KEYFILE_PUBLIC_RFC4716:
		return export_rfc4716(k, comment, out);
	case KEYFILE_PUBLIC_PKCS8:
		return export_pem(k, "SubjectPublicKeyInfo", out);
	case KEYFILE_PUBLIC_PEM:
		if (k->kind->ops == &key_ops_ed25519)
			return ERR_UNSUPPORTED;
		return export_pem(k, rsa ? "pkcs1" : "SubjectPublicKeyInfo",
		    out);
	}
	return ERR_ARGUMENT;
}

int
keyfile_import_public(struct span content, enum keyfile_public_format format,
    struct key **out)
{
	if (content.len > IMPORT_MAX)
		return ERR_LIMIT;
	if (format == KEYFILE_PUBLIC_RFC4716)
		return import_rfc4716(content, out);
	return import_pem(content, out);
}

bool
keyfile_cipher_known(const char *name)
{
	const struct keyfile_cipher *c = keyfile_cipher_find(
	    (struct span){ (const uint8_t *)name, strlen(name) });

	return c != NULL && c->evp != NULL;
}
