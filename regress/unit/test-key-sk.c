/* SPDX-License-Identifier: ISC */
/* Security keys; the authenticator is made of ordinary keys here. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/digest.h"
#include "keys/cert.h"
#include "keys/key.h"

#define ED "sk-ssh-ed25519@openssh.com"
#define EC "sk-ecdsa-sha2-nistp256@openssh.com"
#define WEB "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
#define APP "ssh:test"

static struct span
text_span(const char *s)
{
	return (struct span){ (const uint8_t *)s, strlen(s) };
}

/* An authenticator's key: chip can sign; sk is what SSH sees of it. */
struct token {
	const char *alg;
	struct key *chip, *sk;
};

static void
token_make(struct token *t, const char *type)
{
	struct buf plain = { 0 }, blob = { 0 };
	struct rd r;

	t->alg = strcmp(type, "ed25519") == 0 ? ED : EC;
	assert_int_equal(key_generate(type, 0, &t->chip), 0);
	assert_int_equal(key_to_blob(t->chip, &plain), 0);
	r = rd_from_buf(&plain);
	(void)rd_string(&r);
	buf_put_cstring(&blob, t->alg);
	buf_put(&blob, r.p, r.len);
	buf_put_cstring(&blob, APP);
	assert_int_equal(key_from_blob(buf_span(&blob), &t->sk), 0);
	buf_clear(&plain);
	buf_clear(&blob);
}

static void
token_free(struct token *t)
{
	key_free(t->chip);
	key_free(t->sk);
}

static void
put_hash(struct buf *b, struct span data)
{
	uint8_t hash[32];

	assert_int_equal(digest_once(DIGEST_SHA256, data.p, data.len, hash),
	    0);
	buf_put(b, hash, sizeof hash);
}

struct signing {
	uint8_t flags;
	const char *message, *application;
	const char *origin, *client_data, *extensions; /* WebAuthn: not NULL */
};

/* What the authenticator answers, as it stands in a signature. */
static void
token_sign(const struct token *t, const struct signing *s, struct buf *out)
{
	bool web = s->origin != NULL;
	struct buf data = { 0 }, signature = { 0 };
	struct span raw;
	struct rd r;

	put_hash(&data, text_span(s->application));
	buf_put_u8(&data, s->flags);
	buf_put_u32(&data, 7);
	if (web)
		buf_put(&data, s->extensions, strlen(s->extensions));
	put_hash(&data, text_span(web ? s->client_data : s->message));
	assert_int_equal(key_sign(t->chip,
			     strcmp(t->alg, ED) == 0 ? "ssh-ed25519" :
						       "ecdsa-sha2-nistp256",
			     buf_span(&data), &signature),
	    0);
	r = rd_from_buf(&signature);
	(void)rd_string(&r);
	raw = rd_string(&r);
	buf_reset(out);
	buf_put_cstring(out, web ? WEB : t->alg);
	buf_put_string(out, raw.p, raw.len);
	buf_put_u8(out, s->flags);
	buf_put_u32(out, 7);
	if (web) {
		buf_put_cstring(out, s->origin);
		buf_put_cstring(out, s->client_data);
		buf_put_cstring(out, s->extensions);
	}
	buf_clear(&data);
	buf_clear(&signature);
}

static const struct signing usual = { .flags = 1, .message = "a login",
	.application = APP };

static void
test_fields(void **state)
{
	static const char *const types[] = { "ed25519", "ecdsa" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct buf wire = { 0 }, again = { 0 };
		struct key *private = NULL;
		struct token t;
		struct rd r;

		token_make(&t, types[i]);
		assert_string_equal(key_sk(t.sk)->application, APP);
		assert_null(key_sk(t.chip));
		assert_false(key_is_private(t.sk));
		/* The private form: the public one, flags, handle, reserved. */
		assert_int_equal(key_to_blob(t.sk, &wire), 0);
		buf_put_u8(&wire, KEY_SK_TOUCH | KEY_SK_RESIDENT);
		buf_put_cstring(&wire, "the handle");
		buf_put_cstring(&wire, "");
		r = rd_from_buf(&wire);
		assert_int_equal(key_private_from_wire(&r, &private), 0);
		assert_int_equal(rd_end(&r), 0);
		assert_true(key_is_private(private));
		assert_true(key_equal_public(private, t.sk));
		assert_int_equal(key_sk(private)->flags, 0x21);
		assert_int_equal(buf_len(&key_sk(private)->handle), 10);
		assert_int_equal(key_private_to_wire(private, &again), 0);
		assert_int_equal(buf_len(&again), buf_len(&wire));
		assert_memory_equal(buf_data(&again), buf_data(&wire),
		    buf_len(&wire));
		/* No secret of it is here to sign with. */
		assert_int_equal(key_sign(private, t.alg, text_span("x"),
				     &again),
		    ERR_UNSUPPORTED);
		key_free(private);
		token_free(&t);
		buf_clear(&wire);
		buf_clear(&again);
	}
}

