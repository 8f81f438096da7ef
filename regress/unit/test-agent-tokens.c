/* SPDX-License-Identifier: ISC */
/*
 * Keys of tokens in the agent: PKCS#11 with helpers that are scripts, FIDO with
 * our helper and a token in software (so it runs in the folder of a build).
 * They work, hang, end and lie, and nobody else waits for them.
 */
#include "regress/unit/tokens-host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent-internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/p11-wire.h"
#include "keys/sk-client.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/agent-host.h"

/* A token that takes LATE_MS is late for those that wait for an answer. */
enum { SHORT_MS = 300, LATE_MS = 60 * 1000 };

static struct key *cert, *fido;
static char token[] = "regress/sk-token.so";

static struct agent_params usual = { .fingerprint = DIGEST_SHA256,
	.websafe = "", .providers = "*/lib.so,*/sk-token.so",
	.token_limit_ms = LATE_MS };

/* ---- PKCS#11 ------------------------------------------------------------- */

static void
test_provider(void **state)
{
	pid_t pid = 0;

	(void)state;
	helpers("exit");
	answer_list(1, false);
	answer_signature(2, "data");
	answer_signature(3, "data");
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(add_provider(library, ""), AGENT_FAILURE);
	assert_int_equal(agent_host_count(&t_host, fd), 1);
	/* Two at once: one waits for the other. */
	agent_host_send_sign(fd, key);
	agent_host_send_sign(other, key);
	assert_int_equal(answered(fd), AGENT_SIGN_RESPONSE);
	assert_int_equal(answered(other), AGENT_SIGN_RESPONSE);
	assert_int_equal(started(&pid), 1);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(remove_provider(), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&t_host, fd), 0);
	assert_true(is_gone(pid));
	assert_int_equal(remove_provider(), AGENT_FAILURE);
	assert_true(TAILQ_EMPTY(&t_host.agentd->providers));
}

static void
test_remove_all(void **state)
{
	struct buf b = { 0 };
	pid_t pid = 0;

	(void)state;
	helpers("exit");
	answer_list(1, false);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(started(&pid), 1);
	buf_put_u8(&b, AGENT_REMOVE_ALL);
	assert_int_equal(agent_host_ask(&t_host, other, &b), AGENT_SUCCESS);
	assert_true(is_gone(pid));
	/* Also of one that is not there yet. */
	helpers("exec sleep 60");
	put_provider(&b, library, "", NULL);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_goes_on();
	buf_put_u8(&b, AGENT_REMOVE_ALL);
	assert_int_equal(agent_host_ask(&t_host, other, &b), AGENT_SUCCESS);
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_true(TAILQ_EMPTY(&t_host.agentd->providers));
}

/* The PIN is asked for by those that want it, and a wrong one is told. */
static void
test_pin(void **state)
{
	char pin[P11_PIN_MAX + 2];

	(void)state;
	helpers("exit");
	answer_list(1, true);
	answer_list(2, true);
	assert_int_equal(add_provider(library, ""), AGENT_FAILURE);
	memset(pin, '1', sizeof pin);
	pin[sizeof pin - 1] = '\0';
	assert_int_equal(add_provider(library, pin), AGENT_FAILURE);
	assert_int_equal(add_provider(library, "1234"), AGENT_SUCCESS);
	assert_int_equal(remove_provider(), AGENT_SUCCESS);
	answer_status(2, P11_LIST, P11_PIN_WRONG);
	assert_int_equal(add_provider(library, "4321"), AGENT_FAILURE);
	assert_int_equal(agent_host_count(&t_host, fd), 0);
	assert_true(TAILQ_EMPTY(&t_host.agentd->providers));
}

static void
test_certs(void **state)
{
	struct buf b = { 0 }, more = { 0 };
	struct key *stranger = NULL, *strange;
	size_t list, one;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &stranger), 0);
	strange = make_cert_for(stranger);
	helpers("exit");
	answer_list(1, false);
	answer_signature(2, "data");
	answer_signature(3, "data");
	for (int only = 0; only <= 1; only++) {
		buf_clear(&more);
		buf_put_u8(&more, AGENT_CONSTRAIN_EXTENSION);
		buf_put_cstring(&more, AGENT_CONSTRAIN_CERTS);
		buf_put_bool(&more, only);
		list = buf_open_string(&more);
		for (int i = 0; i < 2; i++) {
			one = buf_open_string(&more);
			assert_int_equal(key_to_blob(i == 0 ? strange : cert,
			    &more), 0);
			buf_close_string(&more, one);
		}
		buf_close_string(&more, list);
		put_provider(&b, library, "", &more);
		assert_int_equal(agent_host_ask(&t_host, fd, &b),
		    AGENT_SUCCESS);
		assert_int_equal(agent_host_count(&t_host, fd), 2 - only);
		assert_int_equal(sign(fd, cert), AGENT_SIGN_RESPONSE);
		assert_int_equal(sign(fd, key),
		    only ? AGENT_FAILURE : AGENT_SIGN_RESPONSE);
		assert_int_equal(remove_provider(), AGENT_SUCCESS);
	}
	/* Constraints are kept: these keys are over at once. */
	buf_clear(&more);
	buf_put_u8(&more, AGENT_CONSTRAIN_LIFETIME);
	buf_put_u32(&more, 0);
	put_provider(&b, library, "", &more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&t_host, fd), 0);
	assert_true(TAILQ_EMPTY(&t_host.agentd->providers));
	buf_clear(&more);
	key_free(stranger);
	key_free(strange);
}

