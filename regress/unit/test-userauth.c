/* SPDX-License-Identifier: ISC */
/* The client's authentication, against a server that is played here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "client/prompt.h"
#include "client/userauth.h"
#include "keys/key.h"
#include "keys/keyfile.h"

static char dir[] = "/tmp/test-userauth-XXXXXX";
static char askpass[64], answers[64];
enum { KEYS = 5 };
static char key_paths[KEYS][64];
static struct key *keys[KEYS];

static const uint8_t session_id[32] = { 7, 7, 7 };
static const uint8_t hostkey[] = "host key blob";

/* One conversation. */
static struct {
	struct client_conf conf;
	struct packet *packet;
	struct userauth *ua;
	int peer;
	struct buf message; /* the client's last one */
} t;

static void
write_file(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(file_replace(path, text, strlen(text), mode), 0);
}

static void
answer_with(const char *text)
{
	write_file(answers, text, 0600);
}

static int
set_up_all(void **state)
{
	char script[256];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(askpass, sizeof askpass, "%s/askpass", dir);
	snprintf(answers, sizeof answers, "%s/answers", dir);
	/* Gives one line of the file each time. */
	snprintf(script, sizeof script,
	    "#!/bin/sh\nhead -n 1 %s\nsed -i 1d %s\n", answers, answers);
	write_file(askpass, script, 0700);
	setenv("SSH_ASKPASS", askpass, 1);
	setenv("SSH_ASKPASS_REQUIRE", "force", 1);
	unsetenv("SSH_AUTH_SOCK");
	for (int i = 0; i < KEYS; i++) {
		snprintf(key_paths[i], sizeof key_paths[i], "%s/key%d", dir,
		    i);
		assert_int_equal(
		    key_generate(i == 1 ? "rsa" : "ed25519", 0, &keys[i]), 0);
		assert_int_equal(keyfile_save_private(key_paths[i], keys[i],
				     KEYFILE_OPENSSH, i == 1 ? "secret" : "",
				     "x", NULL, 4),
		    0);
	}
	log_set_level(LOG_LVL_QUIET);
	return 0;
}

static int
tear_down_all(void **state)
{
	(void)state;
	for (int i = 0; i < KEYS; i++) {
		key_free(keys[i]);
		unlink(key_paths[i]);
	}
	unlink(askpass);
	unlink(answers);
	rmdir(dir);
	return 0;
}

/* A login with what is given beside the usual. */
static void
begin_anew(struct userauth_params params)
{
	params.conf = &t.conf;
	params.packet = t.packet;
	params.session_id = (struct span){ session_id, sizeof session_id };
	params.hostkey = (struct span){ hostkey, sizeof hostkey };
	userauth_free(t.ua);
	assert_int_equal(userauth_new(&t.ua, &params), 0);
}

static int
set_up(void **state)
{
	int fd[2];

	(void)state;
	memset(&t, 0, sizeof t);
	client_conf_init(&t.conf);
	assert_int_equal(client_conf_set(&t.conf, "User", "me"), 0);
	assert_int_equal(client_conf_finish(&t.conf), 0);
	free(t.conf.host.hostname);
	t.conf.host.hostname = strdup("host");
	free(t.conf.load.original_host);
	t.conf.load.original_host = strdup("host");
	strlist_clear(&t.conf.auth.identity_file);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	t.packet = packet_new(fd[0], fd[0], false);
	t.peer = fd[1];
	begin_anew((struct userauth_params){ .key_hint = NULL });
	return 0;
}

/* The conversation is with a server that answers in order. */
static void
answers_in_order(const char *key_hint)
{
	begin_anew((struct userauth_params){ .in_order = true,
	    .key_hint = key_hint });
}

static void
hint_at_key(int i)
{
	char *fp = key_fingerprint(keys[i], DIGEST_SHA256);

	begin_anew((struct userauth_params){ .key_hint = fp });
	free(fp);
}

static int
tear_down(void **state)
{
	int fd = packet_fd_in(t.packet);

	(void)state;
	userauth_free(t.ua);
	packet_free(t.packet);
	close(fd);
	close(t.peer);
	buf_clear(&t.message);
	client_conf_clear(&t.conf);
	return 0;
}

/* The next message that the client sent (no keys: a clear packet). */
static struct rd
sent(uint8_t type)
{
	uint8_t head[5], *body;
	struct rd r;
	size_t len;

	assert_int_equal(packet_flush(t.packet), 0);
	assert_int_equal(fd_read_all(t.peer, head, sizeof head), 0);
	len = wire_get_u32(head) - 1;
	buf_reset(&t.message);
	body = buf_reserve(&t.message, len);
	assert_int_equal(fd_read_all(t.peer, body, len), 0);
	buf_commit(&t.message, len - head[4]);
	r = rd_from_buf(&t.message);
	assert_int_equal(rd_u8(&r), type);
	return r;
}