static void
test_truncated(void **state)
{
	struct buf wire = { 0 };
	struct key *k = NULL;
	struct token t;

	(void)state;
	token_make(&t, "ed25519");
	assert_int_equal(key_to_blob(t.sk, &wire), 0);
	for (size_t len = 0; len < buf_len(&wire); len++)
		assert_int_not_equal(key_from_blob((struct span){
					 buf_data(&wire), len }, &k),
		    0);
	buf_put_u8(&wire, 0);
	assert_int_not_equal(key_from_blob(buf_span(&wire), &k), 0);
	buf_clear(&wire);
	token_free(&t);
}

static int
verify(const struct token *t, const char *alg, const char *message,
    const struct buf *signature, struct key_sk_seen *seen)
{
	return key_verify_seen(t->sk, alg, text_span(message),
	    buf_span(signature), seen);
}

/* Of a signature that is not WebAuthn's: in front of the counter. */
static void
set_flags(struct buf *signature, uint8_t flags)
{
	struct buf copy = { 0 };
	size_t at = buf_len(signature) - 5;

	buf_put(&copy, buf_data(signature), at);
	buf_put_u8(&copy, flags);
	buf_put(&copy, buf_data(signature) + at + 1, 4);
	buf_reset(signature);
	buf_put_buf(signature, &copy);
	buf_clear(&copy);
}

static void
test_signatures(void **state)
{
	static const char *const types[] = { "ed25519", "ecdsa" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct buf sig = { 0 };
		struct signing s = usual;
		struct key_sk_seen seen;
		struct token t;

		token_make(&t, types[i]);
		token_sign(&t, &s, &sig);
		assert_int_equal(verify(&t, t.alg, "a login", &sig, &seen), 0);
		assert_true(seen.touched);
		assert_false(seen.user_verified);
		assert_int_equal(seen.counter, 7);
		assert_int_equal(verify(&t, t.alg, "another", &sig, &seen),
		    ERR_SIGNATURE);
		/* The authenticator's word for it is signed, too. */
		set_flags(&sig, 5);
		assert_int_equal(verify(&t, t.alg, "a login", &sig, &seen),
		    ERR_SIGNATURE);
		assert_false(seen.touched || seen.user_verified);
		s.flags = 4;
		token_sign(&t, &s, &sig);
		assert_int_equal(verify(&t, t.alg, "a login", &sig, &seen), 0);
		assert_true(seen.user_verified && !seen.touched);
		s.application = "ssh:other";
		token_sign(&t, &s, &sig);
		assert_int_equal(verify(&t, t.alg, "a login", &sig, &seen),
		    ERR_SIGNATURE);
		/* Nothing may follow, or be missing. */
		token_sign(&t, &usual, &sig);
		buf_put_u8(&sig, 0);
		assert_int_equal(verify(&t, t.alg, "a login", &sig, &seen),
		    ERR_SIGNATURE);
		token_sign(&t, &usual, &sig);
		for (size_t len = 0; len < buf_len(&sig); len++)
			assert_int_equal(key_verify(t.sk, t.alg,
					     text_span("a login"),
					     (struct span){ buf_data(&sig),
						 len }),
			    ERR_SIGNATURE);
		buf_clear(&sig);
		token_free(&t);
	}
}