static void
test_hangs_when_added(void **state)
{
	struct buf b = { 0 };
	pid_t pid = 0;

	(void)state;
	t_host.agentd->p.token_limit_ms = SHORT_MS;
	helpers("exec sleep 60");
	put_provider(&b, library, "", NULL);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_goes_on();
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_int_equal(started(&pid), 1);
	assert_true(is_gone(pid));
	/* The client does not wait for it. */
	t_host.agentd->p.token_limit_ms = LATE_MS;
	put_provider(&b, library, "", NULL);
	agent_host_send(fd, &b);
	buf_clear(&b);
	while (started(&pid) < 2)
		assert_int_equal(loop_turn(t_host.loop, 20), 0);
	close(fd);
	assert_true(is_gone(pid));
	assert_true(TAILQ_EMPTY(&t_host.agentd->providers));
	fd = agent_host_client(&t_host);
}

static void
test_hangs_when_signing(void **state)
{
	pid_t pid = 0;

	(void)state;
	helpers("exec sleep 60");
	answer_list(1, false);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	t_host.agentd->p.token_limit_ms = SHORT_MS;
	agent_host_send_sign(fd, key);
	assert_goes_on();
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_int_equal(started(&pid), 1);
	assert_true(is_gone(pid));
	/* The key is there still, and another helper is tried. */
	answer_signature(2, "data");
	t_host.agentd->p.token_limit_ms = LATE_MS;
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
	assert_int_equal(started(&pid), 2);
}

/* One that ends, when idle or asked; one that signs something else; one that
 * says what cannot be. */
static void
test_ends_and_lies(void **state)
{
	struct buf bad = { 0 };
	pid_t pid = 0;

	(void)state;
	helpers("exit");
	answer_list(1, false);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(sign(fd, key), AGENT_FAILURE);
	answer_signature(2, "Data");
	assert_int_equal(sign(fd, key), AGENT_FAILURE);
	buf_put(&bad, "\2\0\377\377", 4);
	answer_is(2, &bad);
	buf_clear(&bad);
	assert_int_equal(started(&pid), 2);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_true(is_gone(pid));
	assert_int_equal(sign(fd, key), AGENT_FAILURE);
	assert_int_equal(started(&pid), 3);
	assert_true(is_gone(pid));
	answer_signature(2, "data");
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
	/* A helper that is gone does not forbid to add it once more. */
	(void)started(&pid);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_true(is_gone(pid));
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&t_host, fd), 1);
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
}

/* A client that goes while a token works: the next one's turn comes. */
static void
test_client_goes(void **state)
{
	int client = agent_host_client(&t_host);
	pid_t pid = 0;

	(void)state;
	helpers("exec sleep 60");
	answer_list(1, false);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	agent_host_send_sign(client, key);
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	close(client);
	t_host.agentd->p.token_limit_ms = SHORT_MS;
	assert_goes_on();
	(void)started(&pid);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_true(is_gone(pid));
	t_host.agentd->p.token_limit_ms = LATE_MS;
	answer_signature(2, "data");
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
}

/* Locking ends helpers, which are logged in. Then the PIN is asked for. */
static void
test_lock(void **state)
{
	pid_t pid = 0;

	(void)state;
	askpass("1234\n");
	helpers("exec sleep 60");
	answer_list(1, false);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(started(&pid), 1);
	agent_host_send_sign(fd, key);
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	assert_int_equal(lock(true), AGENT_SUCCESS);
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_true(is_gone(pid));
	assert_int_equal(lock(false), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&t_host, fd), 1);
	answer_status(2, P11_SIGN, P11_NEEDS_PIN);
	answer_signature(3, "data");
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
	assert_asked("|Enter PIN for 'my token': \n");
	/* It is asked for once for a signature. */
	assert_int_equal(lock(true), AGENT_SUCCESS);
	assert_int_equal(lock(false), AGENT_SUCCESS);
	answer_status(3, P11_SIGN, P11_NEEDS_PIN);
	askpass("1\n");
	assert_int_equal(sign(fd, key), AGENT_FAILURE);
	assert_asked("|Enter PIN for 'my token': \n");
}

