/* SPDX-License-Identifier: ISC */
/*
 * The agent: requests and answers, who waits for whom, and what a client may
 * cost.
 */
#include "regress/unit/agent-host.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent-internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "regress/unit/make-cert.h"

static struct agent_host host;
static struct key *key, *rsa, *cert, *rsa_cert;
static int fd;
static const struct agent_params usual = { .fingerprint = DIGEST_SHA256,
	.websafe = "" };

static struct key *
private_cert(const struct key *plain)
{
	struct key *c = make_cert_for(plain);

	assert_true(key_is_private(c));
	return c;
}

static int
make_keys(void **state)
{
	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	assert_int_equal(key_generate("rsa", 2048, &rsa), 0);
	cert = private_cert(key);
	rsa_cert = private_cert(rsa);
	return temp_make(state);
}

static int
free_keys(void **state)
{
	key_free(key);
	key_free(rsa);
	key_free(cert);
	key_free(rsa_cert);
	return temp_remove(state);
}

static int
set_up(void **state)
{
	(void)state;
	unsetenv("DISPLAY");
	unsetenv("WAYLAND_DISPLAY");
	setenv("SSH_ASKPASS_REQUIRE", "force", 1);
	agent_host_open(&host, &usual);
	fd = agent_host_client(&host);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(fd);
	agent_host_close(&host);
	return 0;
}

static int
ask_type(int client, uint8_t type)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	return agent_host_ask(&host, client, &b);
}

static int
add(const struct key *k, const char *comment, const struct buf *more)
{
	struct buf b = { 0 };

	agent_host_put_add(&b, k, comment, more);
	return agent_host_ask(&host, fd, &b);
}

static int
add_confirmed(const struct key *k)
{
	struct buf more = { 0 };
	int type;

	buf_put_u8(&more, AGENT_CONSTRAIN_CONFIRM);
	type = add(k, "confirmed", &more);
	buf_clear(&more);
	return type;
}

static int
sign_at(int client, const struct key *k, uint32_t flags)
{
	struct buf b = { 0 };

	agent_host_put_sign(&b, k, "data", flags);
	return agent_host_ask(&host, client, &b);
}

static int
lock(int client, bool on, const char *passphrase)
{
	struct buf b = { 0 };

	agent_host_put_lock(&b, on, passphrase);
	return agent_host_ask(&host, client, &b);
}

/* ---- keys --------------------------------------------------------------- */

static void
check_signature(const struct key *k, uint32_t flags, const char *alg)
{
	struct buf b = { 0 };
	struct rd rd;

	agent_host_put_sign(&b, k, "data", flags);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_true(agent_host_answer(&host, fd, &b, 60000));
	rd = rd_from_buf(&b);
	assert_int_equal(rd_u8(&rd), AGENT_SIGN_RESPONSE);
	assert_int_equal(key_verify(key_identity(k), alg, span_text("data"),
			     rd_string(&rd)), 0);
	assert_int_equal(rd_end(&rd), 0);
	buf_clear(&b);
}

static void
test_sign(void **state)
{
	(void)state;
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	assert_int_equal(add(key, "k", NULL), AGENT_SUCCESS);
	assert_int_equal(add(rsa, "r", NULL), AGENT_SUCCESS);
	assert_int_equal(add(cert, "c", NULL), AGENT_SUCCESS);
	assert_int_equal(add(rsa_cert, "rc", NULL), AGENT_SUCCESS);
	assert_int_equal(add(rsa_cert, "again", NULL), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 4);
	check_signature(key, 0, "ssh-ed25519");
	check_signature(key, AGENT_SIGN_RSA_SHA2_512, "ssh-ed25519");
	check_signature(cert, 0, "ssh-ed25519");
	check_signature(rsa, AGENT_SIGN_RSA_SHA2_256, "rsa-sha2-256");
	check_signature(rsa, AGENT_SIGN_RSA_SHA2_512, "rsa-sha2-512");
	check_signature(rsa_cert, AGENT_SIGN_RSA_SHA2_512, "rsa-sha2-512");
	check_signature(rsa, 0, "ssh-rsa");
	assert_int_equal(sign_at(fd, key, 8), AGENT_FAILURE);
}

