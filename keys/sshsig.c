/* SPDX-License-Identifier: ISC */
#include "keys/sshsig.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/keyfile-internal.h"

static const char mark[] = "SSHSIG";
static const char begin_line[] = "-----BEGIN SSH SIGNATURE-----";
static const char end_line[] = "-----END SSH SIGNATURE-----";

enum {
	MARK_LEN = 6,
	VERSION = 1,
	NAMESPACE_MAX = 64 * 1024,
	NAME_MAX = 64,
};

static const struct {
	const char *name;
	enum digest_alg alg;
} hashes[] = { { "sha256", DIGEST_SHA256 }, { "sha512", DIGEST_SHA512 } };

int
sshsig_hash(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
		if (strcmp(hashes[i].name, name) == 0)
			return hashes[i].alg;
	return -1;
}

static const char *
hash_name(enum digest_alg alg)
{
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
		if (hashes[i].alg == alg)
			return hashes[i].name;
	return NULL;
}

/* May k sign by alg? SHA-1 (ssh-rsa) is refused: with a collision, a signature
 * of one message is also one of another. */
static bool
is_taken(const struct key *k, const char *alg)
{
	return key_serves(key_identity(k), alg) &&
	    strcmp(alg, "ssh-rsa") != 0;
}

/* Writes the data that is signed: the mark, the namespace, the name of the hash
 * and the hash of the message. */
static int
put_signed(struct buf *out, const char *namespace, struct span reserved,
    enum digest_alg hash, const uint8_t *digest)
{
	buf_put(out, mark, MARK_LEN);
	buf_put_cstring(out, namespace);
	buf_put_string(out, reserved.p, reserved.len);
	buf_put_cstring(out, hash_name(hash));
	buf_put_string(out, digest, digest_len(hash));
	return buf_err(out);
}

/* ---- reading ------------------------------------------------------------ */

/* Decodes the base64 between the two lines. Text behind the last line is
 * ignored. */
static int
dearmour(struct span text, struct buf *out)
{
	const size_t begin_len = strlen(begin_line);
	const uint8_t *p = text.p, *end;
	struct buf base64 = { 0 };
	uint8_t *blob = NULL;
	size_t len = 0;
	int r;

	if (text.len <= begin_len || memcmp(p, begin_line, begin_len) != 0 ||
	    (p[begin_len] != '\n' && p[begin_len] != '\r'))
		return ERR_FORMAT;
	p += begin_len;
	end = memmem(p, text.len - begin_len, end_line, strlen(end_line));
	if (end == NULL || end[-1] != '\n')
		return ERR_FORMAT;
	for (; p < end; p++)
		if (*p != '\n' && *p != '\r')
			buf_put_u8(&base64, *p);
	r = buf_err(&base64);
	if (r == 0)
		r = str_base64_decode((const char *)buf_data(&base64),
		    buf_len(&base64), &blob, &len);
	if (r == 0) {
		buf_put(out, blob, len);
		r = buf_err(out);
	}
	free(blob);
	buf_clear(&base64);
	return r;
}

static int
read_alg(struct sshsig *s)
{
	struct rd r = rd_from_span(s->signature);
	struct span name = rd_string(&r);
	const struct key_alg *row;

	/* This is the signature itself. A security key's fields may follow it;
	 * key_verify() reads them. */
	(void)rd_string(&r);
	if (rd_err(&r) != 0)
		return rd_err(&r);
	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++)
		if (span_equals(name, row->name))
			s->alg = row->name;
	if (s->alg == NULL || !is_taken(s->key, s->alg))
		return ERR_UNSUPPORTED;
	return 0;
}

