/* SPDX-License-Identifier: ISC */
/* Messages of hpnssh-pkcs11-helper, from both sides. */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <string.h>

#include "keys/p11-wire.h"

static struct span
text(const char *s)
{
	return (struct span){ (const uint8_t *)s, strlen(s) };
}

static void
test_requests(void **state)
{
	struct p11_request q = { .op = P11_LIST, .pin_kind = P11_PIN_GIVEN,
		.pin = text("1234"), .provider = (char *)"/lib/p.so",
		.token = 3 }, got;
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(p11_put_request(&q, &b), 0);
	assert_int_equal(p11_read_request(buf_span(&b), &got), 0);
	assert_int_equal(got.op, P11_LIST);
	assert_int_equal(got.token, 3);
	assert_string_equal(got.provider, "/lib/p.so");
	assert_true(span_equals(got.pin, "1234"));
	p11_request_clear(&got);
	/* One byte less or more is no request. */
	buf_put_u8(&b, 0);
	assert_int_equal(p11_read_request(buf_span(&b), &got), ERR_TRAILING);
	p11_request_clear(&got);
	for (size_t n = buf_len(&b) - 1; n-- > 0;) {
		assert_int_not_equal(p11_read_request(
		    (struct span){ buf_data(&b), n }, &got), 0);
		p11_request_clear(&got);
	}
	buf_reset(&b);
	q = (struct p11_request){ .op = P11_SIGN, .blob = text("blob"),
		.alg = (char *)"rsa-sha2-256", .data = text("data") };
	assert_int_equal(p11_put_request(&q, &b), 0);
	assert_int_equal(p11_read_request(buf_span(&b), &got), 0);
	assert_true(span_equals(got.blob, "blob"));
	assert_true(span_equals(got.data, "data"));
	assert_string_equal(got.alg, "rsa-sha2-256");
	p11_request_clear(&got);
	buf_clear(&b);
}

static void
test_requests_refused(void **state)
{
	static const char *const cases[] = {
		"0300" "00000000",				/* op */
		"0103" "00000000" "000000012f" "00000000",	/* kind */
		"0100" "0000000131" "000000012f" "00000000",	/* whose PIN? */
		"0101" "0000000131" "0000000100" "00000000",	/* NUL */
	};
	struct p11_request q;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t data[64];
		size_t len = strlen(cases[i]) / 2;

		for (size_t j = 0; j < len; j++) {
			char two[3] = { cases[i][2 * j], cases[i][2 * j + 1] };

			data[j] = (uint8_t)strtoul(two, NULL, 16);
		}
		assert_int_not_equal(
		    p11_read_request((struct span){ data, len }, &q), 0);
		p11_request_clear(&q);
	}
}

static void
test_long_pin(void **state)
{
	char pin[P11_PIN_MAX + 2];
	struct p11_request q = { .op = P11_LIST, .pin_kind = P11_PIN_GIVEN,
		.provider = (char *)"/p" }, got;
	struct buf b = { 0 };

	(void)state;
	memset(pin, '1', sizeof pin);
	for (size_t len = P11_PIN_MAX; len <= P11_PIN_MAX + 1; len++) {
		q.pin = (struct span){ (uint8_t *)pin, len };
		assert_int_equal(p11_put_request(&q, &b), 0);
		assert_int_equal(p11_read_request(buf_span(&b), &got),
		    len <= P11_PIN_MAX ? 0 : ERR_FORMAT);
		p11_request_clear(&got);
		buf_reset(&b);
	}
	buf_clear(&b);
}

/* Two tokens, a key on the second. */
static void
make_list(struct p11_list *l, struct buf *b)
{
	struct key *k = NULL, *pub = NULL;

	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	assert_int_equal(key_public_of(k, &pub), 0);
	key_free(k);
	assert_int_equal(p11_list_add_token(l, "one", true, false), 0);
	assert_int_equal(p11_list_add_token(l, "two", false, true), 0);
	assert_int_equal(p11_list_add_key(l, pub, "my key", 1), 0);
	assert_int_equal(p11_put_list(l, b), 0);
}

static void
test_lists(void **state)
{
	struct p11_list l = { 0 }, got;
	struct key *same = NULL;
	struct buf b = { 0 };
	struct rd rd;

	(void)state;
	make_list(&l, &b);
	/* The same key again is one key. */
	assert_int_equal(key_public_of(l.keys[0].key, &same), 0);
	assert_int_equal(p11_list_add_key(&l, same, "again", 0), 0);
	assert_int_equal(l.n_keys, 1);
	rd = rd_from_buf(&b);
	assert_int_equal(p11_read_list(&rd, &got), 0);
	assert_int_equal(got.n_keys, 1);
	assert_int_equal(got.n_tokens, 2);
	assert_true(key_equal_public(got.keys[0].key, l.keys[0].key));
	assert_string_equal(got.keys[0].label, "my key");
	assert_int_equal(got.keys[0].token, 1);
	assert_string_equal(got.tokens[0].label, "one");
	assert_true(got.tokens[0].wants_login && !got.tokens[0].on_reader);
	assert_true(!got.tokens[1].wants_login && got.tokens[1].on_reader);
	p11_list_clear(&got);
	for (size_t n = buf_len(&b); n-- > 0;) {
		rd = rd_from(buf_data(&b), n);
		assert_int_not_equal(p11_read_list(&rd, &got), 0);
		assert_int_equal(got.n_keys + got.n_tokens, 0);
	}
	p11_list_clear(&l);
	buf_clear(&b);
}

/* A key on a token that is not there would be looked for behind the list. */
static void
test_key_on_no_token(void **state)
{
	struct p11_list l = { 0 }, got;
	struct buf b = { 0 };
	struct rd rd;

	(void)state;
	make_list(&l, &b);
	buf_reset(&b);
	l.keys[0].token = 2;
	assert_int_equal(p11_put_list(&l, &b), 0);
	rd = rd_from_buf(&b);
	assert_int_equal(p11_read_list(&rd, &got), ERR_FORMAT);
	p11_list_clear(&l);
	buf_clear(&b);
}

static void
test_many(void **state)
{
	struct p11_list l = { 0 };
	struct buf b = { 0 };
	struct rd rd;

	(void)state;
	buf_put_u32(&b, P11_KEYS_MAX + 1);
	rd = rd_from_buf(&b);
	assert_int_equal(p11_read_list(&rd, &l), ERR_LIMIT);
	for (int i = 0; i < P11_TOKENS_MAX; i++)
		assert_int_equal(p11_list_add_token(&l, "t", false, false), 0);
	assert_int_equal(p11_list_add_token(&l, "t", false, false), ERR_LIMIT);
	p11_list_clear(&l);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_requests_refused),
		cmocka_unit_test(test_long_pin),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_key_on_no_token),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