/* ---- PIN windows that nobody answers ------------------------------------- */

/* One that says what DIR/say has as soon as it has something. */
static void
slow_askpass(void)
{
	char text[512], *path;

	askpass("");
	snprintf(text, sizeof text, "#!/bin/sh\ncd %s\necho $$ >window\n"
		 "until test -s say; do sleep 0.02; done\ncat say\n",
	    temp_dir);
	path = temp_file("askpass", text);
	assert_int_equal(chmod(path, 0700), 0);
	free(path);
	drop_file("window");
}

static pid_t
wait_for_window(void)
{
	uint64_t began = clock_ms();
	char path[128];
	struct buf b = { 0 };
	pid_t pid = 0;

	snprintf(path, sizeof path, "%s/window", temp_dir);
	while (pid == 0 && clock_ms() - began < LONG_MS) {
		char *text;

		assert_int_equal(loop_turn(t_host.loop, 20), 0);
		buf_reset(&b);
		if (file_read(path, &b, 100) != 0)
			continue;
		assert_non_null(text = buf_dup_string(&b));
		pid = (pid_t)atoi(text);
		free(text);
	}
	buf_clear(&b);
	assert_int_not_equal(pid, 0);
	return pid;
}

/* The window is closed, and who waits for it refused. Who needs no PIN has
 * not waited. */
static void
test_pin_not_given(void **state)
{
	int third = agent_host_client(&t_host);
	pid_t window, pid = 0;

	(void)state;
	slow_askpass();
	helpers("exec sleep 60");
	answer_list(1, false);
	answer_status(2, P11_SIGN, P11_NEEDS_PIN);
	answer_signature(3, "data");
	answer_status(4, P11_SIGN, P11_NEEDS_PIN);
	answer_signature(5, "data");
	answer_signature(6, "data");
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	t_host.agentd->p.token_limit_ms = 4 * SHORT_MS;
	agent_host_send_sign(fd, key);
	window = wait_for_window();
	t_host.agentd->p.token_limit_ms = LATE_MS;
	assert_int_equal(sign(other, key), AGENT_SIGN_RESPONSE);
	agent_host_send_sign(third, key);
	assert_int_equal(sign(other, key), AGENT_SIGN_RESPONSE);
	assert_int_equal(kill(window, 0), 0);
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_int_equal(answered(third), AGENT_FAILURE);
	assert_true(is_gone(window));
	assert_int_equal(t_host.agentd->dialogs, 0);
	/* Nothing else has ended. */
	assert_int_equal(sign(fd, key), AGENT_SIGN_RESPONSE);
	assert_int_equal(started(&pid), 1);
	close(third);
}

/* The PIN comes while the helper signs for another one; and its asker goes. */
static void
test_pin_while_busy(void **state)
{
	int third = agent_host_client(&t_host);
	char path[128];
	struct buf b = { 0 };

	(void)state;
	slow_askpass();
	helpers("until cat answer.$n 2>/dev/null; do sleep 0.02; done");
	answer_list(1, false);
	answer_status(2, P11_SIGN, P11_NEEDS_PIN);
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	agent_host_send_sign(fd, key);
	(void)wait_for_window();
	agent_host_send_sign(other, key);
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	free(temp_file("say", "2580\n"));
	while (t_host.agentd->dialogs > 0)
		assert_int_equal(loop_turn(t_host.loop, 20), 0);
	answer_signature(4, "data");
	answer_signature(3, "data");
	assert_int_equal(answered(other), AGENT_SIGN_RESPONSE);
	assert_int_equal(answered(fd), AGENT_SIGN_RESPONSE);
	snprintf(path, sizeof path, "%s/asked", temp_dir);
	assert_int_equal(file_read(path, &b, 10000), 0);
	assert_non_null(memmem(buf_data(&b), buf_len(&b), "2580", 4));
	/* A window goes with the client that wanted it; then comes the next. */
	slow_askpass();
	answer_status(5, P11_SIGN, P11_NEEDS_PIN);
	agent_host_send_sign(third, key);
	(void)wait_for_window();
	answer_status(6, P11_SIGN, P11_NEEDS_PIN);
	agent_host_send_sign(fd, key);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	drop_file("window");
	answer_status(7, P11_SIGN, P11_NEEDS_PIN);
	answer_signature(8, "data");
	close(third);
	(void)wait_for_window();
	free(temp_file("say", "2580\n"));
	assert_int_equal(answered(fd), AGENT_SIGN_RESPONSE);
	buf_clear(&b);
}

