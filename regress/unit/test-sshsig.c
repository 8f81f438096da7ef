/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/sshsig.h"
#include "regress/unit/make-cert.h"

static const struct kind {
	const char *type;
	unsigned bits;
} kinds[] = { { "ed25519", 0 }, { "ecdsa", 256 }, { "ecdsa", 384 },
	{ "ecdsa", 521 }, { "rsa", 1024 }, { "mldsa44-ed25519", 0 } };

static struct key *
generate(const struct kind *kind)
{
	struct key *k = NULL;

	assert_int_equal(key_generate(kind->type, kind->bits, &k), 0);
	return k;
}

/* Signs with the key that arg is, which is that of k. */
static int
sign(void *arg, const struct key *k, const char *alg, struct span data,
    struct buf *signature)
{
	assert_true(key_same_identity(arg, k));
	return key_sign(arg, alg, data, signature);
}

static void
digest_of(enum digest_alg alg, const char *text, uint8_t *digest)
{
	assert_int_equal(digest_once(alg, text, strlen(text), digest), 0);
}

static void
make(const struct key *named, struct key *private, enum digest_alg hash,
    struct buf *out)
{
	uint8_t digest[DIGEST_MAX_LEN];

	digest_of(hash, "message", digest);
	assert_int_equal(sshsig_make(named, "file", hash, digest, sign,
			     private, out), 0);
}

static int
verify(const struct buf *text, const char *namespace, const char *message)
{
	uint8_t digest[DIGEST_MAX_LEN];
	struct sshsig s;
	int r = sshsig_parse(buf_span(text), &s);

	if (r != 0)
		return r;
	digest_of(s.hash, message, digest);
	r = sshsig_verify(&s, namespace, digest);
	sshsig_clear(&s);
	return r;
}

static void
test_every_key(void **state)
{
	static const enum digest_alg hashes[] = { DIGEST_SHA256,
		DIGEST_SHA512 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(kinds); i++) {
		struct key *k = generate(&kinds[i / 2]);
		struct key *cert = make_cert_for(k);
		struct buf text = { 0 };

		make(k, k, hashes[i % 2], &text);
		assert_int_equal(verify(&text, "file", "message"), 0);
		assert_int_equal(verify(&text, "file", "massage"),
		    ERR_SIGNATURE);
		assert_int_equal(verify(&text, "git", "message"),
		    ERR_SIGNATURE);
		buf_reset(&text);
		make(cert, k, hashes[i % 2], &text);
		assert_int_equal(verify(&text, "file", "message"), 0);
		assert_int_equal(verify(&text, "file", "massage"),
		    ERR_SIGNATURE);
		buf_clear(&text);
		key_free(cert);
		key_free(k);
	}
}

static void
test_make_refuses(void **state)
{
	struct key *k = generate(&kinds[0]);
	uint8_t digest[DIGEST_MAX_LEN] = { 0 };
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(sshsig_make(k, "", DIGEST_SHA512, digest, sign, k,
			     &out), ERR_ARGUMENT);
	assert_int_equal(sshsig_make(k, "x", DIGEST_SHA1, digest, sign, k,
			     &out), ERR_ARGUMENT);
	assert_int_equal(sshsig_hash("sha1"), -1);
	assert_int_equal(sshsig_hash("SHA512"), -1);
	assert_int_equal(sshsig_hash("sha512"), DIGEST_SHA512);
	key_free(k);
	buf_clear(&out);
}

/* ---- the frame ---------------------------------------------------------- */

