/* SPDX-License-Identifier: ISC */
/* gssapi-keyex in the monitor. */
#include "regress/unit/gss-host.h"

#include "gss/gss-wire.h"
#include "server/monitor/gss-exchange.h"

/* ---- in place of the exchange -------------------------------------------- */

struct gss_exchange {
	struct gss_acceptor *client; /* NULL: it is not done */
};

struct gss_acceptor *
gss_exchange_client(const struct gss_exchange *x)
{
	return x != NULL ? x->client : NULL;
}

struct gss_acceptor *
gss_exchange_take(struct gss_exchange *x)
{
	struct gss_acceptor *a = x->client;

	x->client = NULL;
	return a;
}

int
gss_exchange_acceptor(const struct server_conf *conf,
    struct gss_acceptor **out)
{
	(void)conf;
	(void)out;
	return ERR_NOT_FOUND;
}

/* ---- a try ------------------------------------------------------------ */

static struct gss_exchange exchange;

static int
set_up(void **state)
{
	(void)state;
	gss_login_setup("gssapi-keyex");
	exchange.client = gss_acceptor_done();
	login.gss_exchange = &exchange;
	return 0;
}

static int
tear_down(void **state)
{
	gss_acceptor_free(exchange.client);
	return gss_login_teardown(state);
}

static int
try_it(const char *mic, size_t len)
{
	struct buf fields = { 0 };
	struct rd in;
	int r;

	buf_put_string(&fields, mic, len);
	in = rd_from_buf(&fields);
	monitor_verdict_clear(&verdict);
	r = login_try(&login, AUTH_METHOD_KEYEX, &in, NULL, &verdict);
	buf_clear(&fields);
	return r;
}

static void
refused(const char *mic, size_t len)
{
	assert_int_equal(try_it(mic, len), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_true(verdict.counts);
	assert_null(login.gss);
}

/* ---- tests ------------------------------------------------------------ */

static void
the_right_mic(void **state)
{
	(void)state;
	assert_int_equal(try_it("mic", 3), 0);
	assert_int_equal(verdict.result, MONITOR_SUCCESS);
	gss_assert_signed("gssapi-keyex");
	assert_non_null(login.gss); /* it may have brought credentials */
	assert_null(exchange.client);
}

static void
wrong_mics(void **state)
{
	static const char large[GSS_MIC_MAX + 1];

	(void)state;
	refused("MIC", 3);
	refused("", 0);
	buf_reset(&gss_library.signed_data);
	refused(large, sizeof large); /* not looked at */
	assert_int_equal(buf_len(&gss_library.signed_data), 0);
	assert_int_equal(login.failures, 3);
	assert_true(login.checked);
}

static void
somebody_else(void **state)
{
	(void)state;
	gss_library.not_the_user = true;
	refused("mic", 3);
	gss_library.not_the_user = false;
	login.name_ok = login.allowed = false;
	refused("mic", 3);
}

/* Keys that were exchanged otherwise, and a method whose turn it is not. */
static void
out_of_place(void **state)
{
	(void)state;
	login.gss_exchange = NULL;
	refused("mic", 3);
	login.gss_exchange = &exchange;
	gss_login_methods("publickey");
	refused("mic", 3);
	assert_int_equal(buf_len(&gss_library.signed_data), 0);
}

static void
fields_of_a_stranger(void **state)
{
	static const uint8_t cut[] = { 0, 0, 0, 9, 'm' };
	struct rd in = rd_from(cut, sizeof cut);

	(void)state;
	assert_true(login_try(&login, AUTH_METHOD_KEYEX, &in, NULL, &verdict) <
	    0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_right_mic),
		TEST(wrong_mics),
		TEST(somebody_else),
		TEST(out_of_place),
		TEST(fields_of_a_stranger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
