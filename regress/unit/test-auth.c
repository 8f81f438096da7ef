/* SPDX-License-Identifier: ISC */
/* User authentication as hpnsshd-auth speaks it. The test is the client and
 * the monitor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "server/auth/auth.h"

enum { MAX_AUTH_TRIES = 6 };

static struct auth *a;
static struct packet *packet;
static struct kex *kex;
static int net[2], mon[2];
static struct monitor_params params = { .peer = "peer", .remote = "peer" };

static int
set_up(void **state)
{
	const struct kex_hooks hooks = { 0 };
	const struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-ctr", "hmac-sha2-256", "none" };

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, net), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, mon), 0);
	packet = packet_new(net[0], net[0], true);
	assert_non_null(packet);
	assert_int_equal(kex_new(&kex, packet, &hooks, &mine, "SSH-2.0-a",
			     "SSH-2.0-b"),
	    0);
	a = auth_new(mon[0], packet, kex, &params);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	auth_free(a);
	kex_free(kex);
	packet_free(packet);
	for (int i = 0; i < 2; i++) {
		fd_close(&net[i]);
		fd_close(&mon[i]);
	}
	return 0;
}

static void
answer_user(void)
{
	struct buf b = { 0 };

	buf_put_bool(&b, true);
	buf_put_cstring(&b, "publickey,keyboard-interactive");
	buf_put_bool(&b, false); /* no banner */
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "ssh-ed25519"); /* server-sig-algs */
	buf_put_u32(&b, MAX_AUTH_TRIES);
	buf_put_bool(&b, false); /* a user that may log in */
	buf_put_bool(&b, false); /* no tickets */
	buf_put_bool(&b, false); /* nothing survives */
	assert_int_equal(fd_send_msg(mon[1], &b), 0);
	buf_clear(&b);
}

/* info: of the method; its first byte, or 0 for none. */
static void
answer_with(enum monitor_result result, uint8_t info)
{
	char methods[] = "publickey,keyboard-interactive";
	struct monitor_verdict v = { .result = result, .methods = methods };
	struct buf b = { 0 };

	if (info != 0)
		buf_put_u8(&v.info, info);
	buf_put_bool(&b, true);
	monitor_verdict_put(&b, &v);
	assert_int_equal(fd_send_msg(mon[1], &b), 0);
	buf_clear(&b);
	buf_clear(&v.info);
}

static void
answer_try(enum monitor_result result)
{
	answer_with(result, 0);
}

/* Takes what the monitor would have been asked. */
static void
drain(int fd)
{
	uint8_t bytes[4096];

	while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		;
}

static int
client_says(const struct buf *b)
{
	int r = auth_input(a, rd_from_buf(b));

	(void)!packet_flush(packet);
	drain(net[1]);
	drain(mon[1]);
	return r;
}

static int
ask_service(void)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, SSH_MSG_SERVICE_REQUEST);
	buf_put_cstring(&b, "ssh-userauth");
	r = client_says(&b);
	buf_clear(&b);
	return r;
}

static int
request_dialogue(void)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(&b, "somebody");
	buf_put_cstring(&b, "ssh-connection");
	buf_put_cstring(&b, "keyboard-interactive");
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	r = client_says(&b);
	buf_clear(&b);
	return r;
}

static int
query_key(void)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(&b, "somebody");
	buf_put_cstring(&b, "ssh-connection");
	buf_put_cstring(&b, "publickey");
	buf_put_bool(&b, false);
	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_cstring(&b, "blob");
	r = client_says(&b);
	buf_clear(&b);
	return r;
}

static void
dialogues_that_are_given_up_count(void **state)
{
	int begun = 0, r;

	(void)state;
	assert_int_equal(ask_service(), 0);
	answer_user();
	do {
		answer_try(MONITOR_PROMPTS);
		r = request_dialogue();
		begun++;
	} while (r == 0 && begun < 100);
	assert_int_equal(r, ERR_CLOSED);
	assert_non_null(auth_gave_up(a));
	/* The last one was not begun any more. */
	assert_int_equal(begun, MAX_AUTH_TRIES + 1);
}