static void
test_remove(void **state)
{
	struct buf b = { 0 };
	size_t mark;

	(void)state;
	assert_int_equal(add(key, "k", NULL), AGENT_SUCCESS);
	assert_int_equal(add(cert, "c", NULL), AGENT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		buf_put_u8(&b, AGENT_REMOVE_IDENTITY);
		mark = buf_open_string(&b);
		assert_int_equal(key_to_blob(key, &b), 0);
		buf_close_string(&b, mark);
		assert_int_equal(agent_host_ask(&host, fd, &b),
		    i == 0 ? AGENT_SUCCESS : AGENT_FAILURE);
		assert_int_equal(agent_host_count(&host, fd), 1);
	}
	assert_int_equal(sign_at(fd, cert, 0), AGENT_SIGN_RESPONSE);
	assert_int_equal(ask_type(fd, AGENT_REMOVE_ALL), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 0);
	assert_int_equal(add(key, "k", NULL), AGENT_SUCCESS);
	assert_int_equal(ask_type(fd, AGENT_REMOVE_ALL_V1), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 0);
}

/* Public halves, strange constraints, and what is not there. */
static void
test_refused(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_put_u8(&b, 3);
	assert_int_equal(add(key, "k", &b), AGENT_FAILURE);
	buf_clear(&b);
	buf_put_u8(&b, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(&b, AGENT_CONSTRAIN_SK_PROVIDER);
	buf_put_cstring(&b, "internal");
	assert_int_equal(add(key, "k", &b), AGENT_FAILURE);
	buf_clear(&b);
	assert_int_equal(ask_type(fd, AGENT_ADD_IDENTITY), AGENT_FAILURE);
	assert_int_equal(ask_type(fd, AGENT_SIGN_REQUEST), AGENT_FAILURE);
	assert_int_equal(ask_type(fd, AGENT_ADD_PROVIDER), AGENT_FAILURE);
	assert_int_equal(ask_type(fd, 200), AGENT_FAILURE);
	assert_int_equal(agent_host_count(&host, fd), 0);
}

static void
test_lifetime(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_put_u8(&b, AGENT_CONSTRAIN_LIFETIME);
	buf_put_u32(&b, 0);
	assert_int_equal(add(key, "over", &b), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 0);
	buf_clear(&b);
	buf_put_u8(&b, AGENT_CONSTRAIN_LIFETIME);
	buf_put_u32(&b, 1);
	assert_int_equal(add(key, "short", &b), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 1);
	for (int i = 0; i < 400 && agent_host_count(&host, fd) > 0; i++)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(agent_host_count(&host, fd), 0);
	buf_clear(&b);
}

static void
test_query(void **state)
{
	struct buf b = { 0 };
	struct rd rd;

	(void)state;
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, "query");
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_true(agent_host_answer(&host, fd, &b, 60000));
	rd = rd_from_buf(&b);
	assert_int_equal(rd_u8(&rd), AGENT_EXTENSION_RESPONSE);
	assert_true(span_equals(rd_string(&rd), "query"));
	assert_true(span_equals(rd_string(&rd), "session-bind@openssh.com"));
	assert_int_equal(rd_end(&rd), 0);
	buf_clear(&b);
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, "new@example.com");
	assert_int_equal(agent_host_ask(&host, fd, &b), AGENT_FAILURE);
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, "session-bind@openssh.com");
	assert_int_equal(agent_host_ask(&host, fd, &b),
	    AGENT_EXTENSION_FAILURE);
}

/* ---- the lock ----------------------------------------------------------- */