/* ---- who may name a provider --------------------------------------------- */

static void
test_rules(void **state)
{
	struct buf b = { 0 }, more = { 0 };
	pid_t pid = 0;
	char *bad;

	(void)state;
	helpers("exit");
	answer_list(1, false);
	bad = temp_file("bad.so", "");
	assert_int_equal(add_provider(bad, ""), AGENT_FAILURE);
	free(bad);
	assert_int_equal(add_provider("/not/there/lib.so", ""),
	    AGENT_FAILURE);
	/* What cannot be kept. */
	buf_put_u8(&more, 7);
	put_provider(&b, library, "", &more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_FAILURE);
	buf_clear(&more);
	/* Whoever tried to bind is on another host. */
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, AGENT_EXT_BIND);
	assert_int_equal(agent_host_ask(&t_host, fd, &b),
	    AGENT_EXTENSION_FAILURE);
	assert_int_equal(add_provider(library, ""), AGENT_FAILURE);
	buf_put_u8(&more, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(&more, AGENT_CONSTRAIN_SK_PROVIDER);
	buf_put_cstring(&more, token);
	agent_host_put_add(&b, fido, "f", &more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_FAILURE);
	agent_host_put_add(&b, fido, "f", &more);
	assert_int_equal(agent_host_ask(&t_host, other, &b), AGENT_SUCCESS);
	buf_clear(&more);
	assert_int_equal(started(&pid), 0);
	t_host.agentd->p.remote_providers = true;
	assert_int_equal(add_provider(library, ""), AGENT_SUCCESS);
	assert_int_equal(started(&pid), 1);
}

/* ---- FIDO ---------------------------------------------------------------- */

static void
token_is(const char *how)
{
	assert_int_equal(setenv("SK_TOKEN", how, 1), 0);
	assert_int_equal(setenv("SSH_SK_HELPER", "./hpnssh-sk-helper", 1), 0);
}

static struct key *
make_fido(const char *application)
{
	const struct sk_enroll e = { .type = "ed25519-sk",
		.application = application, .flags = KEY_SK_TOUCH,
		.challenge = { (const uint8_t *)"c", 1 } };
	const struct sk_params p = { .provider = token };
	struct sk_enrolled made;
	struct key *k;

	token_is("");
	assert_int_equal(sk_client_enroll(&p, &e, &made), 0);
	k = made.key;
	made.key = NULL;
	sk_enrolled_clear(&made);
	return k;
}

