/* SPDX-License-Identifier: ISC */
#include "regress/unit/userauth-host.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "keys/keyfile.h"

static char dir[] = "/tmp/test-userauth-XXXXXX";
static char askpass[64], answers[64];
static char key_paths[USER_KEYS][64];
struct key *user_keys[USER_KEYS];

static const uint8_t session_id[32] = { 7, 7, 7 };
static const uint8_t hostkey[] = "host key blob";

struct userauth_host auth_host;

static void
write_file(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(file_replace(path, text, strlen(text), mode), 0);
}

void
answer_with(const char *text)
{
	write_file(answers, text, 0600);
}

int
login_set_up_all(void **state)
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
	for (int i = 0; i < USER_KEYS; i++) {
		snprintf(key_paths[i], sizeof key_paths[i], "%s/key%d", dir,
		    i);
		assert_int_equal(key_generate(i == 1 ? "rsa" : "ed25519", 0,
				     &user_keys[i]),
		    0);
		assert_int_equal(keyfile_save_private(key_paths[i],
				     user_keys[i], KEYFILE_OPENSSH,
				     i == 1 ? "secret" : "", "x", NULL, 4),
		    0);
	}
	log_set_level(LOG_LVL_QUIET);
	return 0;
}

int
login_tear_down_all(void **state)
{
	(void)state;
	for (int i = 0; i < USER_KEYS; i++) {
		key_free(user_keys[i]);
		unlink(key_paths[i]);
	}
	unlink(askpass);
	unlink(answers);
	rmdir(dir);
	return 0;
}

void
login_anew(struct userauth_params params)
{
	params.conf = &auth_host.conf;
	params.packet = auth_host.packet;
	params.session_id = (struct span){ session_id, sizeof session_id };
	params.hostkey = (struct span){ hostkey, sizeof hostkey };
	userauth_free(auth_host.ua);
	assert_int_equal(userauth_new(&auth_host.ua, &params), 0);
}

int
login_set_up(void **state)
{
	int fd[2];

	(void)state;
	memset(&auth_host, 0, sizeof auth_host);
	client_conf_init(&auth_host.conf);
	assert_int_equal(client_conf_set(&auth_host.conf, "User", "me"), 0);
	assert_int_equal(client_conf_finish(&auth_host.conf), 0);
	free(auth_host.conf.host.hostname);
	auth_host.conf.host.hostname = strdup("host");
	free(auth_host.conf.load.original_host);
	auth_host.conf.load.original_host = strdup("host");
	strlist_clear(&auth_host.conf.auth.identity_file);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	auth_host.packet = packet_new(fd[0], fd[0], false);
	auth_host.peer = fd[1];
	login_anew((struct userauth_params){ .key_hint = NULL });
	return 0;
}

int
login_tear_down(void **state)
{
	int fd = packet_fd_in(auth_host.packet);

	(void)state;
	userauth_free(auth_host.ua);
	packet_free(auth_host.packet);
	close(fd);
	close(auth_host.peer);
	buf_clear(&auth_host.message);
	client_conf_clear(&auth_host.conf);
	return 0;
}

/* Reads a packet in clear, because there was no key exchange. */
struct rd
sent(uint8_t type)
{
	uint8_t head[5], *body;
	struct rd r;
	size_t len;

	assert_int_equal(packet_flush(auth_host.packet), 0);
	assert_int_equal(fd_read_all(auth_host.peer, head, sizeof head), 0);
	len = wire_get_u32(head) - 1;
	buf_reset(&auth_host.message);
	body = buf_reserve(&auth_host.message, len);
	assert_int_equal(fd_read_all(auth_host.peer, body, len), 0);
	buf_commit(&auth_host.message, len - head[4]);
	r = rd_from_buf(&auth_host.message);
	assert_int_equal(rd_u8(&r), type);
	return r;
}

bool
nothing_sent(void)
{
	uint8_t byte;

	assert_int_equal(packet_flush(auth_host.packet), 0);
	return recv(auth_host.peer, &byte, 1, MSG_DONTWAIT) == -1;
}