/* Services and good keys are asked for at no cost of a try: not for ever. */
static void
messages_are_limited(void **state)
{
	int said = 1, r = 0;

	(void)state;
	assert_int_equal(ask_service(), 0);
	answer_user();
	while (r == 0 && said < 5000) {
		if (said % 2 == 0) {
			r = ask_service();
		} else {
			answer_try(MONITOR_KEY_OK);
			r = query_key();
		}
		said += r == 0;
	}
	assert_int_equal(r, ERR_CLOSED);
	assert_non_null(auth_gave_up(a));
	assert_int_equal(said, 1024);
}

/* ---- a method with several kinds of messages ----------------------------- */

static int
request_gssapi(uint32_t mechanisms)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(&b, "somebody");
	buf_put_cstring(&b, "ssh-connection");
	buf_put_cstring(&b, "gssapi-with-mic");
	buf_put_u32(&b, mechanisms);
	for (uint32_t i = 0; i < mechanisms && i < 2; i++)
		buf_put_cstring(&b, "oid");
	r = client_says(&b);
	buf_clear(&b);
	return r;
}

/* A message of one string. */
static int
say(uint8_t type)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, type);
	buf_put_cstring(&b, "text");
	r = client_says(&b);
	buf_clear(&b);
	return r;
}

static void
dialogues_of_several_kinds(void **state)
{
	(void)state;
	assert_int_equal(ask_service(), 0);
	/* In no dialogue: an error. */
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_TOKEN), ERR_PROTOCOL);
	answer_user();
	answer_with(MONITOR_PROMPTS, SSH_MSG_USERAUTH_GSSAPI_RESPONSE);
	assert_int_equal(request_gssapi(2), 0);
	answer_with(MONITOR_PROMPTS, SSH_MSG_USERAUTH_GSSAPI_TOKEN);
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_TOKEN), 0);
	answer_with(MONITOR_PROMPTS, 0); /* only waits for the next one */
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_TOKEN), 0);
	assert_int_equal(say(59), ERR_PROTOCOL);
	assert_int_equal(say(67), ERR_PROTOCOL);
	answer_with(MONITOR_SUCCESS, 0);
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_MIC), 0);
	assert_true(auth_succeeded(a));
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_MIC), ERR_PROTOCOL);
}

/* What was sent behind a request, before its refusal arrived, is passed over;
 * with the next request that is past. */
static void
late_messages_are_passed_over(void **state)
{
	(void)state;
	assert_int_equal(ask_service(), 0);
	answer_user();
	answer_try(MONITOR_FAILURE);
	assert_int_equal(request_gssapi(1), 0);
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_TOKEN), 0);
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_MIC), 0);
	answer_try(MONITOR_KEY_OK);
	assert_int_equal(query_key(), 0);
	assert_int_equal(say(SSH_MSG_USERAUTH_GSSAPI_TOKEN), ERR_PROTOCOL);
}

/* The monitor has no other messages sent than those of the dialogue. */
static void
made_messages_are_checked(void **state)
{
	(void)state;
	assert_int_equal(ask_service(), 0);
	answer_user();
	answer_with(MONITOR_PROMPTS, SSH_MSG_USERAUTH_SUCCESS);
	assert_int_equal(request_gssapi(1), ERR_PROTOCOL);
}

static void
lists_of_mechanisms_are_checked(void **state)
{
	(void)state;
	assert_int_equal(ask_service(), 0);
	answer_user();
	assert_int_equal(request_gssapi(0), ERR_PROTOCOL);
	assert_int_equal(request_gssapi(2049), ERR_PROTOCOL);
	assert_true(request_gssapi(3) < 0);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(dialogues_that_are_given_up_count),
		TEST(messages_are_limited),
		TEST(dialogues_of_several_kinds),
		TEST(late_messages_are_passed_over),
		TEST(made_messages_are_checked),
		TEST(lists_of_mechanisms_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