static void
add_fido(const struct key *k)
{
	struct buf b = { 0 }, more = { 0 };

	buf_put_u8(&more, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(&more, AGENT_CONSTRAIN_SK_PROVIDER);
	buf_put_cstring(&more, token);
	agent_host_put_add(&b, k, "f", &more);
	buf_clear(&more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_SUCCESS);
}

/* The notice is there while the token waits; then it is taken away. */
static void
test_fido(void **state)
{
	char want[256], *fp = key_fingerprint(fido, DIGEST_SHA256);

	(void)state;
	askpass("1234\n");
	token_is("");
	add_fido(fido);
	agent_host_send_sign(fd, fido);
	agent_host_send_sign(other, fido);
	assert_int_equal(answered(fd), AGENT_SIGN_RESPONSE);
	assert_int_equal(answered(other), AGENT_SIGN_RESPONSE);
	assert_int_equal(t_host.agentd->dialogs, 0);
	token_is("pin");
	askpass("1234\n");
	assert_int_equal(sign(fd, fido), AGENT_SIGN_RESPONSE);
	snprintf(want, sizeof want, "|Enter PIN and confirm user presence for "
		 "ED25519-SK key %s: \n", fp);
	assert_asked(want);
	assert_int_equal(setenv("SSH_ASKPASS_REQUIRE", "never", 1), 0);
	assert_int_equal(sign(fd, fido), AGENT_FAILURE);
	askpass("9\n");
	assert_int_equal(sign(fd, fido), AGENT_FAILURE);
	askpass("");
	assert_int_equal(sign(fd, fido), AGENT_FAILURE);
	assert_int_equal(t_host.agentd->dialogs, 0);
	assert_true(TAILQ_EMPTY(&t_host.agentd->fido.jobs));
	free(fp);
}

static void
test_fido_refused(void **state)
{
	struct buf b = { 0 }, more = { 0 };
	char *bad = temp_file("bad.so", "");

	(void)state;
	buf_put_u8(&more, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(&more, AGENT_CONSTRAIN_SK_PROVIDER);
	buf_put_cstring(&more, bad);
	agent_host_put_add(&b, fido, "f", &more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_FAILURE);
	buf_clear(&more);
	free(bad);
	/* Of a key in memory there is no provider. */
	buf_put_u8(&more, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(&more, AGENT_CONSTRAIN_SK_PROVIDER);
	buf_put_cstring(&more, token);
	agent_host_put_add(&b, key, "k", &more);
	assert_int_equal(agent_host_ask(&t_host, fd, &b), AGENT_FAILURE);
	buf_clear(&more);
	assert_int_equal(agent_host_count(&t_host, fd), 0);
}

/* "data" is neither a login nor a file. */
static void
test_fido_websafe(void **state)
{
	struct key *web = make_fido("https://bank");

	(void)state;
	add_fido(web);
	assert_int_equal(sign(fd, web), AGENT_FAILURE);
	t_host.agentd->p.websafe = NULL;
	assert_int_equal(sign(fd, web), AGENT_SIGN_RESPONSE);
	key_free(web);
}

static void
test_fido_bad(void **state)
{
	static const char *const hows[] = { "crash", "leave", "liar", "empty",
		"huge", "nodevice" };

	(void)state;
	askpass(NULL);
	add_fido(fido);
	for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
		token_is(hows[i]);
		assert_int_equal(sign(fd, fido), AGENT_FAILURE);
	}
	token_is("");
	assert_int_equal(sign(fd, fido), AGENT_SIGN_RESPONSE);
}

/* A token that hangs; a client that goes, a key that goes, and the lock. */
static void
test_fido_hangs(void **state)
{
	struct buf b = { 0 };

	(void)state;
	askpass("1234\n");
	add_fido(fido);
	token_is("hang");
	t_host.agentd->p.token_limit_ms = SHORT_MS;
	agent_host_send_sign(fd, fido);
	assert_goes_on();
	assert_int_equal(answered(fd), AGENT_FAILURE);
	t_host.agentd->p.token_limit_ms = LATE_MS;
	agent_host_send_sign(fd, fido);
	while (t_host.agentd->dialogs == 0)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	token_is("");
	agent_host_send_sign(other, fido);
	/* It has no turn while the key waits for the other's touch. */
	assert_false(agent_host_answer(&t_host, other, &b, SHORT_MS));
	close(fd);
	assert_int_equal(answered(other), AGENT_SIGN_RESPONSE);
	fd = agent_host_client(&t_host);
	token_is("hang");
	agent_host_send_sign(fd, fido);
	while (t_host.agentd->dialogs == 0)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	assert_int_equal(lock(true), AGENT_SUCCESS);
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_int_equal(lock(false), AGENT_SUCCESS);
	agent_host_send_sign(fd, fido);
	while (t_host.agentd->dialogs == 0)
		assert_int_equal(loop_turn(t_host.loop, 5), 0);
	buf_put_u8(&b, AGENT_REMOVE_ALL);
	assert_int_equal(agent_host_ask(&t_host, other, &b), AGENT_SUCCESS);
	assert_int_equal(answered(fd), AGENT_FAILURE);
	assert_true(TAILQ_EMPTY(&t_host.agentd->fido.jobs));
	assert_int_equal(t_host.agentd->dialogs, 0);
}

/* ---- all ----------------------------------------------------------------- */

static int
make_all(void **state)
{
	int r = temp_make(state);

	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	cert = make_cert_for(key);
	fido = make_fido("ssh:unit");
	library = temp_file("lib.so", "");
	return r;
}

static int
free_all(void **state)
{
	key_free(key);
	key_free(cert);
	key_free(fido);
	free(library);
	return temp_remove(state);
}

static int
set_up(void **state)
{
	(void)state;
	askpass(NULL);
	agent_host_open(&t_host, &usual);
	fd = agent_host_client(&t_host);
	other = agent_host_client(&t_host);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(fd);
	close(other);
	agent_host_close(&t_host);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_provider),
		TEST(test_remove_all),
		TEST(test_pin),
		TEST(test_certs),
		TEST(test_hangs_when_added),
		TEST(test_hangs_when_signing),
		TEST(test_ends_and_lies),
		TEST(test_client_goes),
		TEST(test_lock),
		TEST(test_pin_not_given),
		TEST(test_pin_while_busy),
		TEST(test_rules),
		TEST(test_fido),
		TEST(test_fido_refused),
		TEST(test_fido_websafe),
		TEST(test_fido_bad),
		TEST(test_fido_hangs),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_all, free_all);
}
