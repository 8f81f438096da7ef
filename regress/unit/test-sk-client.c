/* SPDX-License-Identifier: ISC */
/*
 * The client of hpnssh-sk-helper with the helper of this build and a token in
 * software that works, wants a PIN, hangs, crashes and lies; and with helpers
 * that are none. Runs in the folder of a build.
 */
#include "regress/unit/help.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "keys/sk-client.h"

#define ED "sk-ssh-ed25519@openssh.com"
#define EC "sk-ecdsa-sha2-nistp256@openssh.com"

static char token[] = "regress/sk-token.so";
static struct sk_params params = { .provider = token };

/* What the token does, see regress/sk-token.c. */
static void
token_is(const char *how)
{
	setenv("SK_TOKEN", how, 1);
	setenv("SSH_SK_HELPER", "./hpnssh-sk-helper", 1);
	params = (struct sk_params){ .provider = token };
}

static struct key *
enroll(const char *type)
{
	const struct sk_enroll e = { .type = type,
		.application = "ssh:unit",
		.flags = KEY_SK_TOUCH,
		.challenge = { (const uint8_t *)type, strlen(type) } };
	struct sk_enrolled made;
	struct key *k;

	token_is("");
	assert_int_equal(sk_client_enroll(&params, &e, &made), 0);
	assert_true(key_is_private(made.key));
	assert_true(span_equals(buf_span(&made.authdata), "data"));
	k = made.key;
	made.key = NULL;
	sk_enrolled_clear(&made);
	return k;
}

static int
sign(const struct key *k, const char *alg, struct buf *signature)
{
	buf_reset(signature);
	return sk_client_sign(&params, k, alg, span_text("a message"),
	    signature);
}

static void
test_sign(void **state)
{
	static const char *const types[][2] = { { "ed25519-sk", ED },
		{ "ecdsa-sk", EC } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct key *k = enroll(types[i][0]);
		struct key_sk_seen seen;
		struct buf sig = { 0 };

		assert_string_equal(key_type(k), types[i][1]);
		assert_string_equal(key_sk(k)->application, "ssh:unit");
		/* Numbers of different lengths have their turn. */
		for (int n = 0; n < (i == 0 ? 1 : 6); n++) {
			assert_int_equal(sign(k, types[i][1], &sig), 0);
			assert_int_equal(key_verify_seen(k, types[i][1],
					     span_text("a message"),
					     buf_span(&sig), &seen),
			    0);
		}
		assert_true(seen.touched);
		assert_false(seen.user_verified);
		token_is("untouched");
		assert_int_equal(sign(k, types[i][1], &sig), 0);
		assert_int_equal(key_verify_seen(k, types[i][1],
				     span_text("a message"), buf_span(&sig),
				     &seen),
		    0);
		assert_false(seen.touched);
		buf_clear(&sig);
		key_free(k);
	}
}

static void
test_pin(void **state)
{
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };

	(void)state;
	token_is("pin,noisy");
	assert_int_equal(sign(k, ED, &sig), ERR_SK_PIN);
	params.pin = "1111";
	assert_int_equal(sign(k, ED, &sig), ERR_SK_PIN);
	params.pin = "1234";
	assert_int_equal(sign(k, ED, &sig), 0);
	buf_clear(&sig);
	key_free(k);
}

static void
test_device(void **state)
{
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };

	(void)state;
	token_is("nodevice");
	assert_int_equal(sign(k, ED, &sig), ERR_SK_DEVICE);
	token_is("");
	params.device = "another";
	assert_int_equal(sign(k, ED, &sig), ERR_SK_DEVICE);
	params.device = "token";
	assert_int_equal(sign(k, ED, &sig), 0);
	buf_clear(&sig);
	key_free(k);
}

static void
test_what_is_asked_wrongly(void **state)
{
	struct key *k = enroll("ecdsa-sk"), *public = NULL, *plain = NULL;
	struct buf sig = { 0 };

	(void)state;
	assert_int_equal(sign(k, ED, &sig), ERR_KEY_TYPE);
	assert_int_equal(sign(k, "webauthn-" EC, &sig), ERR_KEY_TYPE);
	assert_int_equal(sign(k,
			     "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
			     &sig),
	    ERR_KEY_TYPE);
	assert_int_equal(key_public_of(k, &public), 0);
	assert_int_equal(sign(public, EC, &sig), ERR_ARGUMENT);
	assert_int_equal(key_generate("ed25519", 0, &plain), 0);
	assert_int_equal(sign(plain, "ssh-ed25519", &sig), ERR_KEY_TYPE);
	key_free(plain);
	key_free(public);
	key_free(k);
	buf_clear(&sig);
}

/* None of it hangs the caller or gets past it. */
static void
test_tokens_that_fail(void **state)
{
	static const struct {
		const char *how;
		int r;
	} cases[] = {
		{ "crash", ERR_SK_HELPER },
		{ "leave", ERR_SK_HELPER },
		{ "liar", ERR_SIGNATURE },
		{ "huge", ERR_FORMAT },
		{ "empty", ERR_FORMAT },
		{ "old", ERR_FORMAT },
		{ "hang", ERR_TIMEOUT },
	};
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		token_is(cases[i].how);
		if (cases[i].r == ERR_TIMEOUT)
			params.limit_ms = 200;
		assert_int_equal(sign(k, ED, &sig), cases[i].r);
		assert_int_equal(buf_len(&sig), 0);
	}
	buf_clear(&sig);
	key_free(k);
}