static void
test_lock(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(add(key, "k", NULL), AGENT_SUCCESS);
	assert_int_equal(lock(fd, false, "word"), AGENT_FAILURE);
	assert_int_equal(lock(fd, true, ""), AGENT_FAILURE);
	assert_int_equal(lock(fd, true, "word"), AGENT_SUCCESS);
	assert_int_equal(lock(fd, true, "word"), AGENT_FAILURE);
	assert_int_equal(agent_host_count(&host, fd), 0);
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	assert_int_equal(add(rsa, "r", NULL), AGENT_FAILURE);
	assert_int_equal(ask_type(fd, AGENT_REMOVE_ALL), AGENT_FAILURE);
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, "query");
	assert_int_equal(agent_host_ask(&host, fd, &b), AGENT_FAILURE);
	buf_put_u8(&b, AGENT_EXTENSION);
	buf_put_cstring(&b, "session-bind@openssh.com");
	assert_int_equal(agent_host_ask(&host, fd, &b),
	    AGENT_EXTENSION_FAILURE);
	assert_int_equal(lock(fd, false, "word"), AGENT_SUCCESS);
	assert_int_equal(agent_host_count(&host, fd), 1);
	assert_int_equal(sign_at(fd, key, 0), AGENT_SIGN_RESPONSE);
}

/* Sends a wrong passphrase and one more request, and has another client served
 * meanwhile: how long both took until then. */
static uint64_t
other_is_served(int other, const char *wrong)
{
	struct buf b = { 0 };
	uint64_t began = clock_ms();

	agent_host_put_lock(&b, false, wrong);
	agent_host_send(fd, &b);
	buf_clear(&b);
	buf_put_u8(&b, AGENT_REQUEST_IDENTITIES);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_int_equal(agent_host_count(&host, other), 0);
	return clock_ms() - began;
}

/* A wrong passphrase makes its client wait, 100 ms more each time, and nobody
 * else. On a machine that is busy, one of several tries shows that. */
static void
test_wrong_passphrase(void **state)
{
	struct buf answer = { 0 };
	int other = agent_host_client(&host);
	uint64_t began, delay_ms = 300, took_ms;
	char wrong[] = "w0";

	(void)state;
	assert_int_equal(lock(fd, true, "word"), AGENT_SUCCESS);
	assert_int_equal(lock(fd, false, "w1"), AGENT_FAILURE);
	assert_int_equal(lock(fd, false, "w2"), AGENT_FAILURE);
	do {
		wrong[1]++;
		began = clock_ms();
		took_ms = other_is_served(other, wrong);
		/* Both of its own requests waited. */
		assert_true(agent_host_answer(&host, fd, &answer, 60000));
		assert_in_range(clock_ms() - began, delay_ms, 60000);
		assert_int_equal(buf_data(&answer)[0], AGENT_FAILURE);
		buf_clear(&answer);
		assert_true(agent_host_answer(&host, fd, &answer, 60000));
		assert_int_equal(buf_data(&answer)[0],
		    AGENT_IDENTITIES_ANSWER);
		buf_clear(&answer);
		delay_ms += 100;
	} while (took_ms >= delay_ms - 100 && delay_ms < 900);
	assert_in_range(took_ms, 0, delay_ms - 101);
	assert_int_equal(lock(other, false, "word"), AGENT_SUCCESS);
	close(other);
}

/* Many connections do not guess faster: ten in a second, not hundreds. */
static void
test_many_guesses(void **state)
{
	enum { GUESSES = 40, MS = 500 };
	struct buf b = { 0 }, answer = { 0 };
	uint64_t began;
	int fds[GUESSES], answered = 0;

	(void)state;
	assert_int_equal(lock(fd, true, "word"), AGENT_SUCCESS);
	agent_host_put_lock(&b, false, "wrong");
	for (int i = 0; i < GUESSES; i++) {
		fds[i] = agent_host_client(&host);
		agent_host_send(fds[i], &b);
	}
	buf_clear(&b);
	began = clock_ms();
	while (clock_ms() - began < MS)
		assert_int_equal(loop_turn(host.loop, 5), 0);
	/* Of the time that has passed, which may be more. */
	assert_in_range(host.agentd->wrong, 1, (clock_ms() - began) / 100 + 1);
	for (int i = 0; i < GUESSES; i++) {
		answered += agent_host_answer(&host, fds[i], &answer, 0);
		buf_clear(&answer);
		close(fds[i]);
	}
	assert_in_range(answered, 0, (clock_ms() - began) / 100 + 1);
}

