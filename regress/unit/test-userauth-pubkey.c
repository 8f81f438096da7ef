/* SPDX-License-Identifier: ISC */
/* The client's authentication with keys: offers, flights, signatures. */
#include "regress/unit/userauth-host.h"

/* The login is on a server that answers in order. */
static void
answers_in_order(const char *key_hint)
{
	login_anew((struct userauth_params){ .in_order = true,
	    .key_hint = key_hint });
}

static void
hint_at_key(int i)
{
	char *fp = key_fingerprint(user_keys[i], DIGEST_SHA256);

	login_anew((struct userauth_params){ .key_hint = fp });
	free(fp);
}

/* The key that worked is hinted at the next time. */
static void
expect_hint(int i)
{
	char *fp = key_fingerprint(user_keys[i], DIGEST_SHA256);
	char *hint = userauth_key_hint(auth_host.ua);

	assert_string_equal(hint, fp);
	free(hint);
	free(fp);
}

static void
one_key(void **state)
{
	(void)state;
	add_key(0);
	start();
	/* The only key will have to sign anyway. */
	expect_signature(0);
	assert_true(userauth_expects_success(auth_host.ua));
	accept_service();
	assert_false(userauth_was_refused(auth_host.ua));
	succeed("publickey");
	assert_int_equal(userauth_effort(auth_host.ua), USERAUTH_SILENT);
	expect_hint(0);
}

static void
two_keys_are_offered(void **state)
{
	(void)state;
	add_key(1);
	add_key(0);
	start();
	expect_offer(1);
	assert_false(userauth_expects_success(auth_host.ua));
	accept_service();
	refused("publickey,password");
	assert_true(userauth_was_refused(auth_host.ua));
	expect_offer(0);
	welcome(0);
	expect_signature(0);
	succeed("publickey");
}

static void
the_key_that_worked_signs_first(void **state)
{
	(void)state;
	add_key(1);
	add_key(0);
	hint_at_key(0);
	start();
	expect_signature(0);
	assert_true(userauth_expects_success(auth_host.ua));
	accept_service();
	/* Refused this time: on with the others, step by step. */
	refused("publickey");
	expect_offer(1);
	answer_with("secret\n");
	welcome(1);
	expect_signature(1);
	succeed("publickey");
}

/* Nobody is asked for a passphrase on a mere hint. */
static void
a_hint_at_a_locked_key_is_a_probe(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	hint_at_key(1);
	start();
	expect_offer(1);
	assert_false(userauth_expects_success(auth_host.ua));
	accept_service();
	refused("publickey");
	expect_offer(0);
}

static void
second_key_with_a_passphrase(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	userauth_set_extensions(auth_host.ua, "ssh-ed25519,rsa-sha2-256", true);
	answer_with("wrong\nsecret\n");
	start();
	expect_probe("publickey-hostbound-v00@openssh.com", 0, "ssh-ed25519");
	accept_service();
	refused("publickey");
	/* 512 is preferred, but this server said 256. */
	expect_probe("publickey-hostbound-v00@openssh.com", 1, "rsa-sha2-256");
	assert_int_equal(accept_key(1, "rsa-sha2-256"), 0);
	expect_signed("publickey-hostbound-v00@openssh.com", 1,
	    "rsa-sha2-256", true);
	succeed("publickey");
	/* A further connection could not log in with it. */
	assert_int_equal(userauth_effort(auth_host.ua), USERAUTH_INTERACTIVE);
}

/* PubkeyAuthentication unbound: the server could, but we do not. */
static void
unbound(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	auth_host.conf.auth.pubkey_authentication = CLIENT_PUBKEY_UNBOUND;
	userauth_set_extensions(auth_host.ua, "ssh-ed25519", true);
	start();
	expect_probe("publickey", 0, "ssh-ed25519");
}

static void
host_bound(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	auth_host.conf.auth.pubkey_authentication = CLIENT_PUBKEY_HOST_BOUND;
	userauth_set_extensions(auth_host.ua, "ssh-ed25519", true);
	start();
	expect_probe("publickey-hostbound-v00@openssh.com", 0, "ssh-ed25519");
}

static void
keys_run_out(void **state)
{
	(void)state;
	add_key(0);
	start();
	expect_signature(0);
	accept_service();
	denied("publickey");
}

/* Without its passphrase the key of the first request is of no use, and what
 * else there is was not told yet. */
static void
first_key_cannot_sign(void **state)
{
	struct rd r;

	(void)state;
	auth_host.conf.auth.batch_mode = 1;
	add_key(1);
	start();
	expect_offer(1);
	accept_service();
	welcome(1);
	r = sent_request("none");
	assert_int_equal(rd_end(&r), 0);
	denied("publickey");
}

static void
no_mutual_algorithm(void **state)
{
	(void)state;
	add_key(1);
	userauth_set_extensions(auth_host.ua, "ssh-ed25519", false);
	start_without_keys();
	denied("publickey");
}

/* What the server takes of this user it tells later (a second EXT_INFO): a key
 * that was left out gets its turn, once. */
