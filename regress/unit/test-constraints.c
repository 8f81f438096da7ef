/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include "agent/constraints.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

static struct key *key, *cert;

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	cert = make_cert_for(key);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(key);
	key_free(cert);
	return 0;
}

static int
parse(struct buf *b, enum constraints_for what, struct constraints *c)
{
	struct rd rd = rd_from_buf(b);
	int r = constraints_parse(&rd, what, c);

	buf_clear(b);
	return r;
}

static int
result(struct buf *b, enum constraints_for what)
{
	struct constraints c;
	int r = parse(b, what, &c);

	constraints_clear(&c);
	return r;
}

static void
put_lifetime(struct buf *b)
{
	buf_put_u8(b, 1);
	buf_put_u32(b, 77);
}

static void
put_confirm(struct buf *b)
{
	buf_put_u8(b, 2);
}

static void
put_name(struct buf *b, const char *name)
{
	buf_put_u8(b, 255);
	buf_put_cstring(b, name);
}

static void
put_destinations(struct buf *b)
{
	size_t list, hop, end;

	put_name(b, "restrict-destination-v00@openssh.com");
	list = buf_open_string(b);
	hop = buf_open_string(b);
	end = buf_open_string(b);
	for (int i = 0; i < 3; i++)
		buf_put_cstring(b, "");
	buf_close_string(b, end);
	end = buf_open_string(b);
	buf_put_cstring(b, "");
	buf_put_cstring(b, "host");
	buf_put_cstring(b, "");
	put_key(b, key);
	buf_put_bool(b, false);
	buf_close_string(b, end);
	buf_put_cstring(b, "");
	buf_close_string(b, hop);
	buf_close_string(b, list);
}

static void
put_provider(struct buf *b)
{
	put_name(b, "sk-provider@openssh.com");
	buf_put_cstring(b, "/usr/lib/sk.so");
}

static void
put_certs(struct buf *b, const struct key *k, unsigned n)
{
	size_t list;

	put_name(b, "associated-certs-v00@openssh.com");
	buf_put_bool(b, true);
	list = buf_open_string(b);
	while (n-- > 0)
		put_key(b, k);
	buf_close_string(b, list);
}

static void
put_one_cert(struct buf *b)
{
	put_certs(b, cert, 1);
}

static void
test_all_of_a_key(void **state)
{
	struct buf b = { 0 };
	struct constraints c;

	(void)state;
	put_lifetime(&b);
	put_confirm(&b);
	put_provider(&b);
	put_destinations(&b);
	assert_int_equal(parse(&b, CONSTRAINTS_OF_KEY, &c), 0);
	assert_true(c.has_lifetime && c.confirm);
	assert_int_equal(c.lifetime_s, 77);
	assert_string_equal(c.sk_provider, "/usr/lib/sk.so");
	assert_int_equal(c.destinations.n, 1);
	assert_string_equal(c.destinations.v[0].to.host, "host");
	constraints_clear(&c);
	assert_int_equal(parse(&b, CONSTRAINTS_OF_KEY, &c), 0);
	assert_false(c.has_lifetime || c.confirm || c.destinations.n > 0);
	constraints_clear(&c);
}

static void
test_certs(void **state)
{
	struct buf b = { 0 };
	struct constraints c;

	(void)state;
	put_certs(&b, cert, 2);
	assert_int_equal(parse(&b, CONSTRAINTS_OF_PROVIDER, &c), 0);
	assert_true(c.certs_only);
	assert_int_equal(c.n_certs, 2);
	assert_true(key_is_cert(c.certs[1]));
	constraints_clear(&c);
	put_certs(&b, key, 1);
	assert_int_equal(result(&b, CONSTRAINTS_OF_PROVIDER), ERR_KEY_TYPE);
	put_certs(&b, cert, AGENT_CERTS_MAX + 1);
	assert_int_equal(result(&b, CONSTRAINTS_OF_PROVIDER), ERR_LIMIT);
}

/* The rows: what it is, and for what it is good. */
static const struct {
	void (*put)(struct buf *b);
	bool of_keys, of_providers;
} each[] = {
	{ put_lifetime, true, true },
	{ put_confirm, true, true },
	{ put_destinations, true, true },
	{ put_provider, true, false },
	{ put_one_cert, false, true },
};

static void
test_each(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
		each[i].put(&b);
		assert_int_equal(result(&b, CONSTRAINTS_OF_KEY),
		    each[i].of_keys ? 0 : ERR_FORMAT);
		each[i].put(&b);
		assert_int_equal(result(&b, CONSTRAINTS_OF_PROVIDER),
		    each[i].of_providers ? 0 : ERR_FORMAT);
		/* Twice. */
		each[i].put(&b);
		each[i].put(&b);
		assert_int_equal(result(&b, each[i].of_keys ?
			CONSTRAINTS_OF_KEY : CONSTRAINTS_OF_PROVIDER),
		    ERR_FORMAT);
		/* Cut off anywhere. */
		each[i].put(&b);
		while (buf_len(&b) > 1) {
			struct constraints c;
			struct rd rd;

			buf_truncate(&b, buf_len(&b) - 1);
			rd = rd_from_buf(&b);
			assert_int_not_equal(constraints_parse(&rd,
				each[i].of_keys ? CONSTRAINTS_OF_KEY :
						  CONSTRAINTS_OF_PROVIDER,
				&c), 0);
			constraints_clear(&c);
		}
		buf_clear(&b);
	}
}

static void
test_unknown(void **state)
{
	struct buf b = { 0 };

	(void)state;
	put_confirm(&b);
	buf_put_u8(&b, 3);
	assert_int_equal(result(&b, CONSTRAINTS_OF_KEY), ERR_UNSUPPORTED);
	put_name(&b, "restrict-destination-v01@openssh.com");
	assert_int_equal(result(&b, CONSTRAINTS_OF_KEY), ERR_UNSUPPORTED);
	put_name(&b, "sk-provider@openssh.com");
	buf_put_cstring(&b, "");
	assert_int_equal(result(&b, CONSTRAINTS_OF_KEY), ERR_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_a_key),
		cmocka_unit_test(test_certs),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