/* ---- confirming --------------------------------------------------------- */

/* A program in place of a window: it notes the question in DIR/asked, waits
 * for DIR/go, prints what that says and exits with 0 if it begins with y or is
 * empty. */
static void
use_askpass(void)
{
	char text[1024], path[128];
	char *program;

	snprintf(text, sizeof text, "#!/bin/sh\n"
		 "printf '%%s %%s\\n' \"$SSH_ASKPASS_PROMPT\" \"$1\" "
		 ">>%s/asked\n"
		 "until test -e %s/go; do sleep 0.02; done\n"
		 "cat %s/go\ncase $(cat %s/go) in y*|'') exit 0;; esac\n"
		 "exit 1\n", temp_dir, temp_dir, temp_dir, temp_dir);
	program = temp_file("askpass", text);
	assert_int_equal(chmod(program, 0700), 0);
	assert_int_equal(setenv("SSH_ASKPASS", program, 1), 0);
	free(program);
	snprintf(path, sizeof path, "%s/asked", temp_dir);
	(void)unlink(path);
	snprintf(path, sizeof path, "%s/go", temp_dir);
	(void)unlink(path);
}

/* In one step: the program must not see half of it. */
static void
answer_questions(const char *text)
{
	char to[128], *from = temp_file("going", text);

	snprintf(to, sizeof to, "%s/go", temp_dir);
	assert_int_equal(rename(from, to), 0);
	free(from);
}

static size_t
questions(struct buf *text)
{
	char path[128];
	size_t n = 0;

	snprintf(path, sizeof path, "%s/asked", temp_dir);
	buf_clear(text);
	(void)!file_read(path, text, 100000);
	for (size_t i = 0; i < buf_len(text); i++)
		n += buf_data(text)[i] == '\n';
	return n;
}

static int
type_of_answer(int client)
{
	struct buf answer = { 0 };
	int type = -1;

	if (agent_host_answer(&host, client, &answer, 60000))
		type = buf_data(&answer)[0];
	buf_clear(&answer);
	return type;
}

/* One client waits for its user. Others do not, and its own next request comes
 * behind. */
static void
test_confirm(void **state)
{
	int other = agent_host_client(&host);
	struct buf b = { 0 }, text = { 0 };
	const char *want = "confirm Allow use of key confirmed?\n"
			   "Key fingerprint SHA256:";

	(void)state;
	use_askpass();
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	assert_int_equal(add(rsa, "free", NULL), AGENT_SUCCESS);
	agent_host_send_sign(fd, key);
	buf_put_u8(&b, AGENT_REQUEST_IDENTITIES);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_false(agent_host_answer(&host, fd, &b, 100));
	assert_int_equal(sign_at(other, rsa, 0), AGENT_SIGN_RESPONSE);
	assert_int_equal(agent_host_count(&host, other), 2);
	answer_questions("yes\n");
	assert_int_equal(type_of_answer(fd), AGENT_SIGN_RESPONSE);
	assert_int_equal(type_of_answer(fd), AGENT_IDENTITIES_ANSWER);
	assert_int_equal(questions(&text), 2);
	assert_memory_equal(buf_data(&text), want, strlen(want));
	assert_int_equal(buf_data(&text)[buf_len(&text) - 2], '.');
	/* It is asked each time. */
	answer_questions("no\n");
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	answer_questions("yes, but\n");
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	answer_questions("");
	assert_int_equal(sign_at(fd, key, 0), AGENT_SIGN_RESPONSE);
	assert_int_equal(questions(&text), 8);
	assert_int_equal(host.agentd->dialogs, 0);
	buf_clear(&text);
	close(other);
}

