/* SPDX-License-Identifier: ISC */
/* What hpnssh-keysign signs: one request, and everything that may be wrong
 * with it. */
#include "regress/unit/help.h"

#include <string.h>

#include "base/local-name.h"
#include "base/mem.h"
#include "keytools/keysign/keysign-check.h"
#include "regress/unit/make-cert.h"

static struct key *own, *own_rsa, *other, *own_cert;

/* 0 and NULL stand for what is right. */
struct sample {
	size_t id_len;
	uint8_t type;
	const char *login, *service, *method, *alg, *host, *user;
	const struct key *key;
	const char *behind; /* more than belongs there */
	const char *why;    /* NULL: it is signed */
};

#define OR(value, right) ((value) != NULL ? (value) : (right))

static void
put_sample(const struct sample *s, struct buf *b)
{
	static const uint8_t id[65];
	struct buf blob = { 0 };

	assert_int_equal(key_to_blob(OR(s->key, own), &blob), 0);
	buf_put_string(b, id, s->id_len != 0 ? s->id_len : 32);
	buf_put_u8(b, s->type != 0 ? s->type : 50);
	buf_put_cstring(b, OR(s->login, "root"));
	buf_put_cstring(b, OR(s->service, "ssh-connection"));
	buf_put_cstring(b, OR(s->method, "hostbased"));
	buf_put_cstring(b, OR(s->alg, "ssh-ed25519"));
	buf_put_string_buf(b, &blob);
	buf_put_cstring(b, OR(s->host, "Here.example."));
	buf_put_cstring(b, OR(s->user, "jo"));
	if (s->behind != NULL)
		buf_put(b, s->behind, strlen(s->behind));
	assert_int_equal(buf_err(b), 0);
	buf_clear(&blob);
}

static int
check(const struct buf *b, struct keysign_order *order, const char **why)
{
	struct key *const keys[] = { NULL, own, own_rsa };
	const struct keysign_facts facts = { .user = "jo",
		.host = "here.example",
		.keys = keys,
		.n = ARRAY_LEN(keys) };

	return keysign_check(buf_span(b), &facts, order, why);
}

static void
test_requests(void **state)
{
	static const char bad_id[] = "no session identifier";
	static const char bad_kind[] =
	    "no request for host-based authentication";
	static const char bad_host[] = "the name is not this host's";
	static const char bad_user[] = "the name is not the caller's";
	static const char bad_alg[] = "no algorithm for this key";
	static const char bad_key[] = "the key is not this host's";
	const struct sample samples[] = {
		{ .why = NULL },
		{ .id_len = 20 },
		{ .id_len = 48 },
		{ .id_len = 64 },
		{ .id_len = 31, .why = bad_id },
		{ .id_len = 16, .why = bad_id },
		{ .id_len = 65, .why = bad_id },
		{ .type = 51, .why = bad_kind },
		{ .login = "", .why = bad_kind },
		{ .method = "publickey", .why = bad_kind },
		{ .method = "hostbased2", .why = bad_kind },
		{ .service = "ssh-userauth",
		    .why = "a request for another service" },
		{ .host = "here.example.", .why = NULL },
		{ .host = "here.example", .why = bad_host },
		{ .host = "here.example..", .why = bad_host },
		{ .host = "there.example.", .why = bad_host },
		{ .host = "here.", .why = bad_host },
		{ .host = ".", .why = bad_host },
		{ .host = "", .why = bad_host },
		{ .user = "root", .why = bad_user },
		{ .user = "jo2", .why = bad_user },
		{ .user = "Jo", .why = bad_user },
		{ .user = "", .why = bad_user },
		{ .key = other, .why = bad_key },
		{ .alg = "rsa-sha2-256", .why = bad_alg },
		{ .alg = "ssh-ed25519-cert-v01@openssh.com", .why = bad_alg },
		{ .alg = "", .why = bad_alg },
		{ .key = own_rsa, .alg = "rsa-sha2-256" },
		{ .key = own_rsa, .alg = "rsa-sha2-512" },
		{ .key = own_rsa, .alg = "ssh-rsa" },
		{ .key = own_rsa, .why = bad_alg },
		{ .key = own_cert, .alg = "ssh-ed25519-cert-v01@openssh.com" },
		{ .key = own_cert, .why = bad_alg },
		{ .behind = "x", .why = "malformed data" },
	};
	struct keysign_order order;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buf b = { 0 };
		int r;

		put_sample(&samples[i], &b);
		r = check(&b, &order, &why);
		if (r != (samples[i].why == NULL ? 0 : ERR_DENIED))
			fail_msg("sample %zu: %d %s", i, r,
			    why != NULL ? why : "");
		assert_text(why, samples[i].why);
		buf_clear(&b);
	}
}