static int
read_fields(struct sshsig *s)
{
	struct rd r = rd_from_buf(&s->blob);
	struct span given = rd_bytes(&r, MARK_LEN), key;
	uint32_t version = rd_u32(&r);
	char *hash;
	int res, alg;

	if (rd_err(&r) != 0 || memcmp(given.p, mark, MARK_LEN) != 0)
		return ERR_FORMAT;
	if (version != VERSION)
		return ERR_UNSUPPORTED;
	key = rd_string(&r);
	s->namespace = rd_cstring(&r, NAMESPACE_MAX);
	s->reserved = rd_string(&r);
	hash = rd_cstring(&r, NAME_MAX);
	s->signature = rd_string(&r);
	res = rd_end(&r);
	alg = res == 0 ? sshsig_hash(hash) : -1;
	free(hash);
	if (res != 0)
		return res;
	if (alg < 0)
		return ERR_UNSUPPORTED;
	s->hash = (enum digest_alg)alg;
	res = key_from_blob(key, &s->key);
	return res == 0 ? read_alg(s) : res;
}

int
sshsig_parse(struct span text, struct sshsig *out)
{
	int r;

	*out = (struct sshsig){ .key = NULL };
	r = dearmour(text, &out->blob);
	if (r == 0)
		r = read_fields(out);
	if (r != 0)
		sshsig_clear(out);
	return r;
}

void
sshsig_clear(struct sshsig *s)
{
	key_free(s->key);
	free(s->namespace);
	buf_clear(&s->blob);
	*s = (struct sshsig){ .key = NULL };
}

int
sshsig_verify(const struct sshsig *s, const char *namespace,
    const uint8_t *digest)
{
	struct buf data = { 0 };
	int r;

	/* The namespace is signed, so that a signature for one purpose does not
	 * serve another. */
	r = put_signed(&data, namespace, s->reserved, s->hash, digest);
	if (r == 0)
		r = key_verify(key_identity(s->key), s->alg,
		    buf_span(&data),
		    s->signature);
	buf_clear(&data);
	return r;
}

/* ---- making ------------------------------------------------------------- */

static const char *
choose_alg(const struct key *k, enum digest_alg hash)
{
	const struct key *plain = key_identity(k);
	const struct key_alg *row;

	if (hash == DIGEST_SHA256 && key_serves(plain, "rsa-sha2-256"))
		return "rsa-sha2-256";
	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++)
		if (is_taken(k, row->name))
			return row->name;
	return NULL;
}

static int
put_blob(const struct key *k, const char *namespace, enum digest_alg hash,
    const struct buf *signature, struct buf *out)
{
	size_t at;
	int r;

	buf_put(out, mark, MARK_LEN);
	buf_put_u32(out, VERSION);
	at = buf_open_string(out);
	r = key_to_blob(k, out);
	buf_close_string(out, at);
	buf_put_cstring(out, namespace);
	buf_put_cstring(out, ""); /* reserved */
	buf_put_cstring(out, hash_name(hash));
	buf_put_string_buf(out, signature);
	return r != 0 ? r : buf_err(out);
}

static int
armour(const struct buf *blob, struct buf *out)
{
	char *base64 = str_base64_encode(buf_data(blob), buf_len(blob));

	if (base64 == NULL)
		return ERR_NOMEM;
	buf_printf(out, "%s\n", begin_line);
	keyfile_put_folded(out, base64);
	buf_printf(out, "%s\n", end_line);
	free(base64);
	return buf_err(out);
}

int
sshsig_make(const struct key *k, const char *namespace, enum digest_alg hash,
    const uint8_t *digest, sshsig_sign_fn sign, void *arg, struct buf *out)
{
	struct buf data = { 0 }, signature = { 0 }, blob = { 0 };
	const char *alg = choose_alg(k, hash);
	int r;

	if (*namespace == '\0' || hash_name(hash) == NULL)
		return ERR_ARGUMENT;
	if (alg == NULL)
		return ERR_KEY_TYPE;
	r = put_signed(&data, namespace, (struct span){ .len = 0 }, hash,
	    digest);
	if (r == 0)
		r = sign(arg, k, alg,
		    buf_span(&data),
		    &signature);
	if (r == 0)
		r = put_blob(k, namespace, hash, &signature, &blob);
	if (r == 0)
		r = armour(&blob, out);
	buf_clear(&blob);
	buf_clear(&signature);
	buf_clear(&data);
	return r;
}
