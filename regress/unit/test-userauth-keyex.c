/* SPDX-License-Identifier: ISC */
/* The client's part of gssapi-keyex: one request with a MIC, and only of a
 * connection whose keys were exchanged by GSSAPI. */
#include "regress/unit/userauth-host.h"

#include "client/auth/userauth-internal.h"
#include "gss/gss-wire.h"

static struct {
	int result, signs;
	struct buf data;
} lib;

static int
sign(void *arg, struct span data, struct buf *mic)
{
	assert_ptr_equal(arg, &lib);
	lib.signs++;
	buf_reset(&lib.data);
	buf_put(&lib.data, data.p, data.len);
	buf_put(mic, "mic", 3);
	return lib.result;
}

static void
set_login(bool by_gss)
{
	buf_clear(&lib.data);
	memset(&lib, 0, sizeof lib);
	auth_host.conf.auth.gssapi_authentication = 1;
	/* gssapi-with-mic would ask the library for a ticket. */
	assert_int_equal(client_conf_replace(&auth_host.conf,
			     "PreferredAuthentications",
			     "gssapi-keyex,publickey"),
	    0);
	login_anew((struct userauth_params){ .in_order = true,
	    .gss_sign = by_gss ? sign : NULL, .gss_arg = &lib });
}

static void
one_request(void **state)
{
	struct buf want = { 0 };
	struct rd r;

	(void)state;
	set_login(true);
	add_key(0);
	start();
	r = sent_request("gssapi-keyex");
	assert_true(span_equals(rd_string(&r), "mic"));
	assert_int_equal(rd_end(&r), 0);
	assert_true(nothing_sent());
	assert_true(userauth_expects_success(auth_host.ua));
	gss_wire_put_signed(&want, buf_span(&auth_host.ua->session_id), "me",
	    "ssh-connection", "gssapi-keyex");
	assert_int_equal(buf_len(&want), buf_len(&lib.data));
	assert_memory_equal(buf_data(&want), buf_data(&lib.data),
	    buf_len(&want));
	buf_clear(&want);
	accept_service();
	succeed("gssapi-keyex");
	buf_clear(&lib.data);
}

/* What was refused is not said again, even if the server goes on offering
 * it. */
static void
refused_once(void **state)
{
	(void)state;
	set_login(true);
	start();
	(void)sent_request("gssapi-keyex");
	accept_service();
	denied("gssapi-keyex");
	assert_int_equal(lib.signs, 1);
	buf_clear(&lib.data);
}

static void
not_without_the_exchange(void **state)
{
	(void)state;
	set_login(false);
	add_key(0);
	start();
	accept_service();
	(void)sent_request("publickey");
	assert_true(nothing_sent());
	assert_int_equal(lib.signs, 0);
}

static void
no_mic(void **state)
{
	(void)state;
	set_login(true);
	lib.result = ERR_DENIED;
	add_key(0);
	start();
	accept_service();
	(void)sent_request("publickey");
	assert_true(nothing_sent());
	assert_int_equal(lib.signs, 1);
	buf_clear(&lib.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(one_request),
		LOGIN_TEST(refused_once),
		LOGIN_TEST(not_without_the_exchange),
		LOGIN_TEST(no_mic),
	};

	return cmocka_run_group_tests(tests, login_set_up_all,
	    login_tear_down_all);
}
