/* SPDX-License-Identifier: ISC */
/* The client's part of gssapi-with-mic. In place of the library is a row of
 * results that a test has laid out. */
#include "regress/unit/userauth-host.h"

#include "client/auth/gss-login.h"
#include "gss/gss-wire.h"

/* ---- in place of client/auth/gss-login.c ------------------------------ */

enum { CALLS = 3 };

struct gss_login {
	bool open;
};

static struct {
	struct gss_login login;
	struct gss_request request; /* of the last start */
	struct {
		int result;
		bool complete;
		const char *token;
	} calls[CALLS];
	size_t made;
	unsigned starts, open;
	char seen[32]; /* the last token of the server */
	size_t signed_len;
} lib;

static int
result(struct gss_proof *out, char **why)
{
	size_t i = lib.made < CALLS ? lib.made : CALLS - 1;

	lib.made++;
	*out = (struct gss_proof){ .complete = lib.calls[i].complete };
	*why = NULL;
	if (lib.calls[i].token != NULL)
		buf_put(&out->token, lib.calls[i].token,
		    strlen(lib.calls[i].token));
	if (lib.calls[i].complete)
		buf_put(&out->mic, "mic", 3);
	if (lib.calls[i].result != 0)
		*why = strdup("no credentials");
	return lib.calls[i].result;
}

int
gss_login_start(struct gss_login **login, const struct gss_request *request,
    int limit_s, struct gss_proof *out, char **why)
{
	int r = result(out, why);

	(void)limit_s;
	lib.request = *request;
	lib.signed_len = request->signed_data.len;
	lib.starts++;
	*login = r == 0 ? &lib.login : NULL;
	lib.open += r == 0;
	return r;
}

int
gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why)
{
	assert_ptr_equal(login, &lib.login);
	assert_true(token.len < sizeof lib.seen);
	memcpy(lib.seen, token.p, token.len);
	lib.seen[token.len] = '\0';
	return result(out, why);
}

void
gss_login_end(struct gss_login *login)
{
	if (login == NULL)
		return;
	assert_int_equal(lib.open, 1);
	lib.open--;
}

/* ---- help ------------------------------------------------------------- */

/* A login with GSSAPI at this kind of server. */
static void
set_login(bool forgives)
{
	memset(&lib, 0, sizeof lib);
	auth_host.conf.auth.gssapi_authentication = 1;
	login_anew((struct userauth_params){ .in_order = true,
	    .forgives = forgives });
}

static void
expect_sent(uint8_t type, const char *text)
{
	struct rd r = sent(type);

	assert_true(span_equals(rd_string(&r), text));
	assert_int_equal(rd_end(&r), 0);
}

static void
expect_request(void)
{
	struct rd r = sent_request("gssapi-with-mic");
	bool kerberos;

	assert_int_equal(gss_wire_get_request(&r, &kerberos), 0);
	assert_true(kerberos);
}

static int
agree(struct span oid)
{
	struct buf b = { 0 };

	buf_put_string(&b, oid.p, oid.len);
	return give(SSH_MSG_USERAUTH_GSSAPI_RESPONSE, &b);
}

static int
give_token(const char *text)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, text);
	return give(SSH_MSG_USERAUTH_GSSAPI_TOKEN, &b);
}

/* ---- tests ------------------------------------------------------------ */

static void
all_at_once(void **state)
{
	(void)state;
	set_login(true);
	lib.calls[0].complete = true;
	lib.calls[0].token = "token";
	start();
	expect_request();
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "token");
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_MIC, "mic");
	assert_false(lib.request.mutual);
	assert_false(lib.request.delegate);
	assert_true(userauth_expects_success(auth_host.ua));
	assert_int_equal(lib.open, 0); /* its process is not kept */
	accept_service();
	assert_int_equal(agree(gss_wire_kerberos()), 0);
	assert_true(nothing_sent());
	succeed("gssapi-with-mic");
}

static void
step_by_step(void **state)
{
	(void)state;
	set_login(false);
	lib.calls[0].token = "first";
	lib.calls[1].complete = true;
	start();
	expect_request();
	assert_true(nothing_sent());
	assert_true(lib.request.mutual);
	assert_false(userauth_expects_success(auth_host.ua));
	accept_service();
	assert_int_equal(agree(gss_wire_kerberos()), 0);
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "first");
	assert_true(nothing_sent());
	assert_int_equal(give_token("proof"), 0);
	assert_string_equal(lib.seen, "proof");
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_MIC, "mic");
	assert_int_equal(lib.open, 0);
	succeed("gssapi-with-mic");
}

/* Nothing is sent, and the next method makes the first request. */
static void
no_ticket(void **state)
{
	(void)state;
	set_login(false);
	lib.calls[0].result = ERR_DENIED;
	add_key(0);
	start();
	accept_service();
	(void)sent_request("publickey");
	assert_true(nothing_sent());
	assert_int_equal(lib.starts, 1);
}