static void
test_cannot_ask(void **state)
{
	(void)state;
	use_askpass();
	answer_questions("yes\n");
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	assert_int_equal(unsetenv("SSH_ASKPASS_REQUIRE"), 0);
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	assert_int_equal(setenv("DISPLAY", ":0", 1), 0);
	assert_int_equal(sign_at(fd, key, 0), AGENT_SIGN_RESPONSE);
	assert_int_equal(setenv("SSH_ASKPASS_REQUIRE", "never", 1), 0);
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
	assert_int_equal(setenv("SSH_ASKPASS_REQUIRE", "force", 1), 0);
	assert_int_equal(setenv("SSH_ASKPASS", "/nonexistent", 1), 0);
	assert_int_equal(sign_at(fd, key, 0), AGENT_FAILURE);
}

/* What was confirmed is not done if the key is gone by then, was changed, or
 * the agent is locked. */
static void
test_changed_meanwhile(void **state)
{
	int other = agent_host_client(&host);
	struct buf text = { 0 };

	(void)state;
	use_askpass();
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	agent_host_send_sign(other, key);
	while (questions(&text) == 0)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(ask_type(fd, AGENT_REMOVE_ALL), AGENT_SUCCESS);
	answer_questions("yes\n");
	assert_int_equal(type_of_answer(other), AGENT_FAILURE);

	use_askpass();
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	agent_host_send_sign(other, key);
	while (questions(&text) == 0)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(lock(fd, true, "word"), AGENT_SUCCESS);
	answer_questions("yes\n");
	assert_int_equal(type_of_answer(other), AGENT_FAILURE);
	assert_int_equal(lock(fd, false, "word"), AGENT_SUCCESS);

	/* It is another entry, so it is asked once more. */
	use_askpass();
	agent_host_send_sign(other, key);
	while (questions(&text) == 0)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	answer_questions("yes\n");
	assert_int_equal(type_of_answer(other), AGENT_SIGN_RESPONSE);
	assert_int_equal(questions(&text), 4);
	buf_clear(&text);
	close(other);
}