static bool
nothing_sent(void)
{
	uint8_t byte;

	assert_int_equal(packet_flush(t.packet), 0);
	return recv(t.peer, &byte, 1, MSG_DONTWAIT) == -1;
}

static struct rd
sent_request(const char *method)
{
	struct rd r = sent(SSH_MSG_USERAUTH_REQUEST);

	assert_true(span_equals(rd_string(&r), "me"));
	assert_true(span_equals(rd_string(&r), "ssh-connection"));
	assert_true(span_equals(rd_string(&r), method));
	return r;
}

static int
give(uint8_t type, struct buf *body)
{
	int r = userauth_input(t.ua, type, rd_from_buf(body));

	buf_clear(body);
	return r;
}

static int
fail_with(const char *methods, bool partial)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, methods);
	buf_put_bool(&b, partial);
	return give(SSH_MSG_USERAUTH_FAILURE, &b);
}

static void
refused(const char *methods)
{
	assert_int_equal(fail_with(methods, false), 0);
}

/* There is nothing more to try. */
static void
denied(const char *methods)
{
	assert_int_equal(fail_with(methods, false), ERR_DENIED);
	assert_true(nothing_sent());
}

/* Service request and first request leave together. */
static void
start(void)
{
	struct rd r;

	assert_int_equal(userauth_start(t.ua), 0);
	r = sent(SSH_MSG_SERVICE_REQUEST);
	assert_true(span_equals(rd_string(&r), "ssh-userauth"));
}

static void
accept_service(void)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, "ssh-userauth");
	assert_int_equal(give(SSH_MSG_SERVICE_ACCEPT, &b), 0);
}

/* Without keys, the methods are asked for. */
static void
begin(void)
{
	struct rd r;

	start();
	r = sent_request("none");
	assert_int_equal(rd_end(&r), 0);
	assert_false(userauth_expects_success(t.ua));
	accept_service();
}

static void
succeed(const char *method)
{
	struct buf b = { 0 };

	assert_int_equal(give(SSH_MSG_USERAUTH_SUCCESS, &b), USERAUTH_DONE);
	assert_string_equal(userauth_method(t.ua), method);
}

/* A probe for key i: its algorithm; the blob is checked. */
static void
expect_probe(const char *method, int i, const char *alg)
{
	struct rd r = sent_request(method);
	struct buf blob = { 0 };
	struct span got;

	assert_false(rd_bool(&r));
	assert_true(span_equals(rd_string(&r), alg));
	got = rd_string(&r);
	assert_int_equal(key_to_blob(keys[i], &blob), 0);
	assert_int_equal(got.len, buf_len(&blob));
	assert_memory_equal(got.p, buf_data(&blob), got.len);
	buf_clear(&blob);
}

static int
accept_key(int i, const char *alg)
{
	struct buf b = { 0 }, blob = { 0 };

	assert_int_equal(key_to_blob(keys[i], &blob), 0);
	buf_put_cstring(&b, alg);
	buf_put_string_buf(&b, &blob);
	buf_clear(&blob);
	return give(SSH_MSG_USERAUTH_PK_OK, &b);
}

/* A signed request for key i, whose signature is right. */
static void
expect_signed(const char *method, int i, const char *alg, bool bound)
{
	struct rd r = sent_request(method);
	struct buf data = { 0 };
	struct span signature;
	size_t unsigned_len;

	assert_true(rd_bool(&r));
	assert_true(span_equals(rd_string(&r), alg));
	(void)rd_string(&r);
	if (bound)
		assert_int_equal(rd_string(&r).len, sizeof hostkey);
	unsigned_len = buf_len(&t.message) - r.len;
	signature = rd_string(&r);
	assert_int_equal(rd_end(&r), 0);
	buf_put_string(&data, session_id, sizeof session_id);
	buf_put(&data, buf_data(&t.message), unsigned_len);
	assert_int_equal(key_verify(keys[i], alg,
			     (struct span){ buf_data(&data), buf_len(&data) },
			     signature),
	    0);
	buf_clear(&data);
}

/* The same with the usual method and algorithm. */

static const char *
alg_of(int i)
{
	return i == 1 ? "rsa-sha2-512" : "ssh-ed25519";
}

static void
expect_offer(int i)
{
	expect_probe("publickey", i, alg_of(i));
}

static void
welcome(int i)
{
	assert_int_equal(accept_key(i, alg_of(i)), 0);
}

static void
expect_signature(int i)
{
	expect_signed("publickey", i, alg_of(i), false);
}

/* The key that worked is hinted at the next time. */
static void
expect_hint(int i)
{
	char *fp = key_fingerprint(keys[i], DIGEST_SHA256);
	char *hint = userauth_key_hint(t.ua);

	assert_string_equal(hint, fp);
	free(hint);
	free(fp);
}