static void
server_that_lies(void **state)
{
	(void)state;
	set_login(false);
	lib.calls[0].token = "first";
	lib.calls[1].result = ERR_DENIED;
	start();
	accept_service();
	expect_request();
	assert_int_equal(agree(gss_wire_kerberos()), 0);
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "first");
	/* It is not who it should be: nothing more for it. */
	assert_int_equal(give_token("forged"), 0);
	(void)sent_request("none");
	assert_true(nothing_sent());
	assert_int_equal(lib.open, 0);
	denied("gssapi-with-mic");
}

static void
messages_out_of_place(void **state)
{
	static const uint8_t spnego[] = { 0x06, 0x06, 0x2b, 6, 1, 5, 5, 2 };
	struct buf b = { 0 };

	(void)state;
	set_login(false);
	lib.calls[0].token = "first";
	start();
	accept_service();
	expect_request();
	assert_int_equal(give_token("early"), ERR_PROTOCOL);
	assert_int_equal(agree((struct span){ spnego, sizeof spnego }),
	    ERR_PROTOCOL);
	assert_int_equal(agree(gss_wire_kerberos()), 0);
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "first");
	assert_int_equal(agree(gss_wire_kerberos()), ERR_PROTOCOL);
	assert_true(nothing_sent());
	/* Its words are shown, and no more. */
	buf_put_u32(&b, 1);
	buf_put_u32(&b, 2);
	buf_put_cstring(&b, "no\x1b[2J");
	buf_put_cstring(&b, "");
	assert_int_equal(give(SSH_MSG_USERAUTH_GSSAPI_ERROR, &b), 0);
	buf_put_cstring(&b, "token");
	assert_int_equal(give(SSH_MSG_USERAUTH_GSSAPI_ERRTOK, &b), 0);
	assert_int_equal(give(SSH_MSG_USERAUTH_GSSAPI_MIC, &b),
	    USERAUTH_UNKNOWN);
	assert_true(nothing_sent());
}

/* A server that goes on with tokens for ever. */
static void
tokens_are_limited(void **state)
{
	int r = 0, given = 0;

	(void)state;
	set_login(false);
	for (size_t i = 0; i < CALLS; i++)
		lib.calls[i].token = "again";
	start();
	accept_service();
	expect_request();
	assert_int_equal(agree(gss_wire_kerberos()), 0);
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "again");
	while (r == 0 && given < 1000) {
		r = give_token("more");
		given++;
		if (r == 0)
			expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "again");
	}
	assert_int_equal(r, ERR_PROTOCOL);
	assert_int_equal(given, GSS_STEPS_MAX + 1);
}

/* Refused at first, since another method has to come before it. */
static void
again_after_a_partial_success(void **state)
{
	(void)state;
	set_login(true);
	lib.calls[0].complete = lib.calls[1].complete = true;
	lib.calls[0].token = lib.calls[1].token = "token";
	add_key(0);
	start();
	accept_service();
	expect_request();
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "token");
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_MIC, "mic");
	refused("publickey");
	expect_offer(0);
	welcome(0);
	expect_signature(0);
	assert_int_equal(fail_with("gssapi-with-mic", true), 0);
	expect_request();
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_TOKEN, "token");
	expect_sent(SSH_MSG_USERAUTH_GSSAPI_MIC, "mic");
	/* and no further */
	denied("gssapi-with-mic");
	assert_int_equal(lib.starts, 2);
}

static void
never_satisfied(void **state)
{
	int r = 0;

	(void)state;
	set_login(true);
	lib.calls[0].complete = lib.calls[1].complete =
	    lib.calls[2].complete = true;
	start();
	accept_service();
	for (int i = 0; i < 100 && r == 0; i++)
		r = fail_with("gssapi-with-mic", true);
	assert_int_equal(r, ERR_DENIED);
	assert_in_range(lib.starts, 2, 8);
}

/* A host that shows another key than it should gets no ticket to keep. */
static void
nothing_is_delegated_to_a_stranger(void **state)
{
	(void)state;
	set_login(true);
	auth_host.conf.auth.gssapi_delegate_credentials = 1;
	lib.calls[0].complete = true;
	start();
	assert_true(lib.request.delegate);
	login_anew((struct userauth_params){ .forgives = true,
	    .no_passwords = true });
	assert_int_equal(userauth_start(auth_host.ua), 0);
	assert_int_equal(lib.starts, 2);
	assert_false(lib.request.delegate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(all_at_once),
		LOGIN_TEST(step_by_step),
		LOGIN_TEST(no_ticket),
		LOGIN_TEST(server_that_lies),
		LOGIN_TEST(messages_out_of_place),
		LOGIN_TEST(tokens_are_limited),
		LOGIN_TEST(again_after_a_partial_success),
		LOGIN_TEST(never_satisfied),
		LOGIN_TEST(nothing_is_delegated_to_a_stranger),
	};

	return cmocka_run_group_tests(tests, login_set_up_all,
	    login_tear_down_all);
}