/* A client that goes takes its question with it. There are never many. */
static void
test_many_questions(void **state)
{
	enum { ASKING = 12 };
	int fds[ASKING], refused = 0;
	struct buf answer = { 0 };

	(void)state;
	use_askpass();
	assert_int_equal(add_confirmed(key), AGENT_SUCCESS);
	for (int i = 0; i < ASKING; i++) {
		fds[i] = agent_host_client(&host);
		agent_host_send_sign(fds[i], key);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(host.agentd->dialogs, 8);
	for (int i = 0; i < ASKING; i++) {
		refused += agent_host_answer(&host, fds[i], &answer, 0);
		close(fds[i]);
	}
	buf_clear(&answer);
	assert_int_equal(refused, ASKING - 8);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_int_equal(host.agentd->dialogs, 0);
	assert_int_equal(agent_host_count(&host, fd), 1);
}

/* ---- keys with a signer ------------------------------------------------- */

static struct {
	signer_done_fn done;
	void *arg;
	int cancelled, released;
} token;

static int
token_sign(void *k, const char *alg, struct span data, signer_done_fn done,
    void *arg, void **job)
{
	assert_ptr_equal(k, &token);
	assert_string_equal(alg, "ssh-ed25519");
	assert_true(span_equals(data, "data"));
	token.done = done;
	token.arg = arg;
	*job = &token;
	return 0;
}

static void
token_cancel(void *job)
{
	assert_ptr_equal(job, &token);
	token.cancelled++;
	token.done = NULL;
}

static void
token_release(void *k)
{
	assert_ptr_equal(k, &token);
	token.released++;
	if (token.done != NULL)
		token.done(token.arg, ERR_CANCELLED, (struct span){ 0 });
	token.done = NULL;
}

static const struct signer_ops token_ops = { token_sign, token_cancel,
	token_release };

static void
add_token(const char *application)
{
	struct identity *id = NULL;

	memset(&token, 0, sizeof token);
	assert_int_equal(identity_new(key, &id), 0);
	assert_non_null(id->comment = strdup("token"));
	id->ops = &token_ops;
	id->signer = &token;
	if (application != NULL)
		assert_non_null(id->application = strdup(application));
	assert_int_equal(identities_add(host.agentd->keys, id), 0);
}

static void
begin_signature(int client)
{
	agent_host_send_sign(client, key);
	for (int i = 0; i < 100 && token.done == NULL; i++)
		assert_int_equal(loop_turn(host.loop, 10), 0);
	assert_non_null(token.done);
}

static void
test_signer(void **state)
{
	int other = agent_host_client(&host);
	struct buf answer = { 0 };

	(void)state;
	add_token(NULL);
	begin_signature(fd);
	/* Its next request stays behind. */
	agent_host_put_add(&answer, rsa, "r", NULL);
	agent_host_send(fd, &answer);
	buf_clear(&answer);
	assert_int_equal(agent_host_count(&host, other), 1);
	token.done(token.arg, 0, span_text("a signature"));
	token.done = NULL;
	assert_true(agent_host_answer(&host, fd, &answer, 60000));
	assert_int_equal(buf_data(&answer)[0], AGENT_SIGN_RESPONSE);
	assert_non_null(memmem(buf_data(&answer), buf_len(&answer),
	    "a signature", 11));
	buf_clear(&answer);
	assert_int_equal(type_of_answer(fd), AGENT_SUCCESS);

	/* The client goes: it is cancelled. */
	begin_signature(other);
	close(other);
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(host.loop, 5), 0);
	assert_int_equal(token.cancelled, 1);
	/* The token goes: it fails. */
	other = agent_host_client(&host);
	begin_signature(fd);
	assert_int_equal(ask_type(other, AGENT_REMOVE_ALL), AGENT_SUCCESS);
	assert_int_equal(token.released, 1);
	assert_int_equal(type_of_answer(fd), AGENT_FAILURE);
	close(other);
}

static int
sign_as(const char *application)
{
	add_token(application);
	agent_host_send_sign(fd, key);
	for (int i = 0; i < 5; i++)
		assert_int_equal(loop_turn(host.loop, 5), 0);
	if (token.done == NULL)
		return type_of_answer(fd);
	token.done(token.arg, 0, span_text("s"));
	token.done = NULL;
	return type_of_answer(fd);
}

/* "data" is neither a login nor a file. */
static void
test_websafe(void **state)
{
	(void)state;
	assert_int_equal(sign_as("ssh:"), AGENT_SIGN_RESPONSE);
	assert_int_equal(sign_as("ssh:work"), AGENT_SIGN_RESPONSE);
	assert_int_equal(sign_as("https://bank"), AGENT_FAILURE);
	host.agentd->p.websafe = "http:*,https://b*";
	assert_int_equal(sign_as("https://bank"), AGENT_SIGN_RESPONSE);
	assert_int_equal(sign_as("https://shop"), AGENT_FAILURE);
	host.agentd->p.websafe = NULL;
	assert_int_equal(sign_as("https://shop"), AGENT_SIGN_RESPONSE);
}

/* ---- what clients may cost ---------------------------------------------- */