struct rd
sent_request(const char *method)
{
	struct rd r = sent(SSH_MSG_USERAUTH_REQUEST);

	assert_true(span_equals(rd_string(&r), "me"));
	assert_true(span_equals(rd_string(&r), "ssh-connection"));
	assert_true(span_equals(rd_string(&r), method));
	return r;
}

int
give(uint8_t type, struct buf *body)
{
	int r = userauth_input(auth_host.ua, type, rd_from_buf(body));

	buf_clear(body);
	return r;
}

int
fail_with(const char *methods, bool partial)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, methods);
	buf_put_bool(&b, partial);
	return give(SSH_MSG_USERAUTH_FAILURE, &b);
}

void
refused(const char *methods)
{
	assert_int_equal(fail_with(methods, false), 0);
}

/* There is nothing more to try. */
void
denied(const char *methods)
{
	assert_int_equal(fail_with(methods, false), ERR_DENIED);
	assert_true(nothing_sent());
}

void
start(void)
{
	struct rd r;

	assert_int_equal(userauth_start(auth_host.ua), 0);
	r = sent(SSH_MSG_SERVICE_REQUEST);
	assert_true(span_equals(rd_string(&r), "ssh-userauth"));
}

void
accept_service(void)
{
	struct buf b = { 0 };

	buf_put_cstring(&b, "ssh-userauth");
	assert_int_equal(give(SSH_MSG_SERVICE_ACCEPT, &b), 0);
}

void
start_without_keys(void)
{
	struct rd r;

	start();
	r = sent_request("none");
	assert_int_equal(rd_end(&r), 0);
	assert_false(userauth_expects_success(auth_host.ua));
	accept_service();
}

void
succeed(const char *method)
{
	struct buf b = { 0 };

	assert_int_equal(give(SSH_MSG_USERAUTH_SUCCESS, &b), USERAUTH_DONE);
	assert_string_equal(userauth_method(auth_host.ua), method);
}

void
expect_probe(const char *method, int i, const char *alg)
{
	struct rd r = sent_request(method);
	struct buf blob = { 0 };
	struct span got;

	assert_false(rd_bool(&r));
	assert_true(span_equals(rd_string(&r), alg));
	got = rd_string(&r);
	assert_int_equal(key_to_blob(user_keys[i], &blob), 0);
	assert_int_equal(got.len, buf_len(&blob));
	assert_memory_equal(got.p, buf_data(&blob), got.len);
	buf_clear(&blob);
}

int
accept_key(int i, const char *alg)
{
	struct buf b = { 0 }, blob = { 0 };

	assert_int_equal(key_to_blob(user_keys[i], &blob), 0);
	buf_put_cstring(&b, alg);
	buf_put_string_buf(&b, &blob);
	buf_clear(&blob);
	return give(SSH_MSG_USERAUTH_PK_OK, &b);
}

void
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
	unsigned_len = buf_len(&auth_host.message) - r.len;
	signature = rd_string(&r);
	assert_int_equal(rd_end(&r), 0);
	buf_put_string(&data, session_id, sizeof session_id);
	buf_put(&data, buf_data(&auth_host.message), unsigned_len);
	assert_int_equal(key_verify(user_keys[i], alg,
			     buf_span(&data),
			     signature),
	    0);
	buf_clear(&data);
}

static const char *
alg_of(int i)
{
	return i == 1 ? "rsa-sha2-512" : "ssh-ed25519";
}

void
expect_offer(int i)
{
	expect_probe("publickey", i, alg_of(i));
}

void
welcome(int i)
{
	assert_int_equal(accept_key(i, alg_of(i)), 0);
}

void
expect_signature(int i)
{
	expect_signed("publickey", i, alg_of(i), false);
}

void
add_key(int i)
{
	assert_int_equal(
	    strlist_add(&auth_host.conf.auth.identity_file, key_paths[i]), 0);
}
