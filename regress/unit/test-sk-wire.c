/* SPDX-License-Identifier: ISC */
/* Each message is read as it was written, and at no shorter length. */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "keys/sk-wire.h"

static const struct sk_request request = { .op = SK_SIGN,
	.provider = "/lib/x.so",
	.pin = "1234",
	.application = "ssh:",
	.alg = SK_ALG_ED25519,
	.flags = 5,
	.message = { (const uint8_t *)"data", 4 },
	.handle = { (const uint8_t *)"handle", 6 } };

static int
write_and_read(const struct sk_request *q, struct buf *b,
    struct sk_request *out)
{
	buf_reset(b);
	assert_int_equal(sk_put_request(q, b), 0);
	return sk_read_request(buf_span(b), out);
}

static void
test_request(void **state)
{
	struct buf b = { 0 };
	struct sk_request q;

	(void)state;
	assert_int_equal(write_and_read(&request, &b, &q), 0);
	assert_int_equal(q.op, SK_SIGN);
	assert_string_equal(q.provider, "/lib/x.so");
	assert_string_equal(q.pin, "1234");
	assert_string_equal(q.application, "ssh:");
	assert_null(q.device);
	assert_null(q.user);
	assert_int_equal(q.alg, 1);
	assert_int_equal(q.flags, 5);
	assert_true(span_equals(q.message, "data"));
	assert_true(span_equals(q.handle, "handle"));
	for (size_t len = 0; len < buf_len(&b); len++)
		assert_int_not_equal(sk_read_request((struct span){
					 buf_data(&b), len }, &q),
		    0);
	buf_put_u8(&b, 0);
	assert_int_equal(sk_read_request(buf_span(&b), &q), ERR_TRAILING);
	buf_clear(&b);
}

static void
test_requests_that_lack_something(void **state)
{
	struct sk_request q, wrong;
	struct buf b = { 0 };
	char *text;

	(void)state;
	wrong = request;
	wrong.provider = NULL;
	assert_int_equal(write_and_read(&wrong, &b, &q), ERR_PROTOCOL);
	wrong = request;
	wrong.application = NULL;
	assert_int_equal(write_and_read(&wrong, &b, &q), ERR_PROTOCOL);
	wrong.op = SK_LOAD;
	assert_int_equal(write_and_read(&wrong, &b, &q), 0);
	wrong = request;
	wrong.alg = 2;
	assert_int_equal(write_and_read(&wrong, &b, &q), ERR_PROTOCOL);
	wrong = request;
	wrong.op = SK_LOAD + 1;
	assert_int_equal(write_and_read(&wrong, &b, &q), ERR_PROTOCOL);
	text = malloc(SK_TEXT_MAX + 1);
	memset(text, 'x', SK_TEXT_MAX);
	text[SK_TEXT_MAX] = '\0';
	wrong = request;
	wrong.pin = text;
	assert_int_equal(write_and_read(&wrong, &b, &q), ERR_LIMIT);
	free(text);
	buf_clear(&b);
}

/* A text that does not end where it says, or ends before. */
static void
test_texts(void **state)
{
	static const char *const texts[] = { "no end", "\0", "a\0b" };
	static const size_t lengths[] = { 6, 2, 4 };
	struct sk_request q;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct buf b = { 0 }, whole = { 0 };

		assert_int_equal(sk_put_request(&request, &whole), 0);
		buf_put(&b, buf_data(&whole), 5);
		buf_put_string(&b, texts[i], lengths[i]);
		buf_consume(&whole, 5 + 4 + strlen(request.provider) + 1);
		buf_put_buf(&b, &whole);
		assert_int_equal(sk_read_request(buf_span(&b), &q),
		    ERR_FORMAT);
		buf_clear(&b);
		buf_clear(&whole);
	}
}

static void
test_answers(void **state)
{
	const struct sk_signed s = { 1, 7, { (const uint8_t *)"r", 1 },
		{ NULL, 0 } };
	struct sk_signed got;
	enum sk_status status;
	struct buf b = { 0 };
	struct rd rd;

	(void)state;
	sk_put_head(&b, SK_SIGN, SK_DONE);
	sk_put_signed(&b, &s);
	assert_int_equal(sk_read_head(buf_span(&b), SK_SIGN, &rd, &status), 0);
	assert_int_equal(status, SK_DONE);
	assert_int_equal(sk_read_signed(&rd, &got), 0);
	assert_int_equal(got.counter, 7);
	assert_true(span_equals(got.r, "r"));
	assert_int_equal(sk_read_head(buf_span(&b), SK_LOAD, &rd, &status),
	    ERR_PROTOCOL);
	/* An error has nothing behind it. */
	buf_reset(&b);
	sk_put_head(&b, SK_SIGN, SK_NEEDS_PIN);
	assert_int_equal(sk_read_head(buf_span(&b), SK_SIGN, &rd, &status), 0);
	assert_int_equal(status, SK_NEEDS_PIN);
	buf_put_u8(&b, 0);
	assert_int_equal(sk_read_head(buf_span(&b), SK_SIGN, &rd, &status),
	    ERR_TRAILING);
	buf_clear(&b);
}

static void
test_found(void **state)
{
	struct sk_found f = { .alg = 1, .flags = 0x21, .application = "ssh:" },
			got;
	struct buf b = { 0 };
	struct rd rd;
	uint32_t n;

	(void)state;
	buf_put_u32(&b, SK_FOUND_MAX + 1);
	rd = rd_from_buf(&b);
	assert_int_equal(sk_read_count(&rd, &n), ERR_LIMIT);
	buf_reset(&b);
	sk_put_found(&b, &f);
	rd = rd_from_buf(&b);
	assert_int_equal(sk_read_found(&rd, &got), 0);
	assert_string_equal(got.application, "ssh:");
	f.application = NULL;
	buf_reset(&b);
	sk_put_found(&b, &f);
	rd = rd_from_buf(&b);
	assert_int_equal(sk_read_found(&rd, &got), ERR_PROTOCOL);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_requests_that_lack_something),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
