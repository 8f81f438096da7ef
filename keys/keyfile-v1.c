/* SPDX-License-Identifier: ISC */
/*
 * DESIGN
 * The openssh-key-v1 format, base64 between two marks:
 *	"openssh-key-v1\0"
 *	string cipher, string kdf, string kdf options (string salt, u32 rounds)
 *	u32 number of keys (one), string public blob
 *	string sealed part, then the tag of an AEAD cipher
 * and the sealed part:
 *	u32 check, u32 check (equal if the passphrase was right)
 *	private key, string comment, padding 1, 2, 3... to the block size
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd-mem.h"
#include "crypto/kdf.h"
#include "crypto/rand.h"
#include "keys/keyfile-internal.h"

static const char magic[] = "openssh-key-v1"; /* with its NUL */

enum {
	SALT_LEN = 16,
	SALT_MAX = 1024,
	ROUNDS_DEFAULT = 24,
	ROUNDS_MAX = 1000000, /* more would take hours */
	COMMENT_MAX = 64 * 1024,
};

/* The fields of a file; they point into its decoded content. */
struct v1 {
	const struct keyfile_cipher *cipher;
	struct span salt;
	uint32_t rounds; /* rounds of bcrypt; 0: the file is not encrypted */
	struct span public, sealed, tag;
};

void
keyfile_put_folded(struct buf *out, const char *text)
{
	size_t left = strlen(text), n;

	for (; left > 0; left -= n, text += n) {
		n = MIN(left, (size_t)70);
		buf_put(out, text, n);
		buf_put_u8(out, '\n');
	}
}

/* Decodes the base64 between the marks. *out may hold secrets: the caller frees
 * it with mem_free_secret(). */
static int
dearmour(struct span content, uint8_t **out, size_t *len)
{
	const size_t begin_len = strlen(KEYFILE_V1_BEGIN);
	const uint8_t *p, *end;
	char *text;
	size_t n = 0;
	int r;

	if (content.len < begin_len ||
	    memcmp(content.p, KEYFILE_V1_BEGIN, begin_len) != 0)
		return ERR_FORMAT;
	p = content.p + begin_len;
	end = memmem(p, content.len - begin_len, KEYFILE_V1_END,
	    strlen(KEYFILE_V1_END));
	if (end == NULL || p == end)
		return ERR_FORMAT;
	text = malloc((size_t)(end - p));
	if (text == NULL)
		return ERR_NOMEM;
	for (; p < end; p++) {
		if (*p != '\n' && *p != '\r' && *p != ' ' && *p != '\t')
			text[n++] = (char)*p;
	}
	r = str_base64_decode(text, n, out, len);
	mem_free_secret(text, n);
	return r;
}

static int
parse_outer(struct rd rd, struct v1 *v)
{
	struct span mark = rd_bytes(&rd, sizeof magic);
	struct span cipher = rd_string(&rd), kdf = rd_string(&rd);
	struct rd opts = rd_sub(&rd);
	uint32_t keys = rd_u32(&rd);

	if (rd_err(&rd) != 0 || memcmp(mark.p, magic, sizeof magic) != 0)
		return ERR_FORMAT;
	if (keys != 1)
		return ERR_UNSUPPORTED;
	v->cipher = keyfile_cipher_find(cipher);
	if (v->cipher == NULL)
		return ERR_UNSUPPORTED;
	if (span_equals(kdf, "bcrypt")) {
		v->salt = rd_string(&opts);
		v->rounds = rd_u32(&opts);
		if (rd_end(&opts) != 0 || v->salt.len == 0 || v->rounds == 0)
			return ERR_FORMAT;
		if (v->salt.len > SALT_MAX || v->rounds > ROUNDS_MAX)
			return ERR_LIMIT;
	} else if (!span_equals(kdf, "none")) {
		return ERR_UNSUPPORTED;
	}
	if ((v->cipher->evp == NULL) != (v->rounds == 0))
		return ERR_FORMAT;
	v->public = rd_string(&rd);
	v->sealed = rd_string(&rd);
	v->tag = rd_bytes(&rd, v->cipher->tag_len);
	if (rd_end(&rd) != 0)
		return ERR_FORMAT;
	if (v->sealed.len == 0 || v->sealed.len % v->cipher->block_len != 0)
		return ERR_FORMAT;
	return 0;
}

static int
unseal(const struct v1 *v, const char *pass, struct buf *out)
{
	uint8_t key_iv[KEYFILE_KEY_IV_MAX];
	size_t len = v->cipher->key_len + v->cipher->iv_len;
	int r = 0;

	if (len > 0) {
		if (pass == NULL || *pass == '\0')
			return ERR_PASSPHRASE;
		r = kdf_bcrypt(pass, strlen(pass), v->salt.p, v->salt.len,
		    v->rounds, key_iv, len);
	}
	if (r == 0)
		r = keyfile_cipher_open(v->cipher, key_iv, v->sealed, v->tag.p,
		    out);
	explicit_bzero(key_iv, sizeof key_iv);
	return r;
}

static bool
padding_ok(struct rd *rd)
{
	struct span pad = rd_rest(rd);

	for (size_t i = 0; i < pad.len; i++) {
		if (pad.p[i] != (uint8_t)(i + 1))
			return false;
	}
	return rd_err(rd) == 0;
}