static void
test_keys_that_are_none(void **state)
{
	const struct sk_enroll e = { .type = "ecdsa-sk",
		.application = "ssh:", .flags = KEY_SK_RESIDENT };
	struct sk_enrolled made;

	(void)state;
	token_is("short");
	assert_int_equal(sk_client_enroll(&params, &e, &made), ERR_SK_HELPER);
	token_is("empty");
	assert_int_equal(sk_client_enroll(&params, &e, &made), ERR_FORMAT);
	token_is("exists");
	assert_int_equal(sk_client_enroll(&params, &e, &made), ERR_SK_EXISTS);
	assert_null(made.key);
}

static void
test_resident_keys(void **state)
{
	struct sk_resident *v = NULL;
	size_t n = 0;

	(void)state;
	token_is("two");
	assert_int_equal(sk_client_load(&params, &v, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(key_type(v[0].key), ED);
	assert_string_equal(key_type(v[1].key), EC);
	assert_string_equal(key_sk(v[1].key)->application, "ssh:two");
	assert_int_equal(key_sk(v[1].key)->flags, 0x21);
	assert_memory_equal(buf_data(&v[1].user), "alice", 6);
	sk_residents_free(v, n);
	token_is("");
	assert_int_equal(sk_client_load(&params, &v, &n), 0);
	assert_int_equal(n, 0);
	sk_residents_free(v, n);
	token_is("huge");
	assert_int_equal(sk_client_load(&params, &v, &n), ERR_FORMAT);
	token_is("two,short");
	assert_int_equal(sk_client_load(&params, &v, &n), ERR_SK_HELPER);
}

static void
test_providers(void **state)
{
	static const struct {
		const char *path;
		int r;
	} cases[] = {
		{ "/nonexistent/x.so", ERR_FORMAT },
		{ "sk-token.so", ERR_FORMAT },	/* it is no path */
		{ "/dev/zero", ERR_FORMAT },	/* it is no file */
		{ "/bin/sh", ERR_FORMAT },	/* it has not the mark */
	};
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		params.provider = cases[i].path;
		assert_int_equal(sign(k, ED, &sig), cases[i].r);
	}
	setenv("SK_UNIT", "/a/path", 1);
	assert_string_equal(sk_provider("$SK_UNIT"), "/a/path");
	assert_string_equal(sk_provider("/b"), "/b");
	setenv("SK_UNIT", "", 1);
	assert_null(sk_provider("$SK_UNIT"));
	assert_null(sk_provider("$SK_NOT_SET"));
	assert_null(sk_provider(NULL));
	buf_clear(&sig);
	key_free(k);
}

/* cat answers with the request; the others do not answer, or for ever. */
static void
test_helpers_that_are_none(void **state)
{
	static const char *const helpers[] = { "/bin/cat", "/bin/true",
		"/bin/false", "/nonexistent", "/bin/yes", "/usr/bin/yes" };
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };

	(void)state;
	params.limit_ms = 60 * 1000;
	for (size_t i = 0; i < ARRAY_LEN(helpers); i++) {
		setenv("SSH_SK_HELPER", helpers[i], 1);
		assert_int_equal(sign(k, ED, &sig), ERR_SK_HELPER);
	}
	buf_clear(&sig);
	key_free(k);
}

/* As an event loop has it: nothing blocks, and what is given up is gone. */
static void
test_without_blocking(void **state)
{
	struct key *k = enroll("ed25519-sk");
	struct sk_call *c = NULL;
	struct buf sig = { 0 };
	struct pollfd p;
	uint64_t begin;
	int r;

	(void)state;
	assert_int_equal(sk_sign_begin(&c, &params, k, ED, span_text("x")),
	    0);
	while ((r = sk_sign_step(c, &sig)) == ERR_AGAIN) {
		p = (struct pollfd){ .fd = sk_call_fd(c),
			.events = sk_call_writes(c) ? POLLIN | POLLOUT :
						      POLLIN };
		assert_int_equal(poll(&p, 1, 60 * 1000), 1);
	}
	assert_int_equal(r, 0);
	assert_int_equal(key_verify(k, ED, span_text("x"), buf_span(&sig)), 0);
	sk_call_end(c);
	token_is("hang");
	begin = clock_ms();
	assert_int_equal(sk_sign_begin(&c, &params, k, ED, span_text("x")),
	    0);
	assert_int_equal(sk_sign_step(c, &sig), ERR_AGAIN);
	sk_call_end(c);
	assert_true(clock_ms() - begin < 20 * 1000);
	/* Killed, so there is something to be waited for, and soon nothing. */
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	buf_clear(&sig);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sign),
		cmocka_unit_test(test_pin),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_what_is_asked_wrongly),
		cmocka_unit_test(test_tokens_that_fail),
		cmocka_unit_test(test_keys_that_are_none),
		cmocka_unit_test(test_resident_keys),
		cmocka_unit_test(test_providers),
		cmocka_unit_test(test_helpers_that_are_none),
		cmocka_unit_test(test_without_blocking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