/* Each beginning of a right request is refused, and nothing is read behind
 * its end. */
static void
test_cut_short(void **state)
{
	const struct sample right = { 0 };
	struct keysign_order order;
	struct buf b = { 0 };
	const char *why;

	(void)state;
	put_sample(&right, &b);
	while (buf_len(&b) > 0) {
		buf_truncate(&b, buf_len(&b) - 1);
		assert_int_equal(check(&b, &order, &why), ERR_DENIED);
		assert_string_equal(why, "malformed data");
	}
	buf_clear(&b);
}

/* A name with a NUL in it is not the name in front of the NUL. */
static void
test_nul_in_name(void **state)
{
	const struct sample right = { 0 };
	struct keysign_order order;
	struct buf b = { 0 }, nul = { 0 };
	const char *why;

	(void)state;
	put_sample(&right, &b);
	buf_put(&nul, buf_data(&b), buf_len(&b) - 6); /* u32 2, "jo" */
	buf_put_string(&nul, "jo\0x", 4);
	assert_int_equal(check(&nul, &order, &why), ERR_DENIED);
	buf_clear(&b);
	buf_clear(&nul);
}

static void
test_frame(void **state)
{
	struct buf b = { 0 };
	struct span data;
	const char *why;

	(void)state;
	for (unsigned version = 1; version <= 3; version++) {
		for (unsigned fd = 2; fd <= 4; fd++) {
			buf_reset(&b);
			buf_put_u8(&b, (uint8_t)version);
			buf_put_u32(&b, fd);
			buf_put_cstring(&b, "data");
			assert_int_equal(keysign_read(buf_span(&b), &data,
					     &why) == 0,
			    version == 2 && fd == 3);
		}
	}
	buf_reset(&b);
	buf_put_u8(&b, 2);
	buf_put_u32(&b, 3);
	buf_put_cstring(&b, "data");
	assert_int_equal(keysign_read(buf_span(&b), &data, &why), 0);
	assert_true(span_equals(data, "data"));
	buf_put_u8(&b, 0);
	assert_int_not_equal(keysign_read(buf_span(&b), &data, &why), 0);
	buf_clear(&b);
}

/* The answer has a signature over the data, by the plain key. */
static void
test_answer(void **state)
{
	const struct sample samples[] = { { .type = 0 },
		{ .key = own_rsa, .alg = "rsa-sha2-512" },
		{ .key = own_cert,
		    .alg = "ssh-ed25519-cert-v01@openssh.com" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buf b = { 0 }, out = { 0 };
		struct keysign_order order;
		const char *why;
		struct rd in;
		struct span answer, signature;

		put_sample(&samples[i], &b);
		assert_int_equal(check(&b, &order, &why), 0);
		assert_int_equal(keysign_answer(&order, &out), 0);
		in = rd_from_span(buf_span(&out));
		answer = rd_string(&in);
		assert_int_equal(rd_end(&in), 0);
		in = rd_from_span(answer);
		assert_int_equal(rd_u8(&in), 2);
		signature = rd_string(&in);
		assert_int_equal(rd_end(&in), 0);
		assert_int_equal(key_verify(OR(samples[i].key, own),
				     OR(samples[i].alg, "ssh-ed25519"),
				     buf_span(&b), signature), 0);
		buf_clear(&b);
		buf_clear(&out);
	}
}

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &own), 0);
	assert_int_equal(key_generate("rsa", 2048, &own_rsa), 0);
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	own_cert = make_cert_for(own);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(own);
	key_free(own_rsa);
	key_free(other);
	key_free(own_cert);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_nul_in_name),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_answer),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
