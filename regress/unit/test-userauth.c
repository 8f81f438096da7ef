/* SPDX-License-Identifier: ISC */
/* The client's authentication: passwords, prompts, the order of methods. */
#include "regress/unit/userauth-host.h"

static void
expect_password(const char *password)
{
	struct rd r = sent_request("password");

	assert_false(rd_bool(&r));
	assert_true(span_equals(rd_string(&r), password));
	assert_int_equal(rd_end(&r), 0);
}

static void
passwords(void **state)
{
	(void)state;
	answer_with("first\nsecond\nthird\nfourth\n");
	start_without_keys();
	refused("password");
	expect_password("first");
	refused("password");
	expect_password("second");
	refused("password");
	expect_password("third");
	/* NumberOfPasswordPrompts is 3. */
	denied("password");
}

static void
password_change(void **state)
{
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	answer_with("old\nold\nnew\nother\nnew\nnew\n");
	start_without_keys();
	refused("password");
	expect_password("old");
	buf_put_cstring(&b, "too old");
	buf_put_cstring(&b, "");
	assert_int_equal(give(SSH_MSG_USERAUTH_PASSWD_CHANGEREQ, &b), 0);
	r = sent_request("password");
	assert_true(rd_bool(&r));
	assert_true(span_equals(rd_string(&r), "old"));
	assert_true(span_equals(rd_string(&r), "new"));
	succeed("password");
}

static void
keyboard_interactive(void **state)
{
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	answer_with("one\ntwo\n");
	start_without_keys();
	refused("password,keyboard-interactive");
	r = sent_request("keyboard-interactive");
	(void)r;
	buf_put_cstring(&b, "name");
	buf_put_cstring(&b, "do this\nand that");
	buf_put_cstring(&b, "");
	buf_put_u32(&b, 2);
	buf_put_cstring(&b, "Password: ");
	buf_put_bool(&b, false);
	buf_put_cstring(&b, "Code: ");
	buf_put_bool(&b, true);
	assert_int_equal(give(SSH_MSG_USERAUTH_INFO_REQUEST, &b), 0);
	r = sent(SSH_MSG_USERAUTH_INFO_RESPONSE);
	assert_int_equal(rd_u32(&r), 2);
	assert_true(span_equals(rd_string(&r), "one"));
	assert_true(span_equals(rd_string(&r), "two"));
	assert_true(userauth_code_is_sent(auth_host.ua));
	/* PAM ends with a request that has no prompts. */
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_put_u32(&b, 0);
	assert_int_equal(give(SSH_MSG_USERAUTH_INFO_REQUEST, &b), 0);
	r = sent(SSH_MSG_USERAUTH_INFO_RESPONSE);
	assert_int_equal(rd_u32(&r), 0);
	assert_false(userauth_code_is_sent(auth_host.ua));
	succeed("keyboard-interactive");
}

static void
too_many_prompts(void **state)
{
	struct buf b = { 0 };

	(void)state;
	start_without_keys();
	refused("keyboard-interactive");
	(void)sent_request("keyboard-interactive");
	for (int i = 0; i < 3; i++)
		buf_put_cstring(&b, "");
	buf_put_u32(&b, 0xffffffff);
	assert_int_equal(give(SSH_MSG_USERAUTH_INFO_REQUEST, &b), ERR_LIMIT);
}

static void
preference_and_partial_success(void **state)
{
	(void)state;
	free(auth_host.conf.auth.preferred_authentications);
	auth_host.conf.auth.preferred_authentications =
	    strdup("hostbased,password,publickey");
	add_key(0);
	answer_with("pass\n");
	start_without_keys();
	refused("publickey,password,gssapi");
	expect_password("pass");
	assert_int_equal(fail_with("publickey", true), 0);
	expect_offer(0);
	welcome(0);
	expect_signature(0);
	succeed("publickey");
}

static void
batch_mode_asks_nobody(void **state)
{
	(void)state;
	auth_host.conf.auth.batch_mode = 1;
	answer_with("pass\n");
	start_without_keys();
	denied("password,keyboard-interactive");
}

static void
login_with(struct userauth_secret *secret)
{
	login_anew((struct userauth_params){ .secret = secret });
	start_without_keys();
}

