/* SPDX-License-Identifier: ISC */
/* Key exchange by GSSAPI in the monitor: what whoever asks may have of the
 * context. gss-host.h says what tokens do. */
#include "regress/unit/gss-host.h"

#include <string.h>

#include "base/log.h"
#include "gss/gss-wire.h"
#include "server/monitor/gss-exchange.h"

/* ---- help ------------------------------------------------------------- */

static struct server_conf conf;
static char methods[] = "gss-group14-sha256-,gss-group16-sha512-";
static const uint8_t hash[65];

static struct gss_exchange *
begin(void)
{
	struct gss_exchange *x;

	log_set_level(LOG_LVL_QUIET);
	gss_library = (struct gss_library){ 0 };
	server_conf_init(&conf);
	assert_int_equal(server_conf_finish(&conf), 0);
	conf.login.gssapi_key_exchange = 1;
	/* A build without GSSAPI has no default. */
	if (conf.login.gssapi_kex_algorithms == NULL)
		conf.login.gssapi_kex_algorithms = methods;
	x = gss_exchange_new(&conf);
	assert_non_null(x);
	return x;
}

static void
end(struct gss_exchange *x)
{
	gss_exchange_free(x);
	if (conf.login.gssapi_kex_algorithms == methods)
		conf.login.gssapi_kex_algorithms = NULL;
	server_conf_clear(&conf);
	assert_int_equal(gss_library.open, 0);
}

/* good, complete: as the answer says. */
static int
step(struct gss_exchange *x, const char *token, bool rekey, bool *good,
    bool *complete)
{
	struct buf out = { 0 };
	int r = gss_exchange_step(x, span_text(token), rekey, &out);
	struct rd in = rd_from_buf(&out);

	*good = *complete = false;
	if (r == 0) {
		*good = rd_bool(&in);
		*complete = rd_bool(&in);
		assert_true(span_equals(rd_string(&in),
		    *good ? "answer" : "error"));
		assert_int_equal(rd_end(&in), 0);
	}
	buf_clear(&out);
	return r;
}

static int
sign(struct gss_exchange *x, size_t len)
{
	struct buf out = { 0 };
	int r = gss_exchange_sign(x, (struct span){ hash, len }, &out);
	struct rd in = rd_from_buf(&out);

	if (r == 0)
		assert_true(span_equals(rd_string(&in), "mic"));
	buf_clear(&out);
	return r;
}

/* ---- tests ------------------------------------------------------------ */

static void
one_exchange(void **state)
{
	struct gss_exchange *x = begin();
	bool good, complete;

	(void)state;
	assert_non_null(strstr(gss_exchange_methods(x),
	    "gss-group14-sha256-toWM5Slw5Ew8Mqkay+al2g=="));
	assert_int_equal(step(x, "go on", false, &good, &complete), 0);
	assert_true(good && !complete);
	assert_int_equal(sign(x, 32), ERR_PROTOCOL); /* too early */
	assert_int_equal(step(x, "done+", false, &good, &complete), 0);
	assert_true(good && complete);
	assert_null(gss_exchange_client(x));
	assert_int_equal(sign(x, 32), 0);
	assert_non_null(gss_exchange_client(x));
	/* Not twice, and no further token. */
	assert_int_equal(sign(x, 32), ERR_PROTOCOL);
	assert_int_equal(step(x, "done+", false, &good, &complete),
	    ERR_PROTOCOL);
	end(x);
}

/* Only those of configured methods, which by default are none with SHA-1. What
 * gssapi-keyex and gssapi-with-mic sign is never as short, nor as long, as one
 * of these. */
static void
only_hashes_are_signed(void **state)
{
	(void)state;
	for (size_t len = 0; len <= sizeof hash; len++) {
		bool is_hash = len == 32 || len == 64;
		struct gss_exchange *x = begin();
		bool good, complete;

		assert_int_equal(step(x, "done+", false, &good, &complete), 0);
		assert_int_equal(sign(x, len), is_hash ? 0 : ERR_PROTOCOL);
		end(x);
	}
}

static void
a_bad_ticket(void **state)
{
	struct gss_exchange *x = begin();
	bool good, complete;

	(void)state;
	assert_int_equal(step(x, "bad", false, &good, &complete), 0);
	assert_false(good || complete);
	/* No second try, and nothing to be signed. */
	assert_int_equal(sign(x, 32), ERR_PROTOCOL);
	assert_int_equal(step(x, "done+", false, &good, &complete),
	    ERR_PROTOCOL);
	end(x);
}

static void
limits(void **state)
{
	static const uint8_t large[GSS_TOKEN_MAX + 1];
	struct gss_exchange *x = begin();
	struct buf out = { 0 };
	bool good, complete;

	(void)state;
	for (int i = 0; i < GSS_STEPS_MAX; i++)
		assert_int_equal(step(x, "go on", false, &good, &complete), 0);
	assert_int_equal(step(x, "go on", false, &good, &complete),
	    ERR_PROTOCOL);
	end(x);
	x = begin();
	assert_int_equal(gss_exchange_step(x,
			     (struct span){ large, sizeof large }, false,
			     &out),
	    ERR_PROTOCOL);
	buf_clear(&out);
	end(x);
}

static void
rekeys(void **state)
{
	struct gss_exchange *x = begin();
	struct gss_acceptor *a;
	bool good, complete;

	(void)state;
	assert_int_equal(step(x, "done+", false, &good, &complete), 0);
	assert_int_equal(sign(x, 64), 0);
	a = gss_exchange_take(x);
	assert_non_null(a);
	gss_acceptor_free(a);
	for (int i = 0; i < 3; i++) {
		/* The context of the last one signs nothing more. */
		assert_int_equal(sign(x, 64), ERR_PROTOCOL);
		assert_int_equal(step(x, "go on", true, &good, &complete), 0);
		assert_int_equal(step(x, "done+", true, &good, &complete), 0);
		assert_int_equal(sign(x, 64), 0);
	}
	assert_int_equal(gss_library.opened, 4);
	gss_library.no_key = true;
	assert_int_equal(step(x, "done+", true, &good, &complete), ERR_DENIED);
	end(x);
}

static void
not_offered(void **state)
{
	struct gss_exchange *x = begin();
	struct buf out = { 0 };

	(void)state;
	end(x);
	server_conf_init(&conf);
	assert_int_equal(server_conf_finish(&conf), 0);
	assert_null(gss_exchange_new(&conf)); /* it is off */
	conf.login.gssapi_key_exchange = 1;
	gss_library.no_key = true;
	assert_null(gss_exchange_new(&conf));
	server_conf_clear(&conf);
	assert_null(gss_exchange_methods(NULL));
	assert_null(gss_exchange_client(NULL));
	assert_int_equal(gss_exchange_step(NULL, span_text("done"), true,
			     &out),
	    ERR_PROTOCOL);
	assert_int_equal(gss_exchange_sign(NULL, (struct span){ hash, 32 },
			     &out),
	    ERR_PROTOCOL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_exchange),
		cmocka_unit_test(only_hashes_are_signed),
		cmocka_unit_test(a_bad_ticket),
		cmocka_unit_test(limits),
		cmocka_unit_test(rekeys),
		cmocka_unit_test(not_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
