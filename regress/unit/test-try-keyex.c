/* SPDX-License-Identifier: ISC */
/* gssapi-keyex in the monitor. In place of the library: the right MIC is
 * "mic". */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gss/gss-wire.h"
#include "gss/gss.h"
#include "server/monitor/gss-exchange.h"
#include "server/monitor/login-internal.h"

/* ---- in place of gss/gss.c, and of the exchange ------------------------ */

struct gss_acceptor {
	int unused;
};

struct gss_exchange {
	struct gss_acceptor *client; /* NULL: it is not done */
};

static struct {
	bool not_the_user;
	int open;
	struct buf signed_data;
} lib;

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

void
gss_acceptor_free(struct gss_acceptor *a)
{
	lib.open -= a != NULL;
	free(a);
}

int
gss_acceptor_step(struct gss_acceptor *a, struct span token, struct buf *out,
    bool *complete)
{
	(void)a;
	(void)token;
	(void)out;
	*complete = false;
	return ERR_DENIED;
}

int
gss_acceptor_verify(struct gss_acceptor *a, struct span data, struct span mic)
{
	assert_non_null(a);
	buf_reset(&lib.signed_data);
	buf_put(&lib.signed_data, data.p, data.len);
	return span_equals(mic, "mic") ? 0 : ERR_DENIED;
}

const char *
gss_acceptor_error(const struct gss_acceptor *a)
{
	(void)a;
	return "wrong";
}

const char *
gss_acceptor_principal(const struct gss_acceptor *a)
{
	(void)a;
	return "me@REALM";
}

bool
gss_acceptor_may_be(const struct gss_acceptor *a, const char *user)
{
	(void)a;
	(void)user;
	return !lib.not_the_user;
}

/* ---- a try ------------------------------------------------------------ */

static struct login login;
static struct gss_exchange exchange;
static struct peer peer;
static struct monitor_verdict verdict;

static int
set_up(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	memset(&lib, 0, sizeof lib);
	peer = (struct peer){ .address = "192.0.2.7", .host = "192.0.2.7" };
	exchange.client = xcalloc(1, sizeof *exchange.client);
	lib.open = 1;
	login = (struct login){ .name = "name", .service = "service",
		.user = user_self(), .peer = &peer, .name_ok = true,
		.allowed = true, .gss_exchange = &exchange,
		.session_id = { (const uint8_t *)"id", 2 } };
	server_conf_init(&login.conf);
	assert_int_equal(server_conf_finish(&login.conf), 0);
	login.conf.login.gssapi_authentication = 1;
	login.conf.login.permit_root_login = SERVER_ROOT_PROHIBIT_PASSWORD;
	permits_init_conf(&login.permits, &login.conf);
	assert_int_equal(auth_methods_init(&login.methods,
			     &login.conf.login.authentication_methods,
			     "publickey,gssapi-keyex"),
	    0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	gss_acceptor_free(login.gss);
	gss_acceptor_free(exchange.client);
	assert_int_equal(lib.open, 0);
	auth_methods_clear(&login.methods);
	permits_clear(&login.permits);
	buf_clear(&login.auth_info);
	server_conf_clear(&login.conf);
	user_free(login.user);
	buf_clear(&lib.signed_data);
	monitor_verdict_clear(&verdict);
	return 0;
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
	struct buf want = { 0 };

	(void)state;
	assert_int_equal(try_it("mic", 3), 0);
	assert_int_equal(verdict.result, MONITOR_SUCCESS);
	gss_wire_put_signed(&want, login.session_id, "name", "service",
	    "gssapi-keyex");
	assert_int_equal(buf_len(&want), buf_len(&lib.signed_data));
	assert_memory_equal(buf_data(&want), buf_data(&lib.signed_data),
	    buf_len(&want));
	buf_clear(&want);
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
	buf_reset(&lib.signed_data);
	refused(large, sizeof large);
	assert_int_equal(buf_len(&lib.signed_data), 0); /* not looked at */
	assert_int_equal(login.failures, 3);
	assert_true(login.checked);
}

static void
somebody_else(void **state)
{
	(void)state;
	lib.not_the_user = true;
	refused("mic", 3);
	lib.not_the_user = false;
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
	auth_methods_clear(&login.methods);
	assert_int_equal(auth_methods_init(&login.methods,
			     &login.conf.login.authentication_methods,
			     "publickey"),
	    0);
	refused("mic", 3);
	assert_int_equal(buf_len(&lib.signed_data), 0);
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