static void
add_key(int i)
{
	assert_int_equal(
	    strlist_add(&t.conf.auth.identity_file, key_paths[i]), 0);
}

static void
one_key(void **state)
{
	(void)state;
	add_key(0);
	start();
	/* The only key will have to sign anyway. */
	expect_signature(0);
	assert_true(userauth_expects_success(t.ua));
	accept_service();
	assert_false(userauth_was_refused(t.ua));
	succeed("publickey");
	assert_int_equal(userauth_effort(t.ua), USERAUTH_SILENT);
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
	assert_false(userauth_expects_success(t.ua));
	accept_service();
	refused("publickey,password");
	assert_true(userauth_was_refused(t.ua));
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
	assert_true(userauth_expects_success(t.ua));
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
	assert_false(userauth_expects_success(t.ua));
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
	userauth_set_extensions(t.ua, "ssh-ed25519,rsa-sha2-256", true);
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
	assert_int_equal(userauth_effort(t.ua), USERAUTH_INTERACTIVE);
}

/* PubkeyAuthentication unbound: the server could, but we do not. */
static void
unbound(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	t.conf.auth.pubkey_authentication = CLIENT_PUBKEY_UNBOUND;
	userauth_set_extensions(t.ua, "ssh-ed25519", true);
	start();
	expect_probe("publickey", 0, "ssh-ed25519");
}

static void
host_bound(void **state)
{
	(void)state;
	add_key(0);
	add_key(1);
	t.conf.auth.pubkey_authentication = CLIENT_PUBKEY_HOST_BOUND;
	userauth_set_extensions(t.ua, "ssh-ed25519", true);
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
	t.conf.auth.batch_mode = 1;
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
	userauth_set_extensions(t.ua, "ssh-ed25519", false);
	begin();
	denied("publickey");
}

static void
add_all_keys(void)
{
	for (int i = 0; i < KEYS; i++)
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
	assert_false(userauth_expects_success(t.ua));
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
	char *fp = key_fingerprint(keys[1], DIGEST_SHA256);

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
	begin();
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
	begin();
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
	begin();
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
	/* PAM ends with a request that has no prompts. */
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_put_u32(&b, 0);
	assert_int_equal(give(SSH_MSG_USERAUTH_INFO_REQUEST, &b), 0);
	r = sent(SSH_MSG_USERAUTH_INFO_RESPONSE);
	assert_int_equal(rd_u32(&r), 0);
	succeed("keyboard-interactive");
}

static void
too_many_prompts(void **state)
{
	struct buf b = { 0 };

	(void)state;
	begin();
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
	free(t.conf.auth.preferred_authentications);
	t.conf.auth.preferred_authentications =
	    strdup("hostbased,password,publickey");
	add_key(0);
	answer_with("pass\n");
	begin();
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
	t.conf.auth.batch_mode = 1;
	answer_with("pass\n");
	begin();
	denied("password,keyboard-interactive");
}

static void
login_with(struct userauth_secret *secret)
{
	begin_anew((struct userauth_params){ .secret = secret });
	begin();
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

	t.conf.auth.batch_mode = 1;
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

	t.conf.auth.batch_mode = 0;
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

static void
a_distrusted_host_gets_no_password(void **state)
{
	(void)state;
	begin_anew((struct userauth_params){ .no_passwords = true });
	answer_with("pass\n");
	begin();
	denied("password,keyboard-interactive");
}

static void
messages_out_of_order(void **state)
{
	struct buf b = { 0 };

	(void)state;
	/* Success before the service was accepted. */
	assert_int_equal(give(SSH_MSG_USERAUTH_SUCCESS, &b), ERR_PROTOCOL);
	begin();
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_key),
		TEST(two_keys_are_offered),
		TEST(the_key_that_worked_signs_first),
		TEST(a_hint_at_a_locked_key_is_a_probe),
		TEST(second_key_with_a_passphrase),
		TEST(unbound),
		TEST(host_bound),
		TEST(keys_run_out),
		TEST(first_key_cannot_sign),
		TEST(no_mutual_algorithm),
		TEST(three_offers_in_a_flight),
		TEST(the_first_good_key_signs),
		TEST(the_second_good_key_signs),
		TEST(answers_in_a_flight_have_an_order),
		TEST(no_part_of_success_for_an_offer),
		TEST(a_hint_needs_no_flight),
		TEST(only_what_was_offered_is_signed),
		TEST(one_signature_an_answer),
		TEST(passwords),
		TEST(password_change),
		TEST(keyboard_interactive),
		TEST(too_many_prompts),
		TEST(preference_and_partial_success),
		TEST(batch_mode_asks_nobody),
		TEST(further_connections_do_not_ask),
		TEST(a_distrusted_host_gets_no_password),
		TEST(messages_out_of_order),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