static void
test_webauthn(void **state)
{
#define BEGIN "{\"type\":\"webauthn.get\",\"challenge\":\""
	/* base64 of "a login" without its padding. */
#define CHALLENGE "YSBsb2dpbg"
	static const struct {
		uint8_t flags;
		const char *origin, *client_data, *extensions;
		int want;
	} t[] = {
		{ 1, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "", 0 },
		{ 1, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\",\"more\":1}",
		    "", 0 },
		{ 0x81, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "\xa0",
		    0 },
		{ 1, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "\xa0",
		    ERR_SIGNATURE },
		{ 0x81, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "",
		    ERR_SIGNATURE },
		{ 0x41, "https://h",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "",
		    ERR_SIGNATURE },
		{ 1, "https://i",
		    BEGIN CHALLENGE "\",\"origin\":\"https://h\"}", "",
		    ERR_SIGNATURE },
		{ 1, "h\",\"x\":\"", BEGIN CHALLENGE
		    "\",\"origin\":\"h\",\"x\":\"\"}", "", ERR_SIGNATURE },
		{ 1, "https://h",
		    BEGIN CHALLENGE "=\",\"origin\":\"https://h\"}", "",
		    ERR_SIGNATURE },
		{ 1, "https://h",
		    BEGIN "YSBsb2dpbh\",\"origin\":\"https://h\"}", "",
		    ERR_SIGNATURE },
		{ 1, "https://h", " " BEGIN CHALLENGE
		    "\",\"origin\":\"https://h\"}", "", ERR_SIGNATURE },
		{ 1, "https://h",
		    "{\"type\":\"webauthn.create\",\"challenge\":\"" CHALLENGE
		    "\",\"origin\":\"https://h\"}", "", ERR_SIGNATURE },
		{ 1, "", "", "", ERR_SIGNATURE },
	};
	struct buf sig = { 0 };
	struct key_sk_seen seen;
	struct token token;

	(void)state;
	token_make(&token, "ecdsa");
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct signing s = { .flags = t[i].flags,
			.application = APP, .origin = t[i].origin,
			.client_data = t[i].client_data,
			.extensions = t[i].extensions };

		token_sign(&token, &s, &sig);
		assert_int_equal(verify(&token, WEB, "a login", &sig, &seen),
		    t[i].want);
		assert_int_equal(seen.touched, t[i].want == 0);
		/* One algorithm's signature is not the other's. */
		assert_int_equal(verify(&token, EC, "a login", &sig, &seen),
		    ERR_SIGNATURE);
	}
	buf_clear(&sig);
	token_free(&token);
}

static int
sign_by_key(void *arg, struct span data, struct buf *signature)
{
	return key_sign(arg, "ssh-ed25519", data, signature);
}

/* A certificate for a security key, and its private form. */
static void
test_certificates(void **state)
{
	static const char *const types[] = { "ed25519", "ecdsa" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct cert_request request = { .kind = CERT_USER, .id = "i",
			.valid_before = CERT_FOREVER };
		struct key *ca, *cert, *private = NULL, *private_cert = NULL;
		struct buf wire = { 0 }, sig = { 0 };
		struct key_sk_seen seen;
		char alg[64];
		struct token t;
		struct rd r;

		token_make(&t, types[i]);
		assert_int_equal(key_generate("ed25519", 0, &ca), 0);
		assert_int_equal(cert_make(t.sk, &request, ca, sign_by_key, ca,
				     &cert),
		    0);
		assert_string_equal(key_sk(cert)->application, APP);
		assert_true(key_same_identity(cert, t.sk));
		snprintf(alg, sizeof alg, "%.*s-cert-v01@openssh.com",
		    (int)strcspn(t.alg, "@"), t.alg);
		assert_string_equal(key_type(cert), alg);
		token_sign(&t, &usual, &sig);
		assert_int_equal(key_verify_seen(cert, alg,
				     text_span("a login"), buf_span(&sig),
				     &seen), 0);
		assert_true(seen.touched);
		key_free(cert);
		/* With the handle, as agents and files have it. */
		assert_int_equal(key_to_blob(t.sk, &wire), 0);
		buf_put_u8(&wire, KEY_SK_TOUCH);
		buf_put_cstring(&wire, "the handle");
		buf_put_cstring(&wire, "");
		r = rd_from_buf(&wire);
		assert_int_equal(key_private_from_wire(&r, &private), 0);
		assert_int_equal(cert_make(private, &request, ca, sign_by_key,
				     ca, &cert),
		    0);
		assert_true(key_is_private(cert));
		buf_reset(&wire);
		assert_int_equal(key_private_to_wire(cert, &wire), 0);
		r = rd_from_buf(&wire);
		assert_int_equal(key_private_from_wire(&r, &private_cert), 0);
		assert_int_equal(rd_end(&r), 0);
		assert_int_equal(buf_len(&key_sk(private_cert)->handle), 10);
		key_free(private_cert);
		key_free(private);
		key_free(cert);
		key_free(ca);
		token_free(&t);
		buf_clear(&wire);
		buf_clear(&sig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_webauthn),
		cmocka_unit_test(test_certificates),
	};

	return cmocka_run_group_tests_name("key-sk", tests, NULL, NULL);
}