static int
parse_inner(const struct v1 *v, const struct buf *plain, struct key **out,
    char **comment)
{
	struct rd rd = rd_from_buf(plain);
	uint32_t check1 = rd_u32(&rd), check2 = rd_u32(&rd);
	struct key *k = NULL, *public = NULL;
	char *text = NULL;
	int r;

	if (rd_err(&rd) != 0 || check1 != check2)
		return v->rounds != 0 ? ERR_PASSPHRASE : ERR_FORMAT;
	r = key_private_from_wire(&rd, &k);
	if (r != 0)
		return r;
	text = rd_cstring(&rd, COMMENT_MAX);
	r = text == NULL ? rd_err(&rd) : 0;
	if (r == 0 && !padding_ok(&rd))
		r = ERR_FORMAT;
	if (r == 0)
		r = key_from_blob(v->public, &public);
	if (r == 0 && !key_equal_public(k, public))
		r = ERR_FORMAT;
	if (r == 0) {
		*out = k;
		k = NULL;
		if (comment != NULL) {
			*comment = text;
			text = NULL;
		}
	}
	free(text);
	key_free(public);
	key_free(k);
	return r;
}

int
keyfile_v1_parse(struct span content, const char *pass, struct key **out,
    char **comment)
{
	struct buf plain;
	struct v1 v = { 0 };
	uint8_t *blob = NULL;
	size_t len = 0;
	int r;

	buf_init_secret(&plain);
	r = dearmour(content, &blob, &len);
	if (r != 0)
		return r;
	r = parse_outer(rd_from(blob, len), &v);
	if (r == 0)
		r = unseal(&v, pass, &plain);
	if (r == 0)
		r = parse_inner(&v, &plain, out, comment);
	buf_clear(&plain);
	mem_free_secret(blob, len);
	return r;
}

int
keyfile_v1_parse_public(struct span content, struct key **out)
{
	struct v1 v = { 0 };
	uint8_t *blob = NULL;
	size_t len = 0;
	int r = dearmour(content, &blob, &len);

	if (r != 0)
		return r;
	r = parse_outer(rd_from(blob, len), &v);
	if (r == 0)
		r = key_from_blob(v.public, out);
	mem_free_secret(blob, len);
	return r;
}

static int
compose_inner(const struct key *k, const char *comment, size_t block_len,
    struct buf *out)
{
	uint32_t check;
	int r;

	rand_bytes(&check, sizeof check);
	buf_put_u32(out, check);
	buf_put_u32(out, check);
	r = key_private_to_wire(k, out);
	if (r != 0)
		return r;
	buf_put_cstring(out, comment);
	for (uint8_t i = 1; buf_len(out) % block_len != 0; i++)
		buf_put_u8(out, i);
	return buf_err(out);
}

static int
compose_outer(const struct key *k, const struct keyfile_cipher *c,
    const char *pass, uint32_t rounds, const struct buf *plain,
    struct buf *out)
{
	uint8_t salt[SALT_LEN], key_iv[KEYFILE_KEY_IV_MAX], tag[16] = { 0 };
	struct span in = buf_span(plain);
	size_t mark, len = c->key_len + c->iv_len;
	int r = 0;

	rand_bytes(salt, sizeof salt);
	buf_put(out, magic, sizeof magic);
	buf_put_cstring(out, c->name);
	buf_put_cstring(out, len > 0 ? "bcrypt" : "none");
	mark = buf_open_string(out);
	if (len > 0) {
		buf_put_string(out, salt, sizeof salt);
		buf_put_u32(out, rounds);
		r = kdf_bcrypt(pass, strlen(pass), salt, sizeof salt, rounds,
		    key_iv, len);
	}
	buf_close_string(out, mark);
	buf_put_u32(out, 1);
	mark = buf_open_string(out);
	if (r == 0)
		r = key_to_blob(k, out);
	buf_close_string(out, mark);
	mark = buf_open_string(out);
	if (r == 0)
		r = keyfile_cipher_seal(c, key_iv, in, tag, out);
	buf_close_string(out, mark);
	buf_put(out, tag, c->tag_len);
	explicit_bzero(key_iv, sizeof key_iv);
	return r != 0 ? r : buf_err(out);
}

int
keyfile_v1_format(const struct key *k, const char *pass, const char *comment,
    const char *cipher, uint32_t rounds, struct buf *out)
{
	const char *name = cipher != NULL ? cipher : "aes256-ctr";
	const struct keyfile_cipher *c;
	struct buf plain, blob;
	char *text = NULL;
	int r;

	if (pass == NULL || *pass == '\0')
		name = "none";
	c = keyfile_cipher_find((struct span){ (const uint8_t *)name,
	    strlen(name) });
	if (c == NULL || rounds > ROUNDS_MAX)
		return ERR_UNSUPPORTED;
	if (c->evp == NULL && pass != NULL && *pass != '\0')
		return ERR_ARGUMENT; /* "none" does not encrypt */
	buf_init_secret(&plain);
	buf_init_secret(&blob);
	r = compose_inner(k, comment, c->block_len, &plain);
	if (r == 0)
		r = compose_outer(k, c, pass,
		    rounds != 0 ? rounds : ROUNDS_DEFAULT, &plain, &blob);
	if (r == 0) {
		text = str_base64_encode(buf_data(&blob), buf_len(&blob));
		r = text != NULL ? 0 : ERR_NOMEM;
	}
	if (r == 0) {
		buf_printf(out, "%s\n", KEYFILE_V1_BEGIN);
		keyfile_put_folded(out, text);
		buf_printf(out, "%s\n", KEYFILE_V1_END);
		r = buf_err(out);
		mem_free_secret(text, strlen(text));
	}
	buf_clear(&plain);
	buf_clear(&blob);
	return r;
}