static void
test_lengths(void **state)
{
	static const uint8_t empty[4], large[4] = { 0, 4, 0, 1 };
	uint8_t *most = calloc(1, 4 + AGENT_MESSAGE_MAX);
	size_t sent = 0;
	ssize_t n;
	int c;

	(void)state;
	assert_non_null(most);
	c = agent_host_client(&host);
	agent_host_send_raw(c, empty, sizeof empty);
	assert_true(agent_host_ended(&host, c));
	close(c);
	c = agent_host_client(&host);
	agent_host_send_raw(c, large, sizeof large);
	assert_true(agent_host_ended(&host, c));
	close(c);
	/* The longest is read, and refused because it says nothing. */
	c = agent_host_client(&host);
	most[1] = 4;
	while (sent < 4 + AGENT_MESSAGE_MAX) {
		n = write(c, most + sent, 4 + AGENT_MESSAGE_MAX - sent);
		if (n > 0)
			sent += (size_t)n;
		assert_int_equal(loop_turn(host.loop, 0), 0);
	}
	assert_int_equal(type_of_answer(c), AGENT_FAILURE);
	close(c);
	free(most);
}

/* Who sends requests and takes no answers is not read from for ever. */
static void
test_backlog(void **state)
{
	struct buf b = { 0 };
	size_t sent = 0;
	ssize_t n;
	int idle = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		buf_put_u32(&b, 1);
		buf_put_u8(&b, AGENT_REQUEST_IDENTITIES);
	}
	while (idle < 20 && sent < 64 * 1024 * 1024) {
		n = write(fd, buf_data(&b), buf_len(&b));
		if (n > 0)
			sent += (size_t)n;
		idle = n > 0 ? 0 : idle + 1;
		assert_int_equal(loop_turn(host.loop, 0), 0);
	}
	assert_in_range(sent, 1, 8 * 1024 * 1024);
	assert_in_range(host.agentd->buffered, 1, 4 + AGENT_MESSAGE_MAX);
	buf_clear(&b);
}

/* All of them are served, also while each has sent half of something. */
static void
test_thousand(void **state)
{
	static const uint8_t half[] = { 0, 0, 0, 9, AGENT_SIGN_REQUEST, 0 };
	enum { CLIENTS = 1000 };
	static int fds[CLIENTS];
	struct rlimit rl;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
	if (rl.rlim_cur < 2 * CLIENTS + 64) {
		print_message("the limit of open files is too low\n");
		skip();
	}
	assert_int_equal(add(key, "k", NULL), AGENT_SUCCESS);
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = agent_host_client(&host);
		if (i % 2 == 0)
			agent_host_send_raw(fds[i], half, sizeof half);
		else
			agent_host_send_sign(fds[i], key);
	}
	for (int i = 1; i < CLIENTS; i += 2)
		assert_int_equal(type_of_answer(fds[i]), AGENT_SIGN_RESPONSE);
	assert_int_equal(host.agentd->n_clients, CLIENTS + 1);
	assert_int_equal(host.agentd->buffered, CLIENTS / 2 * sizeof half);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	assert_int_equal(agent_host_count(&host, fd), 1);
}

static void
test_too_much_at_once(void **state)
{
	static uint8_t piece[4 + 200 * 1024] = { 0, 3, 0x20, 1 };
	enum { CLIENTS = 200 };
	static int fds[CLIENTS];
	unsigned ended = 0;

	(void)state;
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = agent_host_client(&host);
		(void)!write(fds[i], piece, sizeof piece);
		for (int j = 0; j < 20; j++)
			assert_int_equal(loop_turn(host.loop, 0), 0);
		ended += agent_host_ended(&host, fds[i]);
	}
	assert_in_range(host.agentd->buffered, 1, 33 * 1024 * 1024);
	assert_in_range(ended, 1, CLIENTS - 100);
	assert_int_equal(agent_host_count(&host, fd), 0);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sign),
		TEST(test_remove),
		TEST(test_refused),
		TEST(test_lifetime),
		TEST(test_query),
		TEST(test_lock),
		TEST(test_wrong_passphrase),
		TEST(test_many_guesses),
		TEST(test_confirm),
		TEST(test_cannot_ask),
		TEST(test_changed_meanwhile),
		TEST(test_many_questions),
		TEST(test_signer),
		TEST(test_websafe),
		TEST(test_lengths),
		TEST(test_backlog),
		TEST(test_thousand),
		TEST(test_too_much_at_once),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