static void
test_armour(void **state)
{
	static const struct {
		const char *before, *line, *after;
		int want;
	} t[] = {
		{ "", "\n", "", 0 },
		{ "", "\r\n", "", 0 },
		{ "", "\n", "what follows\n", 0 },
		{ " ", "\n", "", ERR_FORMAT },
		{ "\n", "\n", "", ERR_FORMAT },
		{ "x\n", "\n", "", ERR_FORMAT },
	};
	struct key *k = generate(&kinds[0]);
	struct sshsig broken;
	struct buf good = { 0 };
	char *text;

	(void)state;
	make(k, k, DIGEST_SHA512, &good);
	text = buf_dup_string(&good);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct buf b = { 0 };

		buf_printf(&b, "%s", t[i].before);
		for (const char *p = text; *p != '\0'; p++) {
			if (*p == '\n')
				buf_printf(&b, "%s", t[i].line);
			else
				buf_put_u8(&b, (uint8_t)*p);
		}
		buf_printf(&b, "%s", t[i].after);
		assert_int_equal(verify(&b, "file", "message"), t[i].want);
		buf_clear(&b);
	}
	/* Another word of the same length. */
	memcpy(text + 11, "SSX", 3);
	assert_int_equal(sshsig_parse(span_text(text), &broken), ERR_FORMAT);
	for (size_t cut = 0; cut + 1 < buf_len(&good); cut++) {
		struct sshsig s;

		assert_int_not_equal(sshsig_parse((struct span){
					 buf_data(&good), cut }, &s), 0);
	}
	free(text);
	buf_clear(&good);
	key_free(k);
}

/* ---- the blob ----------------------------------------------------------- */

struct fields {
	const char *mark;
	uint32_t version;
	const char *namespace;
	size_t namespace_len;
	const char *reserved, *hash, *alg;
	bool trailing;
};

/* A signature that is right, of odd fields. */
static int
read_fields(struct key *k, const struct fields *f)
{
	uint8_t digest[DIGEST_MAX_LEN];
	struct buf data = { 0 }, signature = { 0 }, blob = { 0 }, b = { 0 };
	char *base64;
	size_t at;
	int r;

	digest_of(DIGEST_SHA512, "message", digest);
	buf_put(&data, "SSHSIG", 6);
	buf_put_string(&data, f->namespace, f->namespace_len);
	buf_put_cstring(&data, f->reserved);
	buf_put_cstring(&data, f->hash);
	buf_put_string(&data, digest, 64);
	assert_int_equal(key_sign(k, f->alg, buf_span(&data), &signature), 0);
	buf_put(&b, f->mark, 6);
	buf_put_u32(&b, f->version);
	at = buf_open_string(&b);
	assert_int_equal(key_to_blob(k, &b), 0);
	buf_close_string(&b, at);
	buf_put_string(&b, f->namespace, f->namespace_len);
	buf_put_cstring(&b, f->reserved);
	buf_put_cstring(&b, f->hash);
	buf_put_string_buf(&b, &signature);
	if (f->trailing)
		buf_put_u8(&b, 0);
	base64 = str_base64_encode(buf_data(&b), buf_len(&b));
	buf_printf(&blob, "-----BEGIN SSH SIGNATURE-----\n%s\n"
			  "-----END SSH SIGNATURE-----\n", base64);
	r = verify(&blob, "file", "message");
	free(base64);
	buf_clear(&b);
	buf_clear(&blob);
	buf_clear(&signature);
	buf_clear(&data);
	return r;
}

static void
test_fields(void **state)
{
	static const struct {
		struct fields f;
		int want;
	} t[] = {
		{ { "SSHSIG", 1, "file", 4, "", "sha512", "rsa-sha2-512",
		      false }, 0 },
		/* What nobody knows yet is signed, too. */
		{ { "SSHSIG", 1, "file", 4, "x", "sha512", "rsa-sha2-512",
		      false }, 0 },
		{ { "SSHSIG", 1, "file", 4, "", "sha512", "rsa-sha2-256",
		      false }, 0 },
		{ { "SSHSIG", 1, "file", 4, "", "sha512", "ssh-rsa", false },
		    ERR_UNSUPPORTED },
		{ { "SSHSIX", 1, "file", 4, "", "sha512", "rsa-sha2-512",
		      false }, ERR_FORMAT },
		{ { "SSHSIG", 2, "file", 4, "", "sha512", "rsa-sha2-512",
		      false }, ERR_UNSUPPORTED },
		{ { "SSHSIG", 1, "fi\0e", 4, "", "sha512", "rsa-sha2-512",
		      false }, ERR_FORMAT },
		{ { "SSHSIG", 1, "file", 4, "", "sha1", "rsa-sha2-512",
		      false }, ERR_UNSUPPORTED },
		{ { "SSHSIG", 1, "file", 4, "", "sha512", "rsa-sha2-512",
		      true }, ERR_TRAILING },
	};
	struct key *k = generate(&kinds[4]);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(read_fields(k, &t[i].f), t[i].want);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_make_refuses),
		cmocka_unit_test(test_armour),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