/* A server's question; the answer must be this, or there is none (NULL). */
static void
ask_one(const char *answer)
{
	struct buf b = { 0 };
	struct rd r;
	int i;

	(void)sent_request("keyboard-interactive");
	for (i = 0; i < 3; i++)
		buf_put_cstring(&b, "");
	buf_put_u32(&b, 1);
	buf_put_cstring(&b, "Password: ");
	buf_put_bool(&b, false);
	i = give(SSH_MSG_USERAUTH_INFO_REQUEST, &b);
	if (answer == NULL) {
		assert_int_equal(i, ERR_DENIED);
		return;
	}
	assert_int_equal(i, 0);
	r = sent(SSH_MSG_USERAUTH_INFO_RESPONSE);
	assert_int_equal(rd_u32(&r), 1);
	assert_true(span_equals(rd_string(&r), answer));
	assert_false(userauth_code_is_sent(auth_host.ua)); /* a password */
}

/* What opened the first connection opens the others, once each; what was
 * wrong, or was one of several answers, is forgotten. */
static void
further_connections_do_not_ask(void **state)
{
	struct userauth_secret secret = { .answer = NULL };

	(void)state;
	answer_with("wrong\nright\nnever\n");
	login_with(&secret);
	refused("password");
	expect_password("wrong");
	refused("password");
	expect_password("right");
	assert_null(secret.answer);
	succeed("password");
	assert_string_equal(secret.answer, "right");
	assert_int_equal(secret.effort, USERAUTH_ONE_ANSWER);

	auth_host.conf.auth.batch_mode = 1;
	login_with(&secret);
	refused("password");
	expect_password("right");
	assert_int_equal(fail_with("password", false), ERR_DENIED);
	login_with(&secret);
	refused("keyboard-interactive");
	ask_one("right");
	assert_int_equal(fail_with("keyboard-interactive", false),
	    ERR_DENIED);
	prompt_free(secret.answer);
	secret.answer = NULL;
	login_with(&secret);
	assert_int_equal(fail_with("password,keyboard-interactive", false),
	    ERR_DENIED);

	auth_host.conf.auth.batch_mode = 0;
	answer_with("one\ntwo\n");
	login_with(&secret);
	refused("password");
	expect_password("one");
	assert_int_equal(fail_with("keyboard-interactive", true), 0);
	ask_one("two");
	succeed("keyboard-interactive");
	assert_null(secret.answer);
	assert_int_equal(secret.effort, USERAUTH_INTERACTIVE);
}

/* A refusal does not hide what was answered for a step before it. */
static void
mistyped_last_answer(void **state)
{
	struct userauth_secret secret = { .answer = NULL };

	(void)state;
	auth_host.conf.auth.batch_mode = 0;
	answer_with("one\ntwo\nthree\n");
	login_with(&secret);
	refused("password");
	expect_password("one");
	assert_int_equal(fail_with("keyboard-interactive", true), 0);
	ask_one("two");
	assert_int_equal(fail_with("keyboard-interactive", false), 0);
	ask_one("three");
	succeed("keyboard-interactive");
	assert_null(secret.answer);
	assert_int_equal(secret.effort, USERAUTH_INTERACTIVE);
}

static void
a_distrusted_host_gets_no_password(void **state)
{
	(void)state;
	login_anew((struct userauth_params){ .no_passwords = true });
	answer_with("pass\n");
	start_without_keys();
	denied("password,keyboard-interactive");
}

static void
messages_out_of_order(void **state)
{
	struct buf b = { 0 };

	(void)state;
	/* Success before the service was accepted. */
	assert_int_equal(give(SSH_MSG_USERAUTH_SUCCESS, &b), ERR_PROTOCOL);
	start_without_keys();
	buf_put_cstring(&b, "ssh-userauth");
	assert_int_equal(give(SSH_MSG_SERVICE_ACCEPT, &b), ERR_PROTOCOL);
	assert_int_equal(give(SSH_MSG_USERAUTH_PK_OK, &b), USERAUTH_UNKNOWN);
	assert_int_equal(give(79, &b), USERAUTH_UNKNOWN);
	buf_put_u8(&b, 0);
	assert_int_not_equal(give(SSH_MSG_USERAUTH_FAILURE, &b), 0);
	succeed("none");
	assert_int_equal(give(SSH_MSG_USERAUTH_SUCCESS, &b),
	    USERAUTH_UNKNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(passwords),
		LOGIN_TEST(password_change),
		LOGIN_TEST(keyboard_interactive),
		LOGIN_TEST(too_many_prompts),
		LOGIN_TEST(preference_and_partial_success),
		LOGIN_TEST(batch_mode_asks_nobody),
		LOGIN_TEST(further_connections_do_not_ask),
		LOGIN_TEST(mistyped_last_answer),
		LOGIN_TEST(a_distrusted_host_gets_no_password),
		LOGIN_TEST(messages_out_of_order),
	};

	return cmocka_run_group_tests(tests, login_set_up_all,
	    login_tear_down_all);
}