static void
algorithms_of_the_user(void **state)
{
	(void)state;
	add_key(1);
	userauth_set_extensions(auth_host.ua, "ssh-ed25519", false);
	start_without_keys();
	userauth_set_extensions(auth_host.ua, "rsa-sha2-512", false);
	refused("publickey");
	expect_probe("publickey", 1, "rsa-sha2-512");
	/* Whatever else it says then. */
	userauth_set_extensions(auth_host.ua, "ssh-ed25519", false);
	userauth_set_extensions(auth_host.ua, "rsa-sha2-256", false);
	denied("publickey");
}

static void
add_all_keys(void)
{
	for (int i = 0; i < USER_KEYS; i++)
		add_key(i);
}

/* Three offers leave with the service request. The rest goes one by one, for
 * each of them may be the last that the server takes. */
static void
three_offers_in_a_flight(void **state)
{
	(void)state;
	add_all_keys();
	answers_in_order(NULL);
	start();
	expect_offer(0);
	expect_offer(1);
	expect_offer(2);
	assert_true(nothing_sent());
	assert_false(userauth_expects_success(auth_host.ua));
	accept_service();
	for (int i = 0; i < 2; i++) {
		refused("publickey");
		assert_true(nothing_sent());
	}
	for (int i = 3; i < 5; i++) {
		refused("publickey");
		expect_offer(i);
		assert_true(nothing_sent());
	}
	welcome(4);
	expect_signature(4);
	succeed("publickey");
}

/* Keys from first to before end, offered in one flight. */
static void
fly(int first, int end)
{
	for (int i = first; i < end; i++)
		add_key(i);
	answers_in_order(NULL);
	start();
	for (int i = first; i < end; i++)
		expect_offer(i);
	accept_service();
}

/* The first that is welcome signs at once, and the answers to those behind it
 * are not taken for the answer to that. */
static void
the_first_good_key_signs(void **state)
{
	(void)state;
	fly(2, 5);
	refused("publickey");
	welcome(3);
	expect_signature(3);
	refused("publickey");
	assert_true(nothing_sent());
	succeed("publickey");
	expect_hint(3);
}

/* Two are welcome: if the signature of one is not enough, the other signs
 * without being offered again. */
static void
the_second_good_key_signs(void **state)
{
	(void)state;
	fly(2, 5);
	welcome(2);
	expect_signature(2);
	welcome(3);
	refused("publickey");
	assert_true(nothing_sent());
	refused("publickey");
	expect_signature(3);
	denied("publickey");
}

/* In a flight, too, a server must not choose what is signed, nor when. */
static void
answers_in_a_flight_have_an_order(void **state)
{
	(void)state;
	fly(2, 4);
	assert_int_equal(accept_key(3, "ssh-ed25519"), ERR_PROTOCOL);
	assert_true(nothing_sent());
}

static void
no_part_of_success_for_an_offer(void **state)
{
	(void)state;
	fly(2, 4);
	assert_int_equal(fail_with("publickey", true), ERR_PROTOCOL);
	assert_true(nothing_sent());
}

/* Who worked last time, but has to be asked for a passphrase, flies alone. */
static void
a_hint_needs_no_flight(void **state)
{
	char *fp = key_fingerprint(user_keys[1], DIGEST_SHA256);

	(void)state;
	add_all_keys();
	answers_in_order(fp);
	free(fp);
	start();
	expect_offer(1);
	assert_true(nothing_sent());
}

/* A server must not choose what is signed. */
static void
only_what_was_offered_is_signed(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	start();
	expect_offer(0);
	accept_service();
	assert_int_equal(accept_key(1, "rsa-sha2-512"), ERR_PROTOCOL);
	assert_true(nothing_sent());
}

static void
one_signature_an_answer(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	start();
	expect_offer(0);
	accept_service();
	welcome(0);
	expect_signature(0);
	assert_int_equal(accept_key(0, "ssh-ed25519"), USERAUTH_UNKNOWN);
	assert_true(nothing_sent());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(one_key),
		LOGIN_TEST(two_keys_are_offered),
		LOGIN_TEST(the_key_that_worked_signs_first),
		LOGIN_TEST(a_hint_at_a_locked_key_is_a_probe),
		LOGIN_TEST(second_key_with_a_passphrase),
		LOGIN_TEST(unbound),
		LOGIN_TEST(host_bound),
		LOGIN_TEST(keys_run_out),
		LOGIN_TEST(first_key_cannot_sign),
		LOGIN_TEST(no_mutual_algorithm),
		LOGIN_TEST(algorithms_of_the_user),
		LOGIN_TEST(three_offers_in_a_flight),
		LOGIN_TEST(the_first_good_key_signs),
		LOGIN_TEST(the_second_good_key_signs),
		LOGIN_TEST(answers_in_a_flight_have_an_order),
		LOGIN_TEST(no_part_of_success_for_an_offer),
		LOGIN_TEST(a_hint_needs_no_flight),
		LOGIN_TEST(only_what_was_offered_is_signed),
		LOGIN_TEST(one_signature_an_answer),
	};

	return cmocka_run_group_tests(tests, login_set_up_all,
	    login_tear_down_all);
}
